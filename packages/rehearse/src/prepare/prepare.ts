import { isObject, type Json, type JsonObject } from '@drydock/apimachinery';
import { at, objects, part, type Stored, strings, text, without } from '@drydock/kube-sim';
import { ofKind } from '../snapshot/kept.ts';
import { controllerRef, keyOf, nameOf, namespaceOf, uidOf } from '../snapshot/workloads.ts';

/** Prepares a copy so that an embedded cluster loads it without changes. */

/** Kinds that are only informative, or of no use to the embedded cluster. */
const notLoaded = new Set(['Event', 'StorageClass']);

/** Kinds of owners that are simulated, or whose pods are never recreated. */
const playedOwners = new Set([
  'ReplicaSet',
  'StatefulSet',
  'DaemonSet',
  'Job',
  'Node',
  'VirtualMachineInstance',
]);

/** Label of the pods of an unknown controller. */
const standInLabel = 'drydock.dev/rehearsed-owner';

/** Annotation of a node without a simulated kubelet: its state never changes. */
const silentNode = { 'drydock.test/dead': 'true' };

function withMetadata(object: JsonObject, changes: JsonObject): JsonObject {
  return {
    ...object,
    metadata: without({ ...part(object, 'metadata'), ...changes }),
  };
}

function isFinished(pod: JsonObject): boolean {
  return ['Succeeded', 'Failed'].includes(text(pod, 'status', 'phase'));
}

function standInName(owner: JsonObject): string {
  return `${text(owner, 'kind').toLowerCase()}-${text(owner, 'name')}`;
}

/**
 * Returns a stand-in for a controller of an unknown kind, or one that could not be read: it keeps
 * the number of its pods.
 */
function standIn(owner: JsonObject, pods: readonly JsonObject[]): JsonObject {
  const [first = {}] = pods;
  const { nodeName: _node, hostname: _host, ...spec } = part(first, 'spec');
  const labels = {
    ...strings(at(first, 'metadata', 'labels')),
    [standInLabel]: text(owner, 'uid'),
  };
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
      replicas: pods.filter(
        pod => !isFinished(pod) && at(pod, 'metadata', 'deletionTimestamp') === undefined,
      ).length,
      selector: { matchLabels: { [standInLabel]: text(owner, 'uid') } },
      template: { metadata: { labels }, spec },
    },
  };
}

function handedOver(pod: JsonObject, owner: JsonObject): JsonObject {
  const reference = {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    name: standInName(owner),
    uid: text(owner, 'uid'),
    controller: true,
  };
  const labels = { ...strings(at(pod, 'metadata', 'labels')), [standInLabel]: text(owner, 'uid') };
  return withMetadata(pod, { labels, ownerReferences: [reference] });
}

/**
 * Gives pods of missing controllers a stand-in; drops other missing owners, so that the garbage
 * collector does not delete their dependents.
 */
function owned(all: readonly JsonObject[]): readonly JsonObject[] {
  const uids = new Set(all.map(uidOf));
  const isThere = (reference: JsonObject): boolean =>
    uids.has(text(reference, 'uid')) && playedOwners.has(text(reference, 'kind'));
  const orphaned = new Map<string, { readonly owner: JsonObject; readonly pods: JsonObject[] }>();
  const kept: JsonObject[] = [];
  for (const object of all) {
    const owner = controllerRef(object);
    const isPod = object['kind'] === 'Pod';
    if (!isPod || owner === undefined || isThere(owner) || text(owner, 'kind') === 'Node') {
      const references = objects(at(object, 'metadata', 'ownerReferences')).filter(one =>
        uids.has(text(one, 'uid')),
      );
      const isMirror = isPod && text(owner, 'kind') === 'Node';
      kept.push(
        isMirror
          ? object
          : withMetadata(object, {
              ownerReferences: references.length === 0 ? undefined : [...references],
            }),
      );
      continue;
    }
    const uid = text(owner, 'uid');
    const group = orphaned.get(uid) ?? { owner, pods: [] };
    orphaned.set(uid, group);
    group.pods.push(object);
    kept.push(handedOver(object, owner));
  }
  return [...kept, ...[...orphaned.values()].map(({ owner, pods }) => standIn(owner, pods))];
}

/**
 * Returns priority classes that pods name and that could not be read: without them no pod could be
 * recreated.
 */
function missingClasses(all: readonly JsonObject[]): readonly JsonObject[] {
  const known = new Set([
    ...ofKind(all, 'PriorityClass').map(nameOf),
    'system-node-critical',
    'system-cluster-critical',
  ]);
  const made = new Map<string, JsonObject>();
  for (const pod of ofKind(all, 'Pod')) {
    const name = text(pod, 'spec', 'priorityClassName');
    if (name === '' || known.has(name)) continue;
    const [value, preemptionPolicy] = [
      at(pod, 'spec', 'priority') ?? 0,
      at(pod, 'spec', 'preemptionPolicy') ?? 'PreemptLowerPriority',
    ];
    made.set(name, {
      apiVersion: 'scheduling.k8s.io/v1',
      kind: 'PriorityClass',
      metadata: { name },
      value,
      preemptionPolicy,
    });
  }
  return [...made.values()];
}

function isReadyNode(node: JsonObject): boolean {
  return objects(at(node, 'status', 'conditions')).some(
    one => one['type'] === 'Ready' && one['status'] === 'True',
  );
}

/**
 * Returns whether a pod has only just started, so that it will become ready like any other: it is
 * started again.
 */
function young(pod: JsonObject, snapshotTime: Temporal.Instant): boolean {
  const created = Date.parse(text(pod, 'metadata', 'creationTimestamp'));
  const restarts = objects(at(pod, 'status', 'containerStatuses')).some(
    ({ restartCount }) => Number(restartCount ?? 0) > 0,
  );
  const isReady = objects(at(pod, 'status', 'conditions')).some(
    one => one['type'] === 'Ready' && one['status'] === 'True',
  );
  return (
    text(pod, 'status', 'phase') === 'Running' &&
    !isReady &&
    !restarts &&
    snapshotTime.epochMilliseconds - created < youngMs
  );
}

/** Milliseconds until a pod that is not ready counts as one that never becomes so. */
const youngMs = 120_000;

/** Returns whether an annotation directs a simulated kubelet in tests: a rehearsal ignores it. */
function isSandboxDirection(key: string): boolean {
  return key.startsWith('drydock.test/');
}

function undirected(object: JsonObject): JsonObject {
  const annotations = strings(at(object, 'metadata', 'annotations'));
  if (!Object.keys(annotations).some(isSandboxDirection)) return object;
  const kept = Object.fromEntries(
    Object.entries(annotations).filter(([key]) => !isSandboxDirection(key)),
  );
  return withMetadata(object, { annotations: kept });
}

function withoutDirections(object: JsonObject): JsonObject {
  const template = at(object, 'spec', 'template');
  const clean = object['kind'] === 'Pod' ? undirected(object) : object;
  return isObject(template)
    ? { ...clean, spec: { ...part(clean, 'spec'), template: undirected(template) } }
    : clean;
}

function settled(object: JsonObject, snapshotTime: Temporal.Instant): JsonObject {
  if (object['kind'] === 'Node' && !isReadyNode(object))
    return withMetadata(object, {
      annotations: { ...strings(at(object, 'metadata', 'annotations')), ...silentNode },
    });
  if (object['kind'] === 'Pod' && young(object, snapshotTime))
    return { ...object, status: { ...part(object, 'status'), phase: 'Pending' } };
  return object;
}

const waitsForNothing = new Set(['ContainerCreating', 'PodInitializing', '']);

/**
 * Returns whether a pod has had enough time, and waits for something that does not arrive: an
 * image, its settings, the end of its crashes.
 */
export function isStuck(pod: JsonObject, snapshotTime: Temporal.Instant): boolean {
  const statuses = [
    ...objects(at(pod, 'status', 'containerStatuses')),
    ...objects(at(pod, 'status', 'initContainerStatuses')),
  ];
  if (statuses.some(one => !waitsForNothing.has(text(one, 'state', 'waiting', 'reason'))))
    return true;
  const bound = text(pod, 'spec', 'nodeName') !== '';
  const created = Date.parse(text(pod, 'metadata', 'creationTimestamp'));
  return (
    bound &&
    text(pod, 'status', 'phase') === 'Pending' &&
    snapshotTime.epochMilliseconds - created > 5 * youngMs
  );
}

/** Milliseconds beyond its grace period after which a terminating pod counts as stuck. */
const overdueMs = 60_000;

/** Unhealthy pods and nodes of the copy, which stay so in the rehearsal. By UID. */
export type UnhealthyPods = {
  /** Pods that never become ready. */
  readonly neverReady: ReadonlySet<string>;
  /** Pods that never terminate. */
  readonly neverGone: ReadonlySet<string>;
  /** Returns whether a pod that is created in the rehearsal never starts. */
  readonly neverStarts?: (pod: Stored) => boolean;
};

/**
 * Returns pods that wait for something that does not arrive, that do not terminate, or whose node
 * is silent.
 */
export function unhealthyPodsIn(
  all: readonly JsonObject[],
  snapshotTime: Temporal.Instant,
): UnhealthyPods {
  const dead = new Set(
    ofKind(all, 'Node').flatMap(node => (isReadyNode(node) ? [] : [nameOf(node)])),
  );
  const [neverReady, neverGone] = [new Set<string>(), new Set<string>()];
  for (const pod of ofKind(all, 'Pod')) {
    const isLost = dead.has(text(pod, 'spec', 'nodeName'));
    if (isLost || isStuck(pod, snapshotTime)) neverReady.add(uidOf(pod));
    const until = Date.parse(text(pod, 'metadata', 'deletionTimestamp'));
    if (isLost || snapshotTime.epochMilliseconds - until > overdueMs) neverGone.add(uidOf(pod));
  }
  return { neverReady, neverGone };
}

/** Returns distinct objects: of duplicates in several files, the last one counts. */
export function unique(all: readonly JsonObject[]): readonly JsonObject[] {
  return [
    ...new Map<Json, JsonObject>(
      all.map(one => [`${text(one, 'kind')} ${text(one, 'apiVersion')} ${keyOf(one)}`, one]),
    ).values(),
  ];
}

/**
 * Returns the objects to load: with stand-ins for unknown controllers, without informative kinds,
 * and at rest where the cluster was.
 */
export function prepared(
  all: readonly JsonObject[],
  snapshotTime: Temporal.Instant,
): readonly JsonObject[] {
  const loaded = owned(all.filter(one => !notLoaded.has(text(one, 'kind'))));
  return [...missingClasses(loaded), ...loaded].map(one =>
    settled(withoutDirections(one), snapshotTime),
  );
}
