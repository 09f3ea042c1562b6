import type { JsonObject } from '@drydock/apimachinery';
import { at, items, objects, part, type Stored, seeded, text } from '@drydock/kube-sim';
import { graceOf } from '@drydock/kube-sim/actors';
import { ofKind } from '../snapshot/kept.ts';
import {
  keyOf,
  uidOf,
  type Workload,
  type Workloads,
  workloadText,
} from '../snapshot/workloads.ts';
import { Distribution, type Interval } from './censored.ts';

/** Durations of starts and stops, from a cluster's own statuses and events. */

/** A duration in seconds, with its workload. */
type TimingSample = Interval & { readonly workload: string; readonly namespace: string };

/** A time with its uncertainty: seconds since 1970, and how much later it may have been. */
type RecordedTime = { readonly at: number; readonly width: number };

/**
 * Limit of a start or a stop in seconds: a longer one shows an outage, rather than a property of
 * the pod.
 */
const maxSeconds = 1800;

function recordedTimeOf(text: string): RecordedTime | undefined {
  const at = Date.parse(text) / 1000;
  return Number.isNaN(at) ? undefined : { at, width: text.includes('.') ? 0.001 : 1 };
}

/**
 * Returns the interval between two times. If both are whole seconds, their fractions matter: of
 * durations of 1.1 s, nine in ten appear as 1 s and one as 2 s, so that 1 s fits best what appears
 * as 1 s.
 */
function between(
  from: RecordedTime | undefined,
  to: RecordedTime | undefined,
): Interval | undefined {
  return (
    from &&
    to && {
      low: to.at - from.at - from.width,
      high: to.at + to.width - from.at,
      edge: Math.min(from.width, to.width),
    }
  );
}

function latest(times: readonly (RecordedTime | undefined)[]): RecordedTime | undefined {
  return times.reduce(
    (last, one) => (last !== undefined && one !== undefined && one.at > last.at ? one : last),
    times[0],
  );
}

function condition(pod: JsonObject, type: string): string {
  return text(
    objects(at(pod, 'status', 'conditions')).find(
      one => one['type'] === type && one['status'] === 'True',
    ),
    'lastTransitionTime',
  );
}

function containersOf(pod: JsonObject): readonly JsonObject[] {
  return objects(at(pod, 'status', 'containerStatuses'));
}

/** Returns whether a container has restarted: then its first start is unknown. */
function hasRestarted(pod: JsonObject): boolean {
  return containersOf(pod).some(({ restartCount }) => Number(restartCount ?? 0) > 0);
}

function isPlausible(interval: Interval | undefined): interval is Interval {
  return interval !== undefined && interval.high > 0 && interval.low <= maxSeconds;
}

/**
 * Returns the interval from scheduling to readiness. If the readiness is later than the first, the
 * start of its containers is the best estimate.
 */
function startOf(pod: JsonObject, scheduled: ReadonlyMap<string, string>): Interval | undefined {
  if (hasRestarted(pod)) return undefined;
  const recorded = scheduled.get(uidOf(pod)) ?? condition(pod, 'PodScheduled');
  const from = recordedTimeOf(recorded || text(pod, 'metadata', 'creationTimestamp'));
  const ready = recordedTimeOf(condition(pod, 'Ready'));
  if (ready === undefined) return undefined;
  const whole = between(from, ready);
  return isPlausible(whole)
    ? whole
    : between(
        from,
        latest(
          containersOf(pod).map(one => recordedTimeOf(text(one, 'state', 'running', 'startedAt'))),
        ),
      );
}

function sampleOf(
  pod: JsonObject,
  interval: Interval | undefined,
  workloads: Workloads,
): readonly TimingSample[] {
  const workload = workloads.of(pod);
  if (!isPlausible(interval) || workload === undefined) return [];
  return [{ workload: workloadText(workload), namespace: workload.namespace, ...interval }];
}

function timeIn(event: JsonObject): string {
  return text(event, 'eventTime') || text(event, 'firstTimestamp');
}

/** Returns the scheduler's times, which have microseconds. */
function bindings(all: readonly JsonObject[]): ReadonlyMap<string, string> {
  return new Map(
    ofKind(all, 'Event')
      .filter(({ reason }) => reason === 'Scheduled')
      .map(event => [text(event, 'involvedObject', 'uid'), timeIn(event)]),
  );
}

function startSamples(all: readonly JsonObject[], workloads: Workloads): readonly TimingSample[] {
  const scheduled = bindings(all);
  return ofKind(all, 'Pod').flatMap(pod => sampleOf(pod, startOf(pod, scheduled), workloads));
}

/** Returns the duration of a terminating pod whose containers have ended. */
function endOf(pod: JsonObject): Interval | undefined {
  const until = recordedTimeOf(text(pod, 'metadata', 'deletionTimestamp'));
  const recorded = until && {
    ...until,
    at: until.at - Number(at(pod, 'metadata', 'deletionGracePeriodSeconds') ?? 0),
  };
  return between(
    recorded,
    latest(
      containersOf(pod).map(one => recordedTimeOf(text(one, 'state', 'terminated', 'finishedAt'))),
    ),
  );
}

/**
 * Returns the times at which kubelets began to stop pods, by the pods' names: only events remain of
 * deleted ones.
 */
function killings(all: readonly JsonObject[]): ReadonlyMap<string, JsonObject> {
  return new Map(
    ofKind(all, 'Event')
      .filter(({ reason }) => reason === 'Killing')
      .map(event => [
        `${text(event, 'involvedObject', 'namespace')}/${text(event, 'involvedObject', 'name')}`,
        event,
      ]),
  );
}

/** Returns the duration of a StatefulSet's pod: its successor is created when it is gone. */
function gapOf(pod: JsonObject, killed: ReadonlyMap<string, JsonObject>): Interval | undefined {
  const event = killed.get(keyOf(pod));
  if (event === undefined || text(event, 'involvedObject', 'uid') === uidOf(pod)) return undefined;
  return between(
    recordedTimeOf(timeIn(event)),
    recordedTimeOf(text(pod, 'metadata', 'creationTimestamp')),
  );
}

function stopSamples(all: readonly JsonObject[], workloads: Workloads): readonly TimingSample[] {
  const killed = killings(all);
  return ofKind(all, 'Pod').flatMap(pod => {
    const isLeaving = at(pod, 'metadata', 'deletionTimestamp') !== undefined;
    return sampleOf(pod, isLeaving ? endOf(pod) : gapOf(pod, killed), workloads);
  });
}

/** Returns the seconds before the containers are signalled to stop: `preStop` with a sleep. */
function preStopSeconds(pod: JsonObject): number {
  const of = (container: JsonObject): number => {
    const hook = at(container, 'lifecycle', 'preStop');
    const slept = Number(at(hook, 'sleep', 'seconds') ?? 0);
    const command = items(at(hook, 'exec', 'command'))
      .filter(one => typeof one === 'string')
      .join(' ');
    return Math.max(slept, Number(/\bsleep (\d+)/.exec(command)?.[1] ?? 0));
  };
  return Math.max(0, ...objects(at(pod, 'spec', 'containers')).map(of));
}

/** Default durations of pods without samples, in seconds. */
export type Defaults = { readonly startSeconds: number; readonly stopSeconds: number };

const defaultOptions: Defaults = { startSeconds: 5, stopSeconds: 2 };

/** Minimum number of samples for a workload, a namespace or a cluster. */
export const enough = 3;

/** Spread of guessed durations to both sides, as a share. */
const guessSpread = 0.3;

/**
 * Share of a duration that differs from pod to pod: no two are equal to the millisecond, and the
 * first one may decide which pod finds no room.
 */
const ownPart = 0.2;

/**
 * Steps by which runs take different quantiles of the unknown part: the first the middle, the
 * others evenly to both sides. One step for starts and one for stops, so that the pairs are even as
 * well, and not both at their longest in the same run (M. Roberts, R2 sequence).
 */
const steps = { start: 0.754_877_67, stop: 0.569_840_29 };

/** Returns whether all intervals overlap, so that they may be the same duration. */
function mayBeOne(seen: readonly Interval[]): boolean {
  const low = seen.reduce((latest, one) => Math.max(latest, one.low), 0);
  return seen.every(({ high }) => high > low);
}

/** Samples of one group. */
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

  /**
   * Returns the distribution, computed on demand: most workloads of a large cluster are never
   * queried.
   */
  get distribution(): Distribution {
    this.#distribution ??= new Distribution(this.#seen, this.#wider?.distribution);
    return this.#distribution;
  }

  /**
   * Returns a duration. If all samples may be the same duration, its unknown part is much the same
   * for all pods of a run; otherwise each pod has its own chance.
   */
  draw(ofPod: number, ofRun: number): number {
    return this.distribution.at(this.#isOne ? (1 - ownPart) * ofRun + ownPart * ofPod : ofPod);
  }
}

function groupsBy(
  samples: readonly TimingSample[],
  key: (sample: TimingSample) => string,
  wider: (sample: TimingSample) => Group | undefined,
): ReadonlyMap<string, Group> {
  const seen = [...Map.groupBy(samples, key)].filter(([, all]) => all.length >= enough);
  return new Map(seen.map(([name, all]) => [name, new Group(all, wider(all[0] as TimingSample))]));
}

/**
 * Resolution in milliseconds: no duration is known better, and events within it happen at the same
 * moment of the simulation.
 */
const exactMs = 50;

function inMs(seconds: number): number {
  return exactMs * Math.round((1000 * seconds) / exactMs);
}

/** Returns a random number that is the same for the same pod in the same run. */
function chanceOf(uid: string, seed: number): number {
  let hash = 0x811c9dc5 ^ seed;
  for (let at = 0; at < uid.length; at += 1)
    hash = Math.imul(hash ^ uid.charCodeAt(at), 0x01000193) >>> 0;
  return seeded(hash)();
}

/** Durations by the closest known group: the workload, its namespace, the cluster. */
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

  /**
   * Returns the seconds for this pod in the run of this seed; `guess` is for pods without samples.
   */
  draw(pod: Stored, workload: Workload | undefined, seed: number, guess: number): number {
    const ofPod = chanceOf(`${this.#what} ${uidOf(pod)}`, seed);
    const own =
      workload &&
      (this.#byWorkload.get(workloadText(workload)) ?? this.#byNamespace.get(workload.namespace));
    const nearest = own ?? this.#ofAll;
    const ofRun = (0.5 + (seed - 1) * steps[this.#what]) % 1;
    return nearest === undefined
      ? guess * (1 - guessSpread + 2 * guessSpread * ofPod)
      : nearest.draw(ofPod, ofRun);
  }
}

/**
 * Number of samples, and workloads with too few: the durations of others, or the defaults, apply to
 * them.
 */
export type TimingsFrom = {
  readonly starts: number;
  readonly stops: number;
  readonly unseenStarts: readonly string[];
  readonly unseenStops: readonly string[];
};

/** Durations of pods' starts and stops, learned from a copy. */
export class PodTimings {
  readonly #starts: KnownTimings;
  readonly #stops: KnownTimings;
  readonly #workloads: Workloads;
  readonly #defaults: Defaults;

  constructor(
    all: readonly JsonObject[],
    workloads: Workloads,
    defaults: Defaults = defaultOptions,
  ) {
    this.#workloads = workloads;
    this.#defaults = defaults;
    this.#starts = new KnownTimings('start', startSamples(all, workloads));
    this.#stops = new KnownTimings('stop', stopSamples(all, workloads));
  }

  /** Returns the number of samples, and those of these workloads that have too few. */
  from(workloads: readonly string[]): TimingsFrom {
    const [starts, stops] = [this.#starts, this.#stops];
    return {
      starts: starts.samples,
      stops: stops.samples,
      unseenStarts: starts.unseen(workloads),
      unseenStops: stops.unseen(workloads),
    };
  }

  /**
   * Returns milliseconds, in steps of 50, from the binding of the pod to its readiness, in the run
   * of this seed.
   */
  startMs(pod: Stored, seed: number): number {
    return inMs(this.#starts.draw(pod, this.#workloads.of(pod), seed, this.#defaults.startSeconds));
  }

  /**
   * Returns milliseconds, in steps of 50, from the pod's deletion request until it is gone; at most
   * its grace period.
   */
  stopMs(pod: Stored, seed: number): number {
    const guess = this.#defaults.stopSeconds + preStopSeconds(pod);
    const seconds = this.#stops.draw(pod, this.#workloads.of(pod), seed, guess);
    return inMs(Math.min(seconds, graceOf(part(pod, 'spec'))));
  }
}
