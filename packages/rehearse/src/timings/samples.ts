import type { JsonObject } from '@drydock/apimachinery';
import { at, items, objects, text } from '@drydock/kube-sim';
import { ofKind } from '../snapshot/cluster-snapshot.ts';
import { keyOf, uidOf, type Workloads, workloadText } from '../snapshot/workloads.ts';
import type { Interval } from './censored.ts';

/** Durations of starts and stops, from a cluster's own statuses and events. */

/** A duration in seconds, with its workload. */
export type TimingSample = Interval & { readonly workload: string; readonly namespace: string };

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
  const told = scheduled.get(uidOf(pod)) ?? condition(pod, 'PodScheduled');
  const from = recordedTimeOf(told || text(pod, 'metadata', 'creationTimestamp'));
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

export function startSamples(
  all: readonly JsonObject[],
  workloads: Workloads,
): readonly TimingSample[] {
  const scheduled = bindings(all);
  return ofKind(all, 'Pod').flatMap(pod => sampleOf(pod, startOf(pod, scheduled), workloads));
}

/** Returns the duration of a terminating pod whose containers have ended. */
function endOf(pod: JsonObject): Interval | undefined {
  const until = recordedTimeOf(text(pod, 'metadata', 'deletionTimestamp'));
  const told = until && {
    ...until,
    at: until.at - Number(at(pod, 'metadata', 'deletionGracePeriodSeconds') ?? 0),
  };
  return between(
    told,
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

export function stopSamples(
  all: readonly JsonObject[],
  workloads: Workloads,
): readonly TimingSample[] {
  const killed = killings(all);
  return ofKind(all, 'Pod').flatMap(pod => {
    const isLeaving = at(pod, 'metadata', 'deletionTimestamp') !== undefined;
    return sampleOf(pod, isLeaving ? endOf(pod) : gapOf(pod, killed), workloads);
  });
}

/** Returns the seconds before the containers are signalled to stop: `preStop` with a sleep. */
export function preStopSeconds(pod: JsonObject): number {
  const of = (container: JsonObject): number => {
    const hook = at(container, 'lifecycle', 'preStop');
    const slept = Number(at(hook, 'sleep', 'seconds') ?? 0);
    const said = items(at(hook, 'exec', 'command'))
      .filter(one => typeof one === 'string')
      .join(' ');
    return Math.max(slept, Number(/\bsleep (\d+)/.exec(said)?.[1] ?? 0));
  };
  return Math.max(0, ...objects(at(pod, 'spec', 'containers')).map(of));
}
