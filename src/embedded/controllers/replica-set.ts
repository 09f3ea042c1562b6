import type { JsonObject } from '../../core/json.ts';
import { at, part, type Stored, strings } from '../object.ts';
import { type Cluster, type Controller, keyOf, split } from './controller.ts';
import { controllerOf, isActive, isAvailable, isReady } from './pods.ts';
import { deletionOrder } from './replicas.ts';
import { adopt, ownerKeys, podFrom, podsOf, report } from './workload.ts';

/** ReplicaSets (k8s.io/kubernetes/pkg/controller/replicaset): as many pods as wanted, no more and no fewer. */

const resource = 'replicasets.apps';
const owning = { apiVersion: 'apps/v1', kind: 'ReplicaSet' };

/** The API's own defaults, for objects that were made without it. */
export const replicasOf = (owner: Stored): number => Number(at(owner, 'spec', 'replicas') ?? 1);

const hasLabels = (pod: Stored, wanted: Readonly<Record<string, string>>): boolean =>
  Object.entries(wanted).every(([key, value]) => pod.metadata.labels?.[key] === value);

const statusOf = (set: Stored, active: readonly Stored[], terminating: number, nowMs: number): JsonObject => {
  const minReady = Number(at(set, 'spec', 'minReadySeconds') ?? 0);
  const labels = strings(at(set, 'spec', 'template', 'metadata', 'labels'));
  const count = (is: (pod: Stored) => boolean): number | undefined => active.filter(is).length || undefined;
  return {
    replicas: active.length,
    fullyLabeledReplicas: count(pod => hasLabels(pod, labels)),
    readyReplicas: count(isReady),
    availableReplicas: count(pod => isAvailable(pod, minReady, nowMs)),
    terminatingReplicas: terminating,
    observedGeneration: set.metadata.generation ?? 0,
  };
};

const scaleUp = (cluster: Cluster, set: Stored, count: number): void => {
  for (let made = 0; made < count; made += 1) {
    const written = cluster.writes.create('pods', podFrom(set, owning, { metadata: { generateName: `${set.metadata.name}-` } }));
    const about = { resource, object: set };
    if (written.kind === 'stored') cluster.record(about, 'Normal', 'SuccessfulCreate', `Created pod: ${written.object.metadata.name}`);
    else {
      cluster.record(about, 'Warning', 'FailedCreate', `Error creating: ${written.message}`);
      return;
    }
  }
};

const scaleDown = (cluster: Cluster, set: Stored, active: readonly Stored[], count: number): void => {
  for (const { metadata } of deletionOrder(active, cluster.nowMs()).slice(0, count)) {
    cluster.writes.remove('pods', metadata.namespace ?? '', metadata.name, { uid: metadata.uid });
    cluster.record({ resource, object: set }, 'Normal', 'SuccessfulDelete', `Deleted pod: ${metadata.name}`);
  }
};

const reconcile = (key: string, cluster: Cluster): number | undefined => {
  const [namespace, name] = split(key);
  const set = cluster.store.get(resource, namespace, name);
  if (set === undefined) return undefined;
  adopt(cluster, set, owning);
  const pods = podsOf(cluster, set);
  const active = pods.filter(isActive);
  const missing = replicasOf(set) - active.length;
  if (set.metadata.deletionTimestamp === undefined) {
    if (missing > 0) scaleUp(cluster, set, missing);
    if (missing < 0) scaleDown(cluster, set, active, -missing);
  }
  const terminating = pods.filter(({ metadata }) => metadata.deletionTimestamp !== undefined).length;
  const now = podsOf(cluster, set).filter(isActive);
  report(cluster, resource, cluster.store.get(resource, namespace, name) ?? set, statusOf(set, now, terminating, cluster.nowMs()));
  return undefined;
};

export const replicaSetController: Controller = {
  name: 'replicaset-controller',
  keysOf: (change, cluster) => {
    if (change.resource === resource) return change.type === 'removed' ? [] : [keyOf(change.object)];
    if (change.resource !== 'pods') return [];
    const before =
      change.type === 'changed' && controllerOf(change.before)?.uid !== controllerOf(change.object)?.uid ? [change.before] : [];
    return [...before, change.object].flatMap(pod => ownerKeys(cluster, resource, 'ReplicaSet', pod));
  },
  reconcile,
};

/** Whether the set belongs to somebody who is to be told. */
export const isOwnedBy = (object: Stored, uid: string): boolean => controllerOf(object)?.uid === uid;

/** The pod template of an owner. */
export const templateOf = (owner: Stored): JsonObject => part(owner, 'spec', 'template');
