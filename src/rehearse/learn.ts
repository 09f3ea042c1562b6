import type { JsonObject } from '../core/json.ts';
import { graceOf } from '../embedded/actors/resources.ts';
import { part, type Stored } from '../embedded/object.ts';
import { seeded } from '../embedded/seeded.ts';
import { preStopSeconds, type Sample, startSamples, stopSamples } from './samples.ts';
import { uidOf, type Workloads, workloadText } from './workloads.ts';

/** Times of pods of which nothing is known, in seconds. */
export type Defaults = { readonly startSeconds: number; readonly stopSeconds: number };

export const usualDefaults: Defaults = { startSeconds: 5, stopSeconds: 2 };

/** Fewer than this say nothing of a group. */
const enough = 3;

/** Times that are only guessed are spread by this part of them to both sides. */
const guessSpread = 0.3;

/** The times of a status are whole seconds: the difference of two carries this much variance by that alone, in seconds². */
const roundingNoise = 0.25;

/** What is known of one group: the times seen, made as wide as they are once the rounding is taken out. */
type Group = { readonly seen: readonly number[]; readonly mean: number; readonly width: number };

const groupOf = (seen: readonly number[]): Group => {
  const mean = seen.reduce((sum, one) => sum + one, 0) / seen.length;
  const variance = seen.reduce((sum, one) => sum + (one - mean) ** 2, 0) / seen.length;
  return { seen, mean, width: variance === 0 ? 0 : Math.sqrt(Math.max(0, variance - roundingNoise) / variance) };
};

const drawn = ({ seen, mean, width }: Group, chance: number): number => {
  const one = seen[Math.floor(chance * seen.length)] ?? mean;
  return mean + (one - mean) * width;
};

const groupsBy = (samples: readonly Sample[], key: (sample: Sample) => string): ReadonlyMap<string, Group> => {
  const seen = new Map<string, number[]>();
  for (const sample of samples) {
    const before = seen.get(key(sample));
    if (before === undefined) seen.set(key(sample), [sample.seconds]);
    else before.push(sample.seconds);
  }
  return new Map([...seen].filter(([, all]) => all.length >= enough).map(([name, all]) => [name, groupOf(all)]));
};

/** The nearest that is known: of the workload, of its namespace, of the cluster. */
class Known {
  readonly #byWorkload: ReadonlyMap<string, Group>;
  readonly #byNamespace: ReadonlyMap<string, Group>;
  readonly #ofAll: Group | undefined;
  readonly samples: number;

  constructor(samples: readonly Sample[]) {
    this.samples = samples.length;
    this.#byWorkload = groupsBy(samples, ({ workload }) => workload);
    this.#byNamespace = groupsBy(samples, ({ namespace }) => namespace);
    this.#ofAll = groupsBy(samples, () => '').get('');
  }

  get workloads(): number {
    return this.#byWorkload.size;
  }

  draw(workload: string, namespace: string, chance: number): number | undefined {
    const group = this.#byWorkload.get(workload) ?? this.#byNamespace.get(namespace) ?? this.#ofAll;
    return group && drawn(group, chance);
  }
}

/** The same for the same pod in the same run, whenever it is asked. */
const chanceOf = (uid: string, seed: number): number => {
  let hash = 0x811c9dc5 ^ seed;
  for (let at = 0; at < uid.length; at += 1) hash = Math.imul(hash ^ uid.charCodeAt(at), 0x01000193) >>> 0;
  return seeded(hash)();
};

export type LearnedFrom = { readonly starts: number; readonly stops: number; readonly startWorkloads: number };

/** How long pods take to start and to end, learned from a copy. */
export class Learned {
  readonly #starts: Known;
  readonly #stops: Known;
  readonly #workloads: Workloads;
  readonly #defaults: Defaults;

  constructor(all: readonly JsonObject[], workloads: Workloads, defaults: Defaults = usualDefaults) {
    this.#workloads = workloads;
    this.#defaults = defaults;
    this.#starts = new Known(startSamples(all, workloads));
    this.#stops = new Known(stopSamples(all, workloads));
  }

  /** How much it was learned from. */
  get from(): LearnedFrom {
    return { starts: this.#starts.samples, stops: this.#stops.samples, startWorkloads: this.#starts.workloads };
  }

  /** Milliseconds from the binding of the pod to its readiness, in the run of this seed. */
  startMs(pod: Stored, seed: number): number {
    return Math.round(1000 * this.#draw(this.#starts, pod, chanceOf(uidOf(pod), seed), this.#defaults.startSeconds));
  }

  /** Milliseconds from the end being asked for until the pod has gone; its grace period at most. */
  stopMs(pod: Stored, seed: number): number {
    const guess = this.#defaults.stopSeconds + preStopSeconds(pod);
    const seconds = this.#draw(this.#stops, pod, chanceOf(uidOf(pod), seed + 1), guess);
    return Math.round(1000 * Math.min(seconds, graceOf(part(pod, 'spec'))));
  }

  #draw(known: Known, pod: Stored, chance: number, guess: number): number {
    const workload = this.#workloads.of(pod);
    const found = workload && known.draw(workloadText(workload), workload.namespace, chance);
    return found ?? guess * (1 - guessSpread + 2 * guessSpread * chance);
  }
}
