import type { JsonObject } from '../core/json.ts';
import { graceOf } from '../embedded/actors/resources.ts';
import { part, type Stored } from '../embedded/object.ts';
import { seeded } from '../embedded/seeded.ts';
import { type Interval, preStopSeconds, type Sample, startSamples, stopSamples } from './samples.ts';
import { uidOf, type Workloads, workloadText } from './workloads.ts';

/** Times of pods of which nothing is known, in seconds. */
export type Defaults = { readonly startSeconds: number; readonly stopSeconds: number };

const usualDefaults: Defaults = { startSeconds: 5, stopSeconds: 2 };

/** Fewer than this say nothing of a group. */
const enough = 3;

/** Times that are only guessed are spread by this part of them to both sides. */
const guessSpread = 0.3;

/**
 * What is known of one group: what all its times have in common, where they have something in common, and so may well be one and the same; else
 * the middles of them, as wide apart as they are once the rounding is taken out.
 */
type Group = { readonly common: Interval | undefined; readonly middles: readonly number[]; readonly mean: number; readonly width: number };

const middleOf = ({ low, high }: Interval): number => (low + high) / 2;

const meet = (one: Interval, other: Interval): Interval | undefined => {
  const [low, high] = [Math.max(one.low, other.low), Math.min(one.high, other.high)];
  return low < high ? { low, high } : undefined;
};

const groupOf = (seen: readonly Sample[]): Group => {
  const middles = seen.map(middleOf);
  const mean = middles.reduce((sum, one) => sum + one, 0) / middles.length;
  const variance = middles.reduce((sum, one) => sum + (one - mean) ** 2, 0) / middles.length;
  const noise = seen.reduce((sum, { low, high }) => sum + (high - low) ** 2 / 12, 0) / seen.length;
  const width = variance === 0 ? 0 : Math.sqrt(Math.max(0, variance - noise) / variance);
  const common = seen.reduce<Interval | undefined>((all, one) => all && meet(all, one), { low: 0, high: Number.MAX_VALUE });
  return { common, middles, mean, width };
};

/** Of what is not known, runs take different parts: the first the middle, the others evenly to both sides. */
const shareOf = (seed: number): number => ((seed - 1) * 0.618_034 + 0.5) % 1;

const drawn = ({ middles, mean, width, common }: Group, chance: number, seed: number): number => {
  if (common !== undefined) return common.low + (common.high - common.low) * shareOf(seed);
  const one = middles[Math.floor(chance * middles.length)] ?? mean;
  return mean + (one - mean) * width;
};

const groupsBy = (samples: readonly Sample[], key: (sample: Sample) => string): ReadonlyMap<string, Group> => {
  const seen = Map.groupBy(samples, key);
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

  draw(workload: string, namespace: string, chance: number, seed: number): number | undefined {
    const groups = [this.#byWorkload.get(workload), this.#byNamespace.get(namespace), this.#ofAll].filter(one => one !== undefined);
    const [nearest, ...wider] = groups;
    if (nearest?.common === undefined) return nearest && drawn(nearest, chance, seed);
    // What is true of many others and may be true of these as well tells it more exactly.
    const common = wider.reduce((known, { common: other }) => (other && meet(known, other)) ?? known, nearest.common);
    return drawn({ ...nearest, common }, chance, seed);
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
    return Math.round(1000 * this.#draw(this.#starts, pod, seed, this.#defaults.startSeconds));
  }

  /** Milliseconds from the end being asked for until the pod has gone; its grace period at most. */
  stopMs(pod: Stored, seed: number): number {
    const guess = this.#defaults.stopSeconds + preStopSeconds(pod);
    const seconds = this.#draw(this.#stops, pod, seed, guess);
    return Math.round(1000 * Math.min(seconds, graceOf(part(pod, 'spec'))));
  }

  #draw(known: Known, pod: Stored, seed: number, guess: number): number {
    const chance = chanceOf(`${known === this.#starts ? 'start' : 'stop'} ${uidOf(pod)}`, seed);
    const workload = this.#workloads.of(pod);
    const found = workload && known.draw(workloadText(workload), workload.namespace, chance, seed);
    return found ?? guess * (1 - guessSpread + 2 * guessSpread * chance);
  }
}
