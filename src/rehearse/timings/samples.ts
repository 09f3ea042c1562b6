import type { JsonObject } from '../../core/json.ts';
import { at, items, objects, text } from '../../embedded/object.ts';
import { ofKind } from '../snapshot/cluster-snapshot.ts';
import { keyOf, uidOf, type Workloads, workloadText } from '../snapshot/workloads.ts';
import type { Interval } from './censored.ts';

/** How long starts and stops have taken, as a cluster's own statuses and events tell it. */

/** In seconds. */
export type TimingSample = Interval & { readonly workload: string; readonly namespace: string };

/** A moment as far as it is known: seconds since 1970, and how much later it may have been. */
type RecordedTime = { readonly at: number; readonly width: number };

/** A start or a stop that took longer than this says something of an outage, not of the pod. */
const maxSeconds = 1800;

const recordedTimeOf = (text: string): RecordedTime | undefined => {
  const at = Date.parse(text) / 1000;
  return Number.isNaN(at) ? undefined : { at, width: text.includes('.') ? 0.001 : 1 };
};

/**
 * Where both are told in whole seconds, it depends on where in their seconds they were: of times of 1.1 s, nine in ten are told as 1 s and one as 2 s,
 * so that 1 s fits best what is told as 1 s.
 */
const between = (from: RecordedTime | undefined, to: RecordedTime | undefined): Interval | undefined =>
  from && to && { low: to.at - from.at - from.width, high: to.at + to.width - from.at, edge: Math.min(from.width, to.width) };

const latest = (times: readonly (RecordedTime | undefined)[]): RecordedTime | undefined =>
  times.reduce((last, one) => (last !== undefined && one !== undefined && one.at > last.at ? one : last), times[0]);

const condition = (pod: JsonObject, type: string): string =>
  text(
    objects(at(pod, 'status', 'conditions')).find(one => one['type'] === type && one['status'] === 'True'),
    'lastTransitionTime',
  );

const containersOf = (pod: JsonObject): readonly JsonObject[] => objects(at(pod, 'status', 'containerStatuses'));

/** A container that has been started again says nothing of the first start any more. */
const hasRestarted = (pod: JsonObject): boolean => containersOf(pod).some(({ restartCount }) => Number(restartCount ?? 0) > 0);

const isPlausible = (interval: Interval | undefined): interval is Interval =>
  interval !== undefined && interval.high > 0 && interval.low <= maxSeconds;

/** From a node being found for it to readiness. Where the readiness is of a later day, its containers' start is as good as it gets. */
const startOf = (pod: JsonObject, scheduled: ReadonlyMap<string, string>): Interval | undefined => {
  if (hasRestarted(pod)) return undefined;
  const told = scheduled.get(uidOf(pod)) ?? condition(pod, 'PodScheduled');
  const from = recordedTimeOf(told || text(pod, 'metadata', 'creationTimestamp'));
  const ready = recordedTimeOf(condition(pod, 'Ready'));
  if (ready === undefined) return undefined;
  const whole = between(from, ready);
  return isPlausible(whole)
    ? whole
    : between(from, latest(containersOf(pod).map(one => recordedTimeOf(text(one, 'state', 'running', 'startedAt')))));
};

const sampleOf = (pod: JsonObject, interval: Interval | undefined, workloads: Workloads): readonly TimingSample[] => {
  const workload = workloads.of(pod);
  if (!isPlausible(interval) || workload === undefined) return [];
  return [{ workload: workloadText(workload), namespace: workload.namespace, ...interval }];
};

const timeIn = (event: JsonObject): string => text(event, 'eventTime') || text(event, 'firstTimestamp');

/** The scheduler tells its times to the microsecond. */
const bindings = (all: readonly JsonObject[]): ReadonlyMap<string, string> =>
  new Map(
    ofKind(all, 'Event')
      .filter(({ reason }) => reason === 'Scheduled')
      .map(event => [text(event, 'involvedObject', 'uid'), timeIn(event)]),
  );

export const startSamples = (all: readonly JsonObject[], workloads: Workloads): readonly TimingSample[] => {
  const scheduled = bindings(all);
  return ofKind(all, 'Pod').flatMap(pod => sampleOf(pod, startOf(pod, scheduled), workloads));
};

/** A pod on its way out whose containers have ended: as long as they took. */
const endOf = (pod: JsonObject): Interval | undefined => {
  const until = recordedTimeOf(text(pod, 'metadata', 'deletionTimestamp'));
  const told = until && { ...until, at: until.at - Number(at(pod, 'metadata', 'deletionGracePeriodSeconds') ?? 0) };
  return between(told, latest(containersOf(pod).map(one => recordedTimeOf(text(one, 'state', 'terminated', 'finishedAt')))));
};

/** When kubelets began to end pods, by the pods' names: of those that have gone since, events are all that is left. */
const killings = (all: readonly JsonObject[]): ReadonlyMap<string, JsonObject> =>
  new Map(
    ofKind(all, 'Event')
      .filter(({ reason }) => reason === 'Killing')
      .map(event => [`${text(event, 'involvedObject', 'namespace')}/${text(event, 'involvedObject', 'name')}`, event]),
  );

/** The successor of a pod of a StatefulSet is made when it has gone. */
const gapOf = (pod: JsonObject, killed: ReadonlyMap<string, JsonObject>): Interval | undefined => {
  const event = killed.get(keyOf(pod));
  if (event === undefined || text(event, 'involvedObject', 'uid') === uidOf(pod)) return undefined;
  return between(recordedTimeOf(timeIn(event)), recordedTimeOf(text(pod, 'metadata', 'creationTimestamp')));
};

export const stopSamples = (all: readonly JsonObject[], workloads: Workloads): readonly TimingSample[] => {
  const killed = killings(all);
  return ofKind(all, 'Pod').flatMap(pod => {
    const isLeaving = at(pod, 'metadata', 'deletionTimestamp') !== undefined;
    return sampleOf(pod, isLeaving ? endOf(pod) : gapOf(pod, killed), workloads);
  });
};

/** Seconds that the pod's own words take before its containers are told to end: `preStop` with a sleep. */
export const preStopSeconds = (pod: JsonObject): number => {
  const of = (container: JsonObject): number => {
    const hook = at(container, 'lifecycle', 'preStop');
    const slept = Number(at(hook, 'sleep', 'seconds') ?? 0);
    const said = items(at(hook, 'exec', 'command'))
      .filter(one => typeof one === 'string')
      .join(' ');
    return Math.max(slept, Number(/\bsleep (\d+)/.exec(said)?.[1] ?? 0));
  };
  return Math.max(0, ...objects(at(pod, 'spec', 'containers')).map(of));
};
