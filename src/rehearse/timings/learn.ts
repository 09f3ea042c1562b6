import type { JsonObject } from '../../core/json.ts';
import { graceOf } from '../../embedded/actors/resources.ts';
import { part, type Stored } from '../../embedded/object.ts';
import { seeded } from '../../embedded/seeded.ts';
import { uidOf, type Workload, type Workloads, workloadText } from '../snapshot/workloads.ts';
import { Distribution, type Interval } from './censored.ts';
import { preStopSeconds, startSamples, stopSamples, type TimingSample } from './samples.ts';

/** Times of pods of which nothing is known, in seconds. */
export type Defaults = { readonly startSeconds: number; readonly stopSeconds: number };

const defaultOptions: Defaults = { startSeconds: 5, stopSeconds: 2 };

/** Fewer times than this say nothing of a workload, a namespace or a cluster. */
export const enough = 3;

/** Times that are only guessed are spread by this part of them to both sides. */
const guessSpread = 0.3;

/** No two pods take the same to the millisecond, and who is first decides at times who finds no room. */
const ownPart = 0.2;

/**
 * Of what is not known, runs take different parts: the first the middle, the others evenly to both sides. One step for starts and one for ends, so
 * that the pairs are even as well, and not both of them at their longest in the same run (M. Roberts, R2 sequence).
 */
const steps = { start: 0.754_877_67, stop: 0.569_840_29 };

/** They have something in common, and so may well be one and the same time. */
const mayBeOne = (seen: readonly Interval[]): boolean => {
  const low = seen.reduce((latest, one) => Math.max(latest, one.low), 0);
  return seen.every(({ high }) => high > low);
};

/** What is known of one group. */
class Group {
  readonly #seen: readonly Interval[];
  readonly #wider: Group | undefined;
  readonly #isOne: boolean;
  #distribution: Distribution | undefined;

  constructor(seen: readonly Interval[], wider: Group | undefined) {
    this.#seen = seen;
    this.#wider = wider;
    this.#isOne = mayBeOne(seen);
  }

  /** Of most workloads of a large cluster nobody asks. */
  get distribution(): Distribution {
    this.#distribution ??= new Distribution(this.#seen, this.#wider?.distribution);
    return this.#distribution;
  }

  /** What is unknown of a time that is one and the same is much the same for all pods of a run; else each of them has its own chance. */
  draw(ofPod: number, ofRun: number): number {
    return this.distribution.at(this.#isOne ? (1 - ownPart) * ofRun + ownPart * ofPod : ofPod);
  }
}

const groupsBy = (
  samples: readonly TimingSample[],
  key: (sample: TimingSample) => string,
  wider: (sample: TimingSample) => Group | undefined,
): ReadonlyMap<string, Group> => {
  const seen = [...Map.groupBy(samples, key)].filter(([, all]) => all.length >= enough);
  return new Map(seen.map(([name, all]) => [name, new Group(all, wider(all[0] as TimingSample))]));
};

/** No time is known better; and what ends within it, ends in one moment of the play. */
const exactMs = 50;

const inMs = (seconds: number): number => exactMs * Math.round((1000 * seconds) / exactMs);

/** The same for the same pod in the same run, whenever it is asked. */
const chanceOf = (uid: string, seed: number): number => {
  let hash = 0x811c9dc5 ^ seed;
  for (let at = 0; at < uid.length; at += 1) hash = Math.imul(hash ^ uid.charCodeAt(at), 0x01000193) >>> 0;
  return seeded(hash)();
};

/** The nearest that is known: of the workload, of its namespace, of the cluster. */
class KnownTimings {
  readonly #byWorkload: ReadonlyMap<string, Group>;
  readonly #byNamespace: ReadonlyMap<string, Group>;
  readonly #ofAll: Group | undefined;
  readonly #what: keyof typeof steps;
  readonly samples: number;

  constructor(what: keyof typeof steps, samples: readonly TimingSample[]) {
    this.#what = what;
    this.samples = samples.length;
    this.#ofAll = samples.length < enough ? undefined : new Group(samples, undefined);
    this.#byNamespace = groupsBy(
      samples,
      ({ namespace }) => namespace,
      () => this.#ofAll,
    );
    this.#byWorkload = groupsBy(
      samples,
      ({ workload }) => workload,
      ({ namespace }) => this.#byNamespace.get(namespace),
    );
  }

  unseen(workloads: readonly string[]): readonly string[] {
    return workloads.filter(workload => !this.#byWorkload.has(workload));
  }

  /** Seconds that this pod takes in the run of this seed; `guess` is for pods of which nothing is known. */
  draw(pod: Stored, workload: Workload | undefined, seed: number, guess: number): number {
    const ofPod = chanceOf(`${this.#what} ${uidOf(pod)}`, seed);
    const own = workload && (this.#byWorkload.get(workloadText(workload)) ?? this.#byNamespace.get(workload.namespace));
    const nearest = own ?? this.#ofAll;
    const ofRun = (0.5 + (seed - 1) * steps[this.#what]) % 1;
    return nearest === undefined ? guess * (1 - guessSpread + 2 * guessSpread * ofPod) : nearest.draw(ofPod, ofRun);
  }
}

/** How many starts and stops were seen, and workloads of which too few were: what is known of others counts for them, or the defaults. */
export type TimingsFrom = {
  readonly starts: number;
  readonly stops: number;
  readonly unseenStarts: readonly string[];
  readonly unseenStops: readonly string[];
};

/** How long pods take to start and to end, learned from a copy. */
export class PodTimings {
  readonly #starts: KnownTimings;
  readonly #stops: KnownTimings;
  readonly #workloads: Workloads;
  readonly #defaults: Defaults;

  constructor(all: readonly JsonObject[], workloads: Workloads, defaults: Defaults = defaultOptions) {
    this.#workloads = workloads;
    this.#defaults = defaults;
    this.#starts = new KnownTimings('start', startSamples(all, workloads));
    this.#stops = new KnownTimings('stop', stopSamples(all, workloads));
  }

  /** How much it was learned from, and of which of these workloads too little was seen. */
  from(workloads: readonly string[]): TimingsFrom {
    const [starts, stops] = [this.#starts, this.#stops];
    return { starts: starts.samples, stops: stops.samples, unseenStarts: starts.unseen(workloads), unseenStops: stops.unseen(workloads) };
  }

  /** Milliseconds, in steps of 50, from the binding of the pod to its readiness, in the run of this seed. */
  startMs(pod: Stored, seed: number): number {
    return inMs(this.#starts.draw(pod, this.#workloads.of(pod), seed, this.#defaults.startSeconds));
  }

  /** Milliseconds, in steps of 50, from the end being asked for until the pod has gone; its grace period at most. */
  stopMs(pod: Stored, seed: number): number {
    const guess = this.#defaults.stopSeconds + preStopSeconds(pod);
    const seconds = this.#stops.draw(pod, this.#workloads.of(pod), seed, guess);
    return inMs(Math.min(seconds, graceOf(part(pod, 'spec'))));
  }
}
