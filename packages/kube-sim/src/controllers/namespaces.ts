import type { JsonObject } from '@drydock/apimachinery';
import { at, durationMs, objects, part, type Stored } from '../object.ts';
import type { Resource } from '../store/store.ts';
import { type Cluster, type Controller, isFinished, timeText } from './controller.ts';

/** Conditions in the status of workloads, by the rules of their controllers. */

export function conditionsOf(object: Stored | undefined): readonly JsonObject[] {
  return objects(at(object, 'status', 'conditions'));
}

export function conditionOf(
  conditions: readonly JsonObject[],
  type: string,
): JsonObject | undefined {
  return conditions.find(one => one['type'] === type);
}

export function isTrue(conditions: readonly JsonObject[], type: string): boolean {
  return conditionOf(conditions, type)?.['status'] === 'True';
}

export function withoutCondition(
  conditions: readonly JsonObject[],
  type: string,
): readonly JsonObject[] {
  return conditions.filter(one => one['type'] !== type);
}

export type Statement = {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
};

/**
 * Adds a condition of a Deployment. The same status for the same reason changes nothing, not even
 * the message (SetDeploymentCondition); `renewed` updates the time all the same.
 */
export function withStatement(
  conditions: readonly JsonObject[],
  said: Statement,
  now: string,
  renewed = false,
): readonly JsonObject[] {
  const before = conditionOf(conditions, said.type);
  const same = before?.['status'] === said.status;
  if (same && before['reason'] === said.reason && !renewed) return conditions;
  const lastTransitionTime = same ? before['lastTransitionTime'] : now;
  return [
    ...withoutCondition(conditions, said.type),
    { ...said, lastUpdateTime: now, lastTransitionTime },
  ];
}

/**
 * Empties namespaces that are being deleted, pods first, and then finalizes them
 * (k8s.io/kubernetes/pkg/controller/namespace).
 */

/**
 * Milliseconds between the deletion and the start, so that every API server knows of it
 * (namespaceDeletionGracePeriod).
 */
const graceMs = 5000;

/** Expected lifetime of objects with finalizers, in seconds (finalizerEstimateSeconds). */
const finalizerSeconds = 15;

type Message = readonly [type: string, status: string, reason: string, message: string];

const fine: readonly Message[] = [
  [
    'NamespaceDeletionDiscoveryFailure',
    'False',
    'ResourcesDiscovered',
    'All resources successfully discovered',
  ],
  [
    'NamespaceDeletionGroupVersionParsingFailure',
    'False',
    'ParsedGroupVersions',
    'All legacy kube types successfully parsed',
  ],
  [
    'NamespaceDeletionContentFailure',
    'False',
    'ContentDeleted',
    'All content successfully deleted, may be waiting on finalization',
  ],
  ['NamespaceContentRemaining', 'False', 'ContentRemoved', 'All content successfully removed'],
  [
    'NamespaceFinalizersRemaining',
    'False',
    'ContentHasNoFinalizers',
    'All content-preserving finalizers finished',
  ],
];

/** Remaining objects after a round, and the estimated seconds until they are gone. */
type Remains = {
  readonly left: ReadonlyMap<Resource, number>;
  readonly finalizers: ReadonlyMap<string, number>;
  readonly seconds: number;
};

const nothing: Remains = { left: new Map(), finalizers: new Map(), seconds: 0 };

function graceOf(pods: readonly Stored[], deletedMs: number, nowMs: number): number {
  const graces = pods
    .filter(pod => !isFinished(pod))
    .map(pod => Number(at(pod, 'spec', 'terminationGracePeriodSeconds') ?? 0));
  const longest = Math.max(0, ...graces);
  return nowMs - deletedMs >= longest * 1000 ? 0 : longest;
}

/** Deletes all objects of a resource; returns the remaining ones. */
function clear(cluster: Cluster, resource: Resource, { metadata }: Stored): Remains {
  const { store, writes, nowMs } = cluster;
  const present = store.list(resource, metadata.name);
  if (present.length === 0) return nothing;
  const estimate =
    resource === 'pods'
      ? graceOf(present, Date.parse(metadata.deletionTimestamp ?? ''), nowMs())
      : 0;
  for (const { metadata: one } of present)
    if (one.deletionTimestamp === undefined)
      writes.remove(resource, metadata.name, one.name, {
        uid: one.uid,
        propagationPolicy: 'Background',
      });
  const left = store.list(resource, metadata.name);
  if (left.length === 0) return nothing;
  const finalizers = new Map<string, number>();
  for (const one of left)
    for (const name of one.metadata.finalizers ?? [])
      finalizers.set(name, (finalizers.get(name) ?? 0) + 1);
  const seconds = estimate > 0 ? estimate : finalizers.size > 0 ? finalizerSeconds : 0;
  return { left: new Map([[resource, left.length]]), finalizers, seconds };
}

function together(all: readonly Remains[]): Remains {
  const finalizers = new Map<string, number>();
  for (const one of all)
    for (const [name, count] of one.finalizers)
      finalizers.set(name, (finalizers.get(name) ?? 0) + count);
  return {
    left: new Map(all.flatMap(one => [...one.left])),
    finalizers,
    seconds: Math.max(0, ...all.map(one => one.seconds)),
  };
}

/** Returns `pods.` or `deployments.apps`: the group follows the dot, even if it is empty. */
function shown(resource: Resource): string {
  return resource.includes('.') ? resource : `${resource}.`;
}

function messages({ left, finalizers }: Remains): readonly Message[] {
  const resources = [...left]
    .map(([resource, count]) => `${shown(resource)} has ${count} resource instances`)
    .sort();
  const names = [...finalizers]
    .map(([name, count]) => `${name} in ${count} resource instances`)
    .sort();
  const some: readonly Message[] = [
    ...(resources.length > 0
      ? [
          [
            'NamespaceContentRemaining',
            'True',
            'SomeResourcesRemain',
            `Some resources are remaining: ${resources.join(', ')}`,
          ] as const,
        ]
      : []),
    ...(names.length > 0
      ? [
          [
            'NamespaceFinalizersRemaining',
            'True',
            'SomeFinalizersRemain',
            `Some content in the namespace has finalizers remaining: ${names.join(', ')}`,
          ] as const,
        ]
      : []),
  ];
  return fine.map(one => some.find(([type]) => type === one[0]) ?? one);
}

function report(cluster: Cluster, namespace: Stored, remains: Remains): void {
  const before = conditionsOf(namespace);
  const now = timeText(cluster.nowMs());
  let changed = false;
  const conditions = messages(remains).map(([type, status, reason, message]): JsonObject => {
    const old = conditionOf(before, type);
    if (old?.['status'] === status && old['reason'] === reason && old['message'] === message)
      return old;
    changed = true;
    const lastTransitionTime = old?.['status'] === status ? old['lastTransitionTime'] : now;
    return { type, status, lastTransitionTime, reason, message };
  });
  if (changed)
    cluster.writes.update(
      'namespaces',
      { ...namespace, status: { ...part(namespace, 'status'), conditions } },
      'status',
    );
}

/** Runs one round; returns milliseconds until the next. */
function empty(
  cluster: Cluster,
  namespace: Stored,
  resources: readonly Resource[],
): number | undefined {
  const pods = clear(cluster, 'pods', namespace);
  if (pods.left.size > 0) {
    // As long as there are pods, nothing else is counted, and the conditions report no problem.
    report(cluster, namespace, nothing);
    return durationMs(Math.floor(pods.seconds / 2) + 1);
  }
  const remains = together(
    resources
      .filter(resource => resource !== 'pods')
      .map(resource => clear(cluster, resource, namespace)),
  );
  report(cluster, namespace, remains);
  return remains.left.size > 0 ? (Math.floor(remains.seconds / 2) + 1) * 1000 : undefined;
}

/** Returns the controller, for these resources. */
export function namespaceController(
  resources: () => readonly Resource[],
  finalize: (namespace: Stored) => void,
): Controller {
  return {
    name: 'namespace-controller',
    keysOf: ({ resource, type, object }) =>
      resource === 'namespaces' &&
      type !== 'removed' &&
      object.metadata.deletionTimestamp !== undefined
        ? [object.metadata.name]
        : [],
    reconcile: (name, cluster) => {
      const namespace = cluster.store.get('namespaces', '', name);
      if (namespace?.metadata.deletionTimestamp === undefined) return undefined;
      const early = Date.parse(namespace.metadata.deletionTimestamp) + graceMs - cluster.nowMs();
      if (early > 0) return early;
      const again = empty(cluster, namespace, resources());
      if (again === undefined && Array.isArray(part(namespace, 'spec')['finalizers']))
        finalize(namespace);
      return again;
    },
  };
}
