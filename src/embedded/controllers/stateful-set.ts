import type { JsonObject } from '../../core/json.ts';
import { at, objects, part, type Stored, strings, text } from '../object.ts';
import { type Cluster, type Controller, keyOf, split } from './controller.ts';
import { isAvailable, isDeleting, isFinished, isReady } from './pods.ts';
import { replicasOf, templateOf } from './replica-set.ts';
import { templateHash } from './template-hash.ts';
import { ownerKeys, podFrom, podsOf, report } from './workload.ts';

/** StatefulSets (k8s.io/kubernetes/pkg/controller/statefulset): pods with a name of their own, one after the other unless told otherwise. */

const resource = 'statefulsets.apps';
const owning = { apiVersion: 'apps/v1', kind: 'StatefulSet' };
const revisionLabel = 'controller-revision-hash';

const ordinalOf = (set: Stored, pod: Stored): number => {
  const ordinal = pod.metadata.name.slice(set.metadata.name.length + 1);
  return /^\d+$/.test(ordinal) ? Number(ordinal) : -1;
};

const revisionOf = (set: Stored): string => `${set.metadata.name}-${templateHash(templateOf(set))}`;

/** The claims of one pod: its own, which stay when it goes. */
const claimsOf = (
  set: Stored,
  pod: string,
): readonly { readonly volume: string; readonly claim: string; readonly template: JsonObject }[] =>
  objects(at(set, 'spec', 'volumeClaimTemplates')).map(template => {
    const volume = text(template, 'metadata', 'name');
    return { volume, claim: `${volume}-${pod}`, template };
  });

const makeClaims = (cluster: Cluster, set: Stored, pod: string): void => {
  const namespace = set.metadata.namespace ?? '';
  for (const { claim, template } of claimsOf(set, pod)) {
    if (cluster.store.get('persistentvolumeclaims', namespace, claim) !== undefined) continue;
    const metadata = { ...part(template, 'metadata'), name: claim, namespace, labels: strings(at(set, 'spec', 'selector', 'matchLabels')) };
    cluster.writes.create('persistentvolumeclaims', {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata,
      spec: part(template, 'spec'),
    });
  }
};

const make = (cluster: Cluster, set: Stored, ordinal: number): void => {
  const name = `${set.metadata.name}-${ordinal}`;
  makeClaims(cluster, set, name);
  const volumes = [
    ...objects(at(set, 'spec', 'template', 'spec', 'volumes')),
    ...claimsOf(set, name).map(({ volume, claim }) => ({ name: volume, persistentVolumeClaim: { claimName: claim } })),
  ];
  const labels = {
    'statefulset.kubernetes.io/pod-name': name,
    'apps.kubernetes.io/pod-index': String(ordinal),
    [revisionLabel]: revisionOf(set),
  };
  const pod = podFrom(set, owning, {
    metadata: { name, labels },
    spec: { hostname: name, subdomain: text(set, 'spec', 'serviceName'), ...(volumes.length > 0 && { volumes }) },
  });
  const written = cluster.writes.create('pods', pod);
  const about = { resource, object: set };
  if (written.kind === 'stored')
    cluster.record(about, 'Normal', 'SuccessfulCreate', `create Pod ${name} in StatefulSet ${set.metadata.name} successful`);
  else
    cluster.record(
      about,
      'Warning',
      'FailedCreate',
      `create Pod ${name} in StatefulSet ${set.metadata.name} failed error: ${written.message}`,
    );
};

const remove = (cluster: Cluster, set: Stored, { metadata }: Stored): void => {
  cluster.writes.remove('pods', metadata.namespace ?? '', metadata.name, { uid: metadata.uid });
  const message = `delete Pod ${metadata.name} in StatefulSet ${set.metadata.name} successful`;
  cluster.record({ resource, object: set }, 'Normal', 'SuccessfulDelete', message);
};

/** What to do next: at most one thing at a time where the order matters. */
const step = (cluster: Cluster, set: Stored, pods: readonly Stored[]): void => {
  const replicas = replicasOf(set);
  const inOrder = at(set, 'spec', 'podManagementPolicy') !== 'Parallel';
  const byOrdinal = new Map(pods.map(pod => [ordinalOf(set, pod), pod] as const));
  for (let ordinal = 0; ordinal < replicas; ordinal += 1) {
    const pod = byOrdinal.get(ordinal);
    if (pod === undefined) make(cluster, set, ordinal);
    else if (isFinished(pod) && !isDeleting(pod)) remove(cluster, set, pod);
    else if (!inOrder || (isReady(pod) && !isDeleting(pod))) continue;
    if (inOrder) return;
  }
  const surplus = pods.filter(pod => ordinalOf(set, pod) >= replicas).toSorted((one, other) => ordinalOf(set, other) - ordinalOf(set, one));
  for (const pod of surplus) {
    if (!isDeleting(pod)) remove(cluster, set, pod);
    if (inOrder) return;
  }
  update(cluster, set, pods);
};

/** The template has changed: the highest ordinal goes first, the next one when it is ready again. */
const update = (cluster: Cluster, set: Stored, pods: readonly Stored[]): void => {
  if (at(set, 'spec', 'updateStrategy', 'type') === 'OnDelete') return;
  if (pods.some(pod => !isReady(pod) || isDeleting(pod))) return;
  const partition = Number(at(set, 'spec', 'updateStrategy', 'rollingUpdate', 'partition') ?? 0);
  const outdated = pods
    .filter(pod => ordinalOf(set, pod) >= partition && pod.metadata.labels?.[revisionLabel] !== revisionOf(set))
    .toSorted((one, other) => ordinalOf(set, other) - ordinalOf(set, one));
  const [next] = outdated;
  if (next !== undefined) remove(cluster, set, next);
};

const statusOf = (set: Stored, pods: readonly Stored[], nowMs: number): JsonObject => {
  const alive = pods.filter(pod => !isDeleting(pod) && !isFinished(pod));
  const minReady = Number(at(set, 'spec', 'minReadySeconds') ?? 0);
  const current = alive.filter(pod => pod.metadata.labels?.[revisionLabel] === revisionOf(set)).length;
  return {
    observedGeneration: set.metadata.generation ?? 0,
    replicas: pods.length,
    readyReplicas: alive.filter(isReady).length || undefined,
    availableReplicas: alive.filter(pod => isAvailable(pod, minReady, nowMs)).length,
    currentReplicas: current || undefined,
    updatedReplicas: current || undefined,
    currentRevision: revisionOf(set),
    updateRevision: revisionOf(set),
    collisionCount: 0,
  };
};

const reconcile = (key: string, cluster: Cluster): number | undefined => {
  const [namespace, name] = split(key);
  const set = cluster.store.get(resource, namespace, name);
  if (set === undefined) return undefined;
  if (set.metadata.deletionTimestamp === undefined) step(cluster, set, podsOf(cluster, set));
  const now = cluster.store.get(resource, namespace, name) ?? set;
  report(cluster, resource, now, statusOf(now, podsOf(cluster, now), cluster.nowMs()));
  return undefined;
};

export const statefulSetController: Controller = {
  name: 'statefulset-controller',
  keysOf: (change, cluster) => {
    if (change.resource === resource) return change.type === 'removed' ? [] : [keyOf(change.object)];
    return change.resource === 'pods' ? ownerKeys(cluster, resource, 'StatefulSet', change.object) : [];
  },
  reconcile,
};
