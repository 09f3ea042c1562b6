import { isObject, type Json, type JsonObject } from '../../core/json.ts';
import { at, objects, part, type Stored, strings, text, without } from '../../embedded/object.ts';
import { ofKind } from '../snapshot/cluster-snapshot.ts';
import { controllerRef, keyOf, nameOf, namespaceOf, uidOf } from '../snapshot/workloads.ts';

/** Makes of a copy what an embedded cluster takes up without a stir. */

/** Kinds that only tell something, or that the embedded cluster has no use for. */
const notLoaded = new Set(['Event', 'StorageClass']);

/** Who makes these pods is played, or nobody makes them anew. */
const playedOwners = new Set(['ReplicaSet', 'StatefulSet', 'DaemonSet', 'Job', 'Node', 'VirtualMachineInstance']);

/** Marks the pods of a controller that is not known here. */
const standInLabel = 'drydock.dev/rehearsed-owner';

/** Nobody speaks for it: it stays as it is. */
const silentNode = { 'drydock.test/dead': 'true' };

const withMetadata = (object: JsonObject, changes: JsonObject): JsonObject => ({
  ...object,
  metadata: without({ ...part(object, 'metadata'), ...changes }),
});

const isFinished = (pod: JsonObject): boolean => ['Succeeded', 'Failed'].includes(text(pod, 'status', 'phase'));

const standInName = (owner: JsonObject): string => `${text(owner, 'kind').toLowerCase()}-${text(owner, 'name')}`;

/** Stands in for a controller of a kind that is not known here, or that could not be read: it keeps the number of its pods. */
const standIn = (owner: JsonObject, pods: readonly JsonObject[]): JsonObject => {
  const [first = {}] = pods;
  const { nodeName: _node, hostname: _host, ...spec } = part(first, 'spec');
  const labels = { ...strings(at(first, 'metadata', 'labels')), [standInLabel]: text(owner, 'uid') };
  return {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: {
      name: standInName(owner),
      namespace: namespaceOf(first),
      uid: text(owner, 'uid'),
      creationTimestamp: text(first, 'metadata', 'creationTimestamp'),
      generation: 1,
    },
    spec: {
      replicas: pods.filter(pod => !isFinished(pod) && at(pod, 'metadata', 'deletionTimestamp') === undefined).length,
      selector: { matchLabels: { [standInLabel]: text(owner, 'uid') } },
      template: { metadata: { labels }, spec },
    },
  };
};

const handedOver = (pod: JsonObject, owner: JsonObject): JsonObject => {
  const reference = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: standInName(owner), uid: text(owner, 'uid'), controller: true };
  const labels = { ...strings(at(pod, 'metadata', 'labels')), [standInLabel]: text(owner, 'uid') };
  return withMetadata(pod, { labels, ownerReferences: [reference] });
};

/** Pods of controllers that are not there get one that is; other owners that are not there are forgotten, lest the collector takes what is theirs. */
const owned = (all: readonly JsonObject[]): readonly JsonObject[] => {
  const uids = new Set(all.map(uidOf));
  const isThere = (reference: JsonObject): boolean => uids.has(text(reference, 'uid')) && playedOwners.has(text(reference, 'kind'));
  const orphaned = new Map<string, { readonly owner: JsonObject; readonly pods: JsonObject[] }>();
  const kept: JsonObject[] = [];
  for (const object of all) {
    const owner = controllerRef(object);
    const isPod = object['kind'] === 'Pod';
    if (!isPod || owner === undefined || isThere(owner) || text(owner, 'kind') === 'Node') {
      const references = objects(at(object, 'metadata', 'ownerReferences')).filter(one => uids.has(text(one, 'uid')));
      const isMirror = isPod && text(owner, 'kind') === 'Node';
      kept.push(isMirror ? object : withMetadata(object, { ownerReferences: references.length === 0 ? undefined : [...references] }));
      continue;
    }
    const uid = text(owner, 'uid');
    const group = orphaned.get(uid) ?? { owner, pods: [] };
    orphaned.set(uid, group);
    group.pods.push(object);
    kept.push(handedOver(object, owner));
  }
  return [...kept, ...[...orphaned.values()].map(({ owner, pods }) => standIn(owner, pods))];
};

/** Priority classes that pods name and that could not be read: without them no pod could be made anew. */
const missingClasses = (all: readonly JsonObject[]): readonly JsonObject[] => {
  const known = new Set([...ofKind(all, 'PriorityClass').map(nameOf), 'system-node-critical', 'system-cluster-critical']);
  const made = new Map<string, JsonObject>();
  for (const pod of ofKind(all, 'Pod')) {
    const name = text(pod, 'spec', 'priorityClassName');
    if (name === '' || known.has(name)) continue;
    const [value, preemptionPolicy] = [at(pod, 'spec', 'priority') ?? 0, at(pod, 'spec', 'preemptionPolicy') ?? 'PreemptLowerPriority'];
    made.set(name, { apiVersion: 'scheduling.k8s.io/v1', kind: 'PriorityClass', metadata: { name }, value, preemptionPolicy });
  }
  return [...made.values()];
};

const isReadyNode = (node: JsonObject): boolean =>
  objects(at(node, 'status', 'conditions')).some(one => one['type'] === 'Ready' && one['status'] === 'True');

/** A pod that has just come to run will be ready like any other: it is started anew. */
const young = (pod: JsonObject, takenAt: Temporal.Instant): boolean => {
  const created = Date.parse(text(pod, 'metadata', 'creationTimestamp'));
  const restarts = objects(at(pod, 'status', 'containerStatuses')).some(({ restartCount }) => Number(restartCount ?? 0) > 0);
  const isReady = objects(at(pod, 'status', 'conditions')).some(one => one['type'] === 'Ready' && one['status'] === 'True');
  return text(pod, 'status', 'phase') === 'Running' && !isReady && !restarts && takenAt.epochMilliseconds - created < youngMs;
};

/** How long a pod may take to become ready before it counts as one that does not. */
const youngMs = 120_000;

/** Annotations by which tests tell a simulated kubelet what to do: a rehearsal goes by what it sees. */
const isSandboxDirection = (key: string): boolean => key.startsWith('drydock.test/');

const undirected = (object: JsonObject): JsonObject => {
  const annotations = strings(at(object, 'metadata', 'annotations'));
  if (!Object.keys(annotations).some(isSandboxDirection)) return object;
  const kept = Object.fromEntries(Object.entries(annotations).filter(([key]) => !isSandboxDirection(key)));
  return withMetadata(object, { annotations: kept });
};

const withoutDirections = (object: JsonObject): JsonObject => {
  const template = at(object, 'spec', 'template');
  const clean = object['kind'] === 'Pod' ? undirected(object) : object;
  return isObject(template) ? { ...clean, spec: { ...part(clean, 'spec'), template: undirected(template) } } : clean;
};

const settled = (object: JsonObject, takenAt: Temporal.Instant): JsonObject => {
  if (object['kind'] === 'Node' && !isReadyNode(object))
    return withMetadata(object, { annotations: { ...strings(at(object, 'metadata', 'annotations')), ...silentNode } });
  if (object['kind'] === 'Pod' && young(object, takenAt)) return { ...object, status: { ...part(object, 'status'), phase: 'Pending' } };
  return object;
};

const waitsForNothing = new Set(['ContainerCreating', 'PodInitializing', '']);

/** It has had its time, and waits for what does not come: an image, its settings, the end of its crashes. */
export const isStuck = (pod: JsonObject, takenAt: Temporal.Instant): boolean => {
  const statuses = [...objects(at(pod, 'status', 'containerStatuses')), ...objects(at(pod, 'status', 'initContainerStatuses'))];
  if (statuses.some(one => !waitsForNothing.has(text(one, 'state', 'waiting', 'reason')))) return true;
  const bound = text(pod, 'spec', 'nodeName') !== '';
  const created = Date.parse(text(pod, 'metadata', 'creationTimestamp'));
  return bound && text(pod, 'status', 'phase') === 'Pending' && takenAt.epochMilliseconds - created > 5 * youngMs;
};

/** A minute beyond its grace period something holds it. */
const overdueMs = 60_000;

/** What the copy says of single pods and nodes, which the rehearsal keeps to. By uid. */
export type UnhealthyPods = {
  /** Do not become ready. */
  readonly neverReady: ReadonlySet<string>;
  /** Do not go. */
  readonly neverGone: ReadonlySet<string>;
  /** Of pods that are made in the rehearsal: it will not start. */
  readonly neverStarts?: (pod: Stored) => boolean;
};

/** Pods that wait for what does not come, that do not go, or whose node is not heard of. */
export const unhealthyPodsIn = (all: readonly JsonObject[], takenAt: Temporal.Instant): UnhealthyPods => {
  const dead = new Set(ofKind(all, 'Node').flatMap(node => (isReadyNode(node) ? [] : [nameOf(node)])));
  const [neverReady, neverGone] = [new Set<string>(), new Set<string>()];
  for (const pod of ofKind(all, 'Pod')) {
    const isLost = dead.has(text(pod, 'spec', 'nodeName'));
    if (isLost || isStuck(pod, takenAt)) neverReady.add(uidOf(pod));
    const until = Date.parse(text(pod, 'metadata', 'deletionTimestamp'));
    if (isLost || takenAt.epochMilliseconds - until > overdueMs) neverGone.add(uidOf(pod));
  }
  return { neverReady, neverGone };
};

/** Each object once: what several files hold twice is loaded as the later one has it. */
export const unique = (all: readonly JsonObject[]): readonly JsonObject[] => [
  ...new Map<Json, JsonObject>(all.map(one => [`${text(one, 'kind')} ${text(one, 'apiVersion')} ${keyOf(one)}`, one])).values(),
];

/** The objects to load: those of unknown controllers with a stand-in, without what is only told, and at rest where the cluster was. */
export const prepared = (all: readonly JsonObject[], takenAt: Temporal.Instant): readonly JsonObject[] => {
  const loaded = owned(all.filter(one => !notLoaded.has(text(one, 'kind'))));
  return [...missingClasses(loaded), ...loaded].map(one => settled(withoutDirections(one), takenAt));
};
