import type { JsonObject } from '@drydock/apimachinery';
import { at, objects, type Stored, strings } from '../../object.ts';
import {
  type Cluster,
  type Controller,
  isActive,
  isAvailable,
  isDeleting,
  isFinished,
  isReady,
  nextAvailableMs,
  nodeOf,
  phaseOf,
  readySince,
  split,
  timeText,
} from '../controller.ts';
import { claim } from '../selectors.ts';
import {
  concerned,
  deletePod,
  makePod,
  minReadyOf,
  podFrom,
  replicasOf,
  report,
} from '../workload.ts';

/**
 * Order in which surplus replicas are deleted (ActivePodsWithRanks in
 * pkg/controller/controller_utils.go).
 */

const ordinals: Readonly<Record<string, number>> = { Pending: 0, Unknown: 1, Running: 2 };

function costOf({ metadata }: Stored): number {
  const cost = Number(metadata.annotations?.['controller.kubernetes.io/pod-deletion-cost'] ?? 0);
  return Number.isInteger(cost) ? cost : 0;
}

/**
 * Returns the magnitude of an age: only a difference of a power of two counts
 * (LogarithmicScaleDown); otherwise the UID decides.
 */
function magnitude(sinceMs: number, nowMs: number): number {
  const age = nowMs - sinceMs;
  return age <= 0 ? -1 : Math.floor(Math.log2(age * 1e6));
}

function restartsOf(pod: Stored): number {
  const statuses = at(pod, 'status', 'containerStatuses');
  const counts = Array.isArray(statuses)
    ? statuses.map(status => Number(at(status, 'restartCount') ?? 0))
    : [];
  return Math.max(0, ...counts);
}

function comparison(one: number, other: number): number {
  return one - other;
}

/** Returns the number of related pods on each node. */
function ranksOf(pods: readonly Stored[]): ReadonlyMap<string, number> {
  const onNode = new Map<string, number>();
  for (const pod of pods) onNode.set(nodeOf(pod), (onNode.get(nodeOf(pod)) ?? 0) + 1);
  return onNode;
}

/**
 * Returns the pods in the order of their deletion; `related` are the active pods of all sets of the
 * same owner.
 */
export function deletionOrder(
  pods: readonly Stored[],
  nowMs: number,
  related = pods,
): readonly Stored[] {
  const ranks = ranksOf(related);
  const readyAge = (pod: Stored): number => magnitude(readySince(pod) ?? nowMs, nowMs);
  const age = ({ metadata }: Stored): number =>
    magnitude(Date.parse(metadata.creationTimestamp), nowMs);
  return pods.toSorted(
    (one, other) =>
      comparison(Number(nodeOf(one) !== ''), Number(nodeOf(other) !== '')) ||
      comparison(ordinals[phaseOf(one)] ?? 0, ordinals[phaseOf(other)] ?? 0) ||
      comparison(Number(isReady(one)), Number(isReady(other))) ||
      comparison(costOf(one), costOf(other)) ||
      comparison(ranks.get(nodeOf(other)) ?? 0, ranks.get(nodeOf(one)) ?? 0) ||
      comparison(readyAge(one), readyAge(other)) ||
      comparison(restartsOf(other), restartsOf(one)) ||
      comparison(age(one), age(other)) ||
      (one.metadata.uid < other.metadata.uid ? -1 : 1),
  );
}

/** ReplicaSets (k8s.io/kubernetes/pkg/controller/replicaset): keep the wanted number of pods. */

const resource = 'replicasets.apps';
const owning = { apiVersion: 'apps/v1', kind: 'ReplicaSet' };
const by = 'replicaset-controller';

/** Limit of pods created or deleted in one step (BurstReplicas). */
const burst = 500;

/**
 * Milliseconds until a retry when pods could not be created. The real queue backs off, up to 16
 * minutes.
 */
const retryMs = 1000;

const waits = Symbol('the client has to wait');

/**
 * Returns the ReplicaFailure condition, which exists as long as pods cannot be created
 * (calculateStatus).
 */
function failureOf(set: Stored, failure: string | undefined, nowMs: number): readonly JsonObject[] {
  const before = objects(at(set, 'status', 'conditions')).filter(
    ({ type }) => type === 'ReplicaFailure',
  );
  if (failure === undefined) return [];
  if (before.length > 0) return before;
  const now = timeText(nowMs);
  return [
    {
      type: 'ReplicaFailure',
      status: 'True',
      lastTransitionTime: now,
      reason: 'FailedCreate',
      message: failure,
    },
  ];
}

type Counted = { readonly pods: readonly Stored[]; readonly active: readonly Stored[] };

function statusOf(
  set: Stored,
  { pods, active }: Counted,
  failure: string | undefined,
  nowMs: number,
): JsonObject {
  const labels = Object.entries(strings(at(set, 'spec', 'template', 'metadata', 'labels')));
  const isLabelled = ({ metadata }: Stored): boolean =>
    labels.every(([key, value]) => metadata.labels?.[key] === value);
  const minReady = minReadyOf(set);
  const count = (is: (pod: Stored) => boolean): number | undefined =>
    active.filter(is).length || undefined;
  const conditions = failureOf(set, failure, nowMs);
  const ready = count(isReady);
  return {
    replicas: active.length,
    fullyLabeledReplicas: count(isLabelled),
    readyReplicas: ready,
    availableReplicas: minReady === 0 ? ready : count(pod => isAvailable(pod, minReady, nowMs)),
    terminatingReplicas:
      pods.length === active.length
        ? 0
        : pods.filter(pod => isDeleting(pod) && !isFinished(pod)).length,
    observedGeneration: set.metadata.generation ?? 0,
    ...(conditions.length > 0 && { conditions: [...conditions] }),
  };
}

/**
 * Creates missing pods or deletes surplus ones. Returns why pods could not be created, or that its
 * client's limit interrupted it.
 */
function manage(
  cluster: Cluster,
  set: Stored,
  active: readonly Stored[],
  related: readonly Stored[],
): string | typeof waits | undefined {
  const missing = Math.min(replicasOf(set) - active.length, burst);
  const maker = { by, resource, owner: set };
  for (let made = 0; made < missing; made += 1) {
    if (made > 0 && (cluster.waitMs?.(by) ?? 0) > 0) return waits;
    const failure = makePod(
      cluster,
      maker,
      podFrom(set, owning, { metadata: { generateName: `${set.metadata.name}-` } }),
    );
    if (failure !== undefined) return failure;
  }
  const surplus = Math.min(-missing, burst);
  if (surplus > 0)
    for (const pod of deletionOrder(active, cluster.nowMs(), related).slice(0, surplus))
      deletePod(cluster, maker, pod);
  return undefined;
}

/**
 * Returns the active pods of all sets of the same owner: a pod with more of them on its node is
 * deleted first. A set without an owner has none (getIndirectlyRelatedPods).
 */
function relatedPods(cluster: Cluster, set: Stored): readonly Stored[] {
  const above = set.metadata.ownerReferences?.find(({ controller }) => controller === true);
  const sets = above === undefined ? [] : cluster.store.indexed(resource, 'owner', above.uid);
  return sets
    .flatMap(({ metadata }) => cluster.store.indexed('pods', 'owner', metadata.uid))
    .filter(isActive);
}

const reconcile: Controller['reconcile'] = (key, cluster) => {
  const [namespace, name] = split(key);
  const set = cluster.store.get(resource, namespace, name);
  if (set === undefined) return undefined;
  const pods = claim(cluster, set, { resource: 'pods', owning });
  const active = pods.filter(isActive);
  const isOff = active.length !== replicasOf(set) && !isDeleting(set);
  const failure = isOff ? manage(cluster, set, active, relatedPods(cluster, set)) : undefined;
  // The real controller blocks here, and counts when all are created.
  if (failure === waits) return 'waits';
  const now = cluster.store.get(resource, namespace, name) ?? set;
  // Pods just created or deleted are counted when they are observed, in the next round.
  report(cluster, resource, now, statusOf(now, { pods, active }, failure, cluster.nowMs()));
  if (failure !== undefined) return retryMs;
  return nextAvailableMs(active, minReadyOf(set), cluster.nowMs());
};

/** Returns whether nothing has changed that is counted. */
function isAlike(before: Stored, after: Stored): boolean {
  return (
    isFinished(before) === isFinished(after) &&
    isDeleting(before) === isDeleting(after) &&
    readySince(before) === readySince(after)
  );
}

export const replicaSetController: Controller = {
  name: by,
  settles: resource,
  keysOf: concerned(resource, 'ReplicaSet', 'pods', isAlike),
  reconcile,
};
