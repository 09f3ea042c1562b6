import type { JsonObject } from '../core/json.ts';
import { at, items, objects, text } from '../embedded/object.ts';
import { ofKind } from './copy.ts';
import { keyOf, uidOf, type Workloads, workloadText } from './workloads.ts';

/** How long starts and stops have taken, as a cluster's own statuses and events tell it. Seconds. */
export type Sample = { readonly workload: string; readonly namespace: string; readonly seconds: number };

/** A start or a stop that took longer than this says something of an outage, not of the pod. */
const longestSeconds = 1800;

const timeOf = (object: JsonObject | undefined, ...path: readonly string[]): number => Date.parse(text(object, ...path));

const condition = (pod: JsonObject, type: string): JsonObject | undefined =>
  objects(at(pod, 'status', 'conditions')).find(one => one['type'] === type && one['status'] === 'True');

/** A container that has been started again says nothing of the first start any more. */
const hasRestarted = (pod: JsonObject): boolean =>
  objects(at(pod, 'status', 'containerStatuses')).some(({ restartCount }) => Number(restartCount ?? 0) > 0);

/** From a node being found for it to readiness. A condition that has flapped since its containers started is taken for their start. */
const startOf = (pod: JsonObject): number | undefined => {
  if (hasRestarted(pod)) return undefined;
  const bound = timeOf(condition(pod, 'PodScheduled') ?? {}, 'lastTransitionTime');
  const from = Number.isNaN(bound) ? timeOf(pod, 'metadata', 'creationTimestamp') : bound;
  const ready = timeOf(condition(pod, 'Ready'), 'lastTransitionTime');
  const seconds = (ready - from) / 1000;
  if (seconds >= 0 && seconds <= longestSeconds) return seconds;
  const started = objects(at(pod, 'status', 'containerStatuses')).map(one => timeOf(one, 'state', 'running', 'startedAt'));
  return Number.isNaN(ready) || started.length === 0 ? undefined : (Math.max(...started) - from) / 1000;
};

const isPlausible = (seconds: number | undefined): seconds is number =>
  seconds !== undefined && seconds >= 0 && seconds <= longestSeconds && !Number.isNaN(seconds);

const sampleOf = (pod: JsonObject, seconds: number | undefined, workloads: Workloads): readonly Sample[] => {
  const workload = workloads.of(pod);
  if (!isPlausible(seconds) || workload === undefined) return [];
  return [{ workload: workloadText(workload), namespace: workload.namespace, seconds }];
};

export const startSamples = (all: readonly JsonObject[], workloads: Workloads): readonly Sample[] =>
  ofKind(all, 'Pod').flatMap(pod => sampleOf(pod, startOf(pod), workloads));

/** A pod on its way out whose containers have ended: as long as they took. */
const endOf = (pod: JsonObject): number | undefined => {
  const graceMs = Number(at(pod, 'metadata', 'deletionGracePeriodSeconds') ?? 0) * 1000;
  const told = timeOf(pod, 'metadata', 'deletionTimestamp') - graceMs;
  const ended = objects(at(pod, 'status', 'containerStatuses')).map(one => timeOf(one, 'state', 'terminated', 'finishedAt'));
  return ended.length === 0 ? undefined : (Math.max(...ended) - told) / 1000;
};

/** When kubelets began to end pods, by the pods' names: of those that have gone since, events are all that is left. */
const killings = (all: readonly JsonObject[]): ReadonlyMap<string, JsonObject> =>
  new Map(
    ofKind(all, 'Event')
      .filter(({ reason }) => reason === 'Killing')
      .map(event => [`${text(event, 'involvedObject', 'namespace')}/${text(event, 'involvedObject', 'name')}`, event]),
  );

/** The successor of a pod of a StatefulSet is made when it has gone. */
const gapOf = (pod: JsonObject, killed: ReadonlyMap<string, JsonObject>): number | undefined => {
  const event = killed.get(keyOf(pod));
  if (event === undefined || text(event, 'involvedObject', 'uid') === uidOf(pod)) return undefined;
  const since = text(event, 'firstTimestamp') || text(event, 'eventTime');
  return (timeOf(pod, 'metadata', 'creationTimestamp') - Date.parse(since)) / 1000;
};

export const stopSamples = (all: readonly JsonObject[], workloads: Workloads): readonly Sample[] => {
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
    const said = items(at(hook, 'exec', 'command')).join(' ');
    return Math.max(slept, Number(/\bsleep (\d+)/.exec(said)?.[1] ?? 0));
  };
  return Math.max(0, ...objects(at(pod, 'spec', 'containers')).map(of));
};
