import type { JsonObject } from '@drydock/apimachinery';
import { at, objects, type Stored, text } from '../../object.ts';
import { scaled } from '../budgets/disruption.ts';
import {
  type Cluster,
  type Controller,
  isAvailable,
  isDeleting,
  isFinished,
  isReady,
  nextAvailableMs,
  phaseOf,
  split,
} from '../controller.ts';
import { claim } from '../selectors.ts';
import {
  concerned,
  forgetRevisions,
  minReadyOf,
  podFrom,
  replicasOf,
  report,
  revisionsOf,
  templateIn,
  updateRevision,
} from '../workload.ts';
import { hasLeavingClaim, makeClaims, ownClaims, volumesOf } from './claims.ts';

/** A pod of the set with its position. */
type OrdinalPod = {
  readonly pod: Stored;
  /** Position counted from the first ordinal. */
  readonly index: number;
  /** Whether it has another revision than the update's, and is not yet terminating. */
  readonly isOld: boolean;
  /** Whether it is terminating or unavailable. */
  readonly isOff: boolean;
};

function mayBeOff(set: Stored, replicas: number): number {
  return Math.max(
    1,
    scaled(
      at(set, 'spec', 'updateStrategy', 'rollingUpdate', 'maxUnavailable') ?? 1,
      replicas,
      'down',
    ) ?? 1,
  );
}

function podsOf(places: readonly OrdinalPod[]): readonly Stored[] {
  return places.map(({ pod }) => pod);
}

/** Existing pods, the lowest first, and the wanted number: missing ones are counted, not listed. */
type Places = {
  readonly places: readonly OrdinalPod[];
  readonly replicas: number;
  readonly inOrder: boolean;
};

/**
 * Returns the pods that a rolling update deletes now, the highest ordinal first, so that at most
 * maxUnavailable are unavailable at a time (updateStatefulSetAfterInvariantEstablished, the default
 * since 1.37).
 */
function podsToReplace(set: Stored, { places, replicas, inOrder }: Places): readonly Stored[] {
  const partition = Number(at(set, 'spec', 'updateStrategy', 'rollingUpdate', 'partition') ?? 0);
  const missing = replicas - places.length;
  const left = mayBeOff(set, replicas) - missing - places.filter(({ isOff }) => isOff).length;
  const old = places.filter(({ isOld, index }) => isOld && index >= partition).toReversed();
  if (inOrder) return left > 0 ? podsOf(old.slice(0, left)) : [];
  if (left <= 0 && !places.some(({ isOld, isOff }) => isOld && isOff)) return [];
  // Without an order, unavailable pods go first, and do not count against the limit.
  return podsOf([
    ...old.filter(({ isOff }) => isOff),
    ...old.filter(({ isOff }) => !isOff).slice(0, Math.max(0, left)),
  ]);
}

/**
 * StatefulSets (k8s.io/kubernetes/pkg/controller/statefulset): pods with stable names, one after
 * the other unless configured otherwise.
 */

const resource = 'statefulsets.apps';
const by = 'statefulset-controller';
const owning = { apiVersion: 'apps/v1', kind: 'StatefulSet' };
const revisionLabel = 'controller-revision-hash';
const nameLabel = 'statefulset.kubernetes.io/pod-name';
const labelling = { owning, hashLabel: 'controller.kubernetes.io/hash' };

/** Milliseconds until a retry when a pod could not be created. */
const retryMs = 1000;

function startOf(set: Stored): number {
  return Number(at(set, 'spec', 'ordinals', 'start') ?? 0);
}

function ordinalOf(set: Stored, { metadata }: Stored): number {
  const ordinal = metadata.name.startsWith(`${set.metadata.name}-`)
    ? metadata.name.slice(set.metadata.name.length + 1)
    : '';
  return /^\d+$/.test(ordinal) ? Number(ordinal) : -1;
}

function isMonotonic(set: Stored): boolean {
  return at(set, 'spec', 'podManagementPolicy') !== 'Parallel';
}

/** One set in one sync. */
type SetSync = {
  readonly cluster: Cluster;
  readonly set: Stored;
  readonly current: Stored;
  readonly update: Stored;
  readonly byOrdinal: ReadonlyMap<number, Stored>;
  /** Pods beyond the number of replicas, the last one first. */
  readonly surplus: readonly Stored[];
};

function say({ cluster, set }: SetSync, verb: string, what: string, failure?: string): void {
  const about = { resource, object: set };
  if (failure === undefined) {
    const message = `${verb} ${what} in StatefulSet ${set.metadata.name} success${what.startsWith('Claim') ? '' : 'ful'}`;
    cluster.record({ by, about, type: 'Normal', reason: `Successful${verb}`, message });
    return;
  }
  const message = `${verb} ${what} in StatefulSet ${set.metadata.name} failed error: ${failure}`;
  cluster.record({ by, about, type: 'Warning', reason: `Failed${verb}`, message });
}

function identityOf(name: string, ordinal: number): Readonly<Record<string, string>> {
  return {
    [nameLabel]: name,
    'apps.kubernetes.io/pod-index': String(ordinal),
  };
}

function draftOf({ set }: SetSync, name: string, revision: Stored, ordinal: number): JsonObject {
  const template = templateIn(revision);
  const labels = { ...identityOf(name, ordinal), [revisionLabel]: revision.metadata.name };
  const volumes = volumesOf(set, name, objects(at(template, 'spec', 'volumes')));
  const spec = {
    hostname: name,
    subdomain: text(set, 'spec', 'serviceName'),
    ...(volumes.length > 0 && { volumes: [...volumes] }),
  };
  return podFrom(
    set,
    owning,
    { metadata: { name, generateName: `${set.metadata.name}-`, labels }, spec },
    template,
  );
}

/** Creates the pod of an ordinal, with its claims; returns false when that failed. */
function make(sync: SetSync, ordinal: number): boolean {
  const { cluster, set, current, update } = sync;
  const name = `${set.metadata.name}-${ordinal}`;
  for (const { claim: made, failure } of makeClaims(cluster, set, name))
    say(sync, 'Create', `Claim ${made} ${failure === undefined ? '' : 'for '}Pod ${name}`, failure);
  const leaving = hasLeavingClaim(cluster, set, name);
  if (leaving !== undefined) say(sync, 'Create', `Pod ${name}`, `pvc ${leaving} is being deleted`);
  if (leaving !== undefined) return false;
  const partition = Number(at(set, 'spec', 'updateStrategy', 'rollingUpdate', 'partition') ?? 0);
  const revision = ordinal < startOf(set) + partition ? current : update;
  const written = cluster.writes.create('pods', draftOf(sync, name, revision, ordinal));
  if (written.kind === 'stored') ownClaims(cluster, set, written.object, false);
  const exists = written.kind === 'refused' && written.reason === 'AlreadyExists';
  if (!exists)
    say(sync, 'Create', `Pod ${name}`, written.kind === 'refused' ? written.message : undefined);
  return written.kind === 'stored';
}

function remove(sync: SetSync, { metadata }: Stored): void {
  sync.cluster.writes.remove('pods', metadata.namespace ?? '', metadata.name);
  say(sync, 'Delete', `Pod ${metadata.name}`);
}

function isUp(pod: Stored): boolean {
  return phaseOf(pod) === 'Running' && isReady(pod);
}

function isOff({ cluster, set }: SetSync, pod: Stored | undefined): boolean {
  return (
    pod === undefined || isDeleting(pod) || !isAvailable(pod, minReadyOf(set), cluster.nowMs())
  );
}

/** Yields the ordinals on demand: a set may want two thousand million. */
const ordinalsOf = function* (set: Stored): Iterable<number> {
  const [start, replicas] = [startOf(set), replicasOf(set)];
  for (let index = 0; index < replicas; index += 1) yield start + index;
};

/**
 * Limit of pods in one step without an order, as in the other controllers; the next step continues.
 */
const burst = 500;

/** Sets the identity labels of an adopted pod (updateIdentity). */
function identify(sync: SetSync, pod: Stored, ordinal: number): void {
  const labels = { ...pod.metadata.labels, ...identityOf(pod.metadata.name, ordinal) };
  const written = sync.cluster.writes.update('pods', {
    ...pod,
    metadata: { ...pod.metadata, labels },
  });
  say(
    sync,
    'Update',
    `Pod ${pod.metadata.name}`,
    written.kind === 'refused' ? written.message : undefined,
  );
}

type Step = 'done' | 'wait' | 'failed';

/** Starts one ordinal; returns `wait` when the next one has to wait for it (processReplica). */
function raise(sync: SetSync, ordinal: number): Step {
  const { cluster, set, byOrdinal } = sync;
  const pod = byOrdinal.get(ordinal);
  if (pod === undefined) return make(sync, ordinal) ? 'wait' : 'failed';
  if (isFinished(pod)) {
    if (!isDeleting(pod)) remove(sync, pod);
    return 'wait';
  }
  if (phaseOf(pod) === 'Pending') makeClaims(cluster, set, pod.metadata.name);
  if (isMonotonic(set) && (isOff(sync, pod) || !isUp(pod))) return 'wait';
  ownClaims(cluster, set, pod, false);
  if (pod.metadata.labels?.[nameLabel] !== pod.metadata.name) identify(sync, pod, ordinal);
  return 'done';
}

/**
 * Deletes one surplus pod; returns `wait` when the next one has to wait for it (processCondemned).
 */
function lower(sync: SetSync, pod: Stored, firstOff: Stored | undefined): Step {
  if (isDeleting(pod)) return 'wait';
  const isWell = isUp(pod) && !isOff(sync, pod);
  if (isMonotonic(sync.set) && !isWell && pod !== firstOff) return 'wait';
  remove(sync, pod);
  return 'wait';
}

/** Takes a step for each, one after the other where the order requires it. */
function forEach<T>(all: Iterable<T>, inOrder: boolean, step: (one: T) => Step): Step {
  let waiting = 0;
  for (const one of all) {
    const done = step(one);
    if (done === 'failed' || (done === 'wait' && inOrder)) return done;
    if (done === 'wait') waiting += 1;
    if (waiting >= burst) return 'wait';
  }
  return 'done';
}

/** Returns the existing pods, the lowest ordinal first. */
function inPlace(
  byOrdinal: ReadonlyMap<number, Stored>,
): readonly (readonly [ordinal: number, pod: Stored])[] {
  return [...byOrdinal].toSorted(([one], [other]) => one - other);
}

/**
 * Replaces pods after a change of the template: the highest ordinals first, as many as may be
 * unavailable.
 */
function roll(sync: SetSync): void {
  const { set, byOrdinal, update } = sync;
  if (at(set, 'spec', 'updateStrategy', 'type') === 'OnDelete') return;
  const places = inPlace(byOrdinal).map(([ordinal, pod]) => {
    const isOld = pod.metadata.labels?.[revisionLabel] !== update.metadata.name && !isDeleting(pod);
    return { pod, index: ordinal - startOf(set), isOld, isOff: isOff(sync, pod) };
  });
  for (const pod of podsToReplace(set, {
    places,
    replicas: replicasOf(set),
    inOrder: isMonotonic(set),
  }))
    remove(sync, pod);
}

/** Takes the next step: a single action where the order matters. */
function step(sync: SetSync): Step {
  const { cluster, set, byOrdinal, surplus } = sync;
  const inOrder = isMonotonic(set);
  const raised = forEach(ordinalsOf(set), inOrder, ordinal => raise(sync, ordinal));
  if (raised !== 'done') return raised;
  for (const pod of surplus) ownClaims(cluster, set, pod, true);
  const present = [...inPlace(byOrdinal).map(([, pod]) => pod), ...surplus.toReversed()];
  const firstOff = present.find(pod => isOff(sync, pod));
  const lowered = forEach(surplus, inOrder, pod => lower(sync, pod, firstOff));
  if (lowered === 'done') roll(sync);
  return lowered;
}

function statusOf({ set, current, update, cluster }: SetSync, pods: readonly Stored[]): JsonObject {
  const of = (revision: Stored): number =>
    pods.filter(
      pod => !isDeleting(pod) && pod.metadata.labels?.[revisionLabel] === revision.metadata.name,
    ).length;
  const ready = pods.filter(isUp);
  const isDone =
    at(set, 'spec', 'updateStrategy', 'type') !== 'OnDelete' &&
    [of(update), ready.length, pods.length].every(count => count === replicasOf(set));
  return {
    observedGeneration: set.metadata.generation ?? 0,
    replicas: pods.length,
    readyReplicas: ready.length || undefined,
    availableReplicas: ready.filter(pod => isAvailable(pod, minReadyOf(set), cluster.nowMs()))
      .length,
    currentReplicas: of(isDone ? update : current) || undefined,
    updatedReplicas: of(update) || undefined,
    currentRevision: (isDone ? update : current).metadata.name,
    updateRevision: update.metadata.name,
    collisionCount: Number(at(set, 'status', 'collisionCount') ?? 0),
  };
}

function setSyncOf(cluster: Cluster, set: Stored, pods: readonly Stored[]): SetSync | undefined {
  const update = updateRevision(cluster, set, labelling);
  if (update === undefined) return undefined;
  const named = text(set, 'status', 'currentRevision');
  const current =
    revisionsOf(cluster, set).find(({ metadata }) => metadata.name === named) ?? update;
  const isInside = (pod: Stored): boolean => {
    const index = ordinalOf(set, pod) - startOf(set);
    return index >= 0 && index < replicasOf(set);
  };
  const surplus = pods
    .filter(pod => !isInside(pod) && ordinalOf(set, pod) >= 0)
    .toSorted((one, other) => ordinalOf(set, other) - ordinalOf(set, one));
  const byOrdinal = new Map(pods.filter(isInside).map(pod => [ordinalOf(set, pod), pod] as const));
  return { cluster, set, current, update, byOrdinal, surplus };
}

function reconcile(key: string, cluster: Cluster): number | undefined {
  const [namespace, name] = split(key);
  const set = cluster.store.get(resource, namespace, name);
  if (set === undefined) return undefined;
  const pods = claim(cluster, set, {
    resource: 'pods',
    owning,
    isMember: pod => ordinalOf(set, pod) >= 0,
  });
  const sync = setSyncOf(cluster, set, pods);
  if (sync === undefined) return retryMs;
  const done = isDeleting(set) ? 'done' : step(sync);
  report(
    cluster,
    resource,
    cluster.store.get(resource, namespace, name) ?? set,
    statusOf(sync, pods),
  );
  const live = new Set([sync.current, sync.update].map(({ metadata }) => metadata.name));
  for (const { metadata } of pods) live.add(metadata.labels?.[revisionLabel] ?? '');
  forgetRevisions(cluster, set, ({ metadata }) => live.has(metadata.name));
  return done === 'failed' ? retryMs : nextAvailableMs(pods, minReadyOf(set), cluster.nowMs());
}

export const statefulSetController: Controller = {
  name: by,
  keysOf: concerned(resource, 'StatefulSet', 'pods'),
  reconcile,
};
