import { readTime, timeText } from '@drydock/apimachinery';
import { conflict, forbidden, notFound } from '../failure.ts';
import { type Kind, named } from '../kinds/kind.ts';
import {
  at,
  durationMs,
  freeze,
  type ObjectMeta,
  objects,
  part,
  type Stored,
  text,
  without,
} from '../object.ts';
import {
  type DeleteOptions,
  type Deletion,
  type Preconditions,
  type Refused,
  refused,
} from './managed.ts';
import type { RegistryContext } from './metadata.ts';

/**
 * Deletion. Upstream: Store.Delete of apiserver/pkg/registry/generic/registry and
 * rest.BeforeDelete.
 */

/** Returns an error when the object does not meet the preconditions. */
export function unlike(
  kind: Pick<Kind, 'group' | 'kind'>,
  object: Stored,
  wanted: Preconditions | undefined,
): Refused | undefined {
  const { uid, resourceVersion, name } = object.metadata;
  const what = { group: kind.group, resource: kind.kind };
  if (wanted?.uid !== undefined && wanted.uid !== '' && wanted.uid !== uid) {
    const why = `the UID in the precondition (${wanted.uid}) does not match the UID in record (${uid}). The object might have been deleted and then recreated`;
    return refused(conflict(what, name, why));
  }
  if (
    wanted?.resourceVersion !== undefined &&
    wanted.resourceVersion !== '' &&
    wanted.resourceVersion !== resourceVersion
  ) {
    const why = `the ResourceVersion in the precondition (${wanted.resourceVersion}) does not match the ResourceVersion in record (${resourceVersion}). The object might have been modified`;
    return refused(conflict(what, name, why));
  }
  return undefined;
}

/**
 * Returns the grace period of a pod in seconds: its own, the client's, or none when it does not
 * run. Upstream: CheckGracefulDelete of pods.
 */
function graceOf(pod: Stored, options: DeleteOptions): number {
  const own = at(pod, 'spec', 'terminationGracePeriodSeconds');
  const wanted = options.gracePeriodSeconds ?? (typeof own === 'number' ? own : 0);
  const phase = text(pod, 'status', 'phase');
  const nobodyRunsIt =
    text(pod, 'spec', 'nodeName') === '' || phase === 'Succeeded' || phase === 'Failed';
  return nobodyRunsIt ? 0 : wanted < 0 ? 1 : wanted;
}

type Grace =
  | { readonly kind: 'none' }
  /** The object is already terminating and gets no shorter period: nothing changes. */
  | { readonly kind: 'pending' }
  | { readonly kind: 'graceful'; readonly metadata: ObjectMeta; readonly seconds: number };

function shortened(object: Stored, seconds: number): ObjectMeta {
  const end = readTime(object.metadata.deletionTimestamp);
  const begin = end?.subtract({
    milliseconds: durationMs(object.metadata.deletionGracePeriodSeconds ?? 0),
  });
  const moved =
    begin === undefined
      ? object.metadata.deletionTimestamp
      : timeText(begin.add({ milliseconds: durationMs(seconds) }));
  return {
    ...object.metadata,
    ...(moved === undefined ? {} : { deletionTimestamp: moved }),
    deletionGracePeriodSeconds: seconds,
  };
}

function counted({ generation }: ObjectMeta): { readonly generation?: number } {
  return generation === undefined || generation === 0 ? {} : { generation: generation + 1 };
}

function graceFor(
  registry: RegistryContext,
  kind: Kind,
  object: Stored,
  options: DeleteOptions,
): Grace {
  // Of the served kinds only pods are deleted gracefully.
  if (kind.resource !== 'pods') return { kind: 'none' };
  const { deletionTimestamp, deletionGracePeriodSeconds = 0 } = object.metadata;
  if (deletionTimestamp !== undefined) {
    if (deletionGracePeriodSeconds === 0) return { kind: 'none' };
    const wanted = options.gracePeriodSeconds;
    if (wanted === undefined || wanted >= deletionGracePeriodSeconds) return { kind: 'pending' };
    return { kind: 'graceful', metadata: shortened(object, wanted), seconds: wanted };
  }
  const seconds = graceOf(object, options);
  const metadata = {
    ...object.metadata,
    ...counted(object.metadata),
    deletionTimestamp: timeText(registry.clock.now().add({ milliseconds: durationMs(seconds) })),
    deletionGracePeriodSeconds: seconds,
  };
  return { kind: 'graceful', metadata, seconds };
}

const orphan = 'orphan';
const foreground = 'foregroundDeletion';

/**
 * Returns the finalizers for the garbage collector by the client's options. Upstream:
 * deletionFinalizersForGarbageCollection.
 */
function finalizersFor(
  object: Stored,
  { orphanDependents, propagationPolicy }: DeleteOptions,
): readonly string[] {
  const present = object.metadata.finalizers ?? [];
  const others = present.filter(one => one !== orphan && one !== foreground);
  if (orphanDependents !== undefined) return orphanDependents ? [...others, orphan] : others;
  if (propagationPolicy === 'Orphan') return [...others, orphan];
  if (propagationPolicy === 'Foreground') return [...others, foreground];
  return propagationPolicy === 'Background' ? others : present;
}

/** Marks an object as terminating while it has finalizers. Upstream: markAsDeleting. */
function marked(registry: RegistryContext, metadata: ObjectMeta): ObjectMeta {
  if (metadata.deletionTimestamp !== undefined) return metadata;
  return {
    ...metadata,
    ...counted(metadata),
    deletionTimestamp: timeText(registry.clock.now()),
    deletionGracePeriodSeconds: 0,
  };
}

function withFinalizers(metadata: ObjectMeta, finalizers: readonly string[]): ObjectMeta {
  return without({
    ...metadata,
    finalizers: finalizers.length === 0 ? undefined : finalizers,
  }) as ObjectMeta;
}

function sameList(one: readonly string[], other: readonly string[]): boolean {
  return one.join() === other.join();
}

function put(
  registry: RegistryContext,
  kind: Kind,
  object: Stored,
  options: DeleteOptions,
): Stored {
  return options.dryRun === true ? freeze(object) : registry.store.put(kind.resource, object);
}

function gone(
  registry: RegistryContext,
  kind: Kind,
  object: Stored,
  options: DeleteOptions,
): Deletion {
  if (options.dryRun === true) return { kind: 'done', object: freeze(object), gone: true };
  const { namespace = '', name } = object.metadata;
  return {
    kind: 'done',
    object: registry.store.remove(kind.resource, namespace, name) ?? object,
    gone: true,
  };
}

const definitions = 'customresourcedefinitions.apiextensions.k8s.io';
const cleanup = 'customresourcecleanup.apiextensions.k8s.io';

/**
 * Deletes a definition, which waits for the removal of its objects. Upstream: REST.Delete of
 * apiextensions-apiserver/pkg/registry/customresourcedefinition.
 */
function removeDefinition(
  registry: RegistryContext,
  kind: Kind,
  object: Stored,
  options: DeleteOptions,
): Deletion {
  if (object.metadata.deletionTimestamp !== undefined) return { kind: 'done', object, gone: false };
  const now = timeText(registry.clock.now());
  const finalizers = [...finalizersFor(object, options).filter(one => one !== cleanup), cleanup];
  const metadata = withFinalizers({ ...object.metadata, deletionTimestamp: now }, finalizers);
  const terminating = {
    type: 'Terminating',
    status: 'True',
    lastTransitionTime: now,
    reason: 'InstanceDeletionPending',
    message:
      'CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon',
  };
  const status = part(object, 'status');
  const going = {
    ...object,
    metadata,
    status: { ...status, conditions: [...objects(status['conditions']), terminating] },
  };
  return { kind: 'done', object: put(registry, kind, going, options), gone: false };
}

const protectedNamespaces = new Set(['default', 'kube-system', 'kube-public']);

/**
 * Deletes a namespace, which is removed with its finalizers in the spec: the namespace controller
 * empties it first. Upstream: REST.Delete of namespaces.
 */
function removeNamespace(
  registry: RegistryContext,
  kind: Kind,
  object: Stored,
  options: DeleteOptions,
): Deletion {
  const { name, deletionTimestamp } = object.metadata;
  if (protectedNamespaces.has(name))
    return refused(forbidden(named(kind), name, 'this namespace may not be deleted'));
  if (deletionTimestamp !== undefined) {
    const left = at(object, 'spec', 'finalizers');
    if (Array.isArray(left) && left.length > 0) return { kind: 'done', object, gone: false };
    return (object.metadata.finalizers ?? []).length > 0
      ? { kind: 'done', object, gone: false }
      : gone(registry, kind, object, options);
  }
  const metadata = {
    ...object.metadata,
    ...counted(object.metadata),
    deletionTimestamp: timeText(registry.clock.now()),
  };
  const going = {
    ...object,
    metadata: withFinalizers(metadata, finalizersFor(object, options)),
    status: { phase: 'Terminating' },
  };
  return { kind: 'done', object: put(registry, kind, going, options), gone: false };
}

/** Deletes an object: at once, after its grace period, or when its finalizers are removed. */
export function remove(
  registry: RegistryContext,
  kind: Kind,
  namespace: string,
  name: string,
  options: DeleteOptions = {},
): Deletion {
  const object = registry.store.get(kind.resource, kind.namespaced ? namespace : '', name);
  if (object === undefined) return refused(notFound(named(kind), name));
  const other = unlike(kind, object, options.preconditions);
  if (other !== undefined) return other;
  const attempt = {
    operation: 'DELETE',
    of: kind,
    subresource: '',
    namespace: object.metadata.namespace ?? '',
    name,
  } as const;
  const veto = registry.gate?.({
    ...attempt,
    object: undefined,
    before: object,
    dryRun: options.dryRun === true,
  });
  if (veto !== undefined) return veto;
  if (kind.resource === 'namespaces') return removeNamespace(registry, kind, object, options);
  if (kind.resource === definitions) return removeDefinition(registry, kind, object, options);
  const grace = graceFor(registry, kind, object, options);
  if (grace.kind === 'pending') return { kind: 'done', object, gone: false };
  const finalizers = finalizersFor(object, options);
  const metadata = withFinalizers(
    grace.kind === 'graceful' ? grace.metadata : object.metadata,
    finalizers,
  );
  if (finalizers.length > 0) {
    const held = grace.kind === 'graceful' ? metadata : marked(registry, metadata);
    const changed =
      held !== metadata ||
      grace.kind === 'graceful' ||
      !sameList(finalizers, object.metadata.finalizers ?? []);
    return {
      kind: 'done',
      object: changed ? put(registry, kind, { ...object, metadata: held }, options) : object,
      gone: false,
    };
  }
  if (grace.kind === 'graceful' && grace.seconds > 0) {
    return {
      kind: 'done',
      object: put(registry, kind, { ...object, metadata }, options),
      gone: false,
    };
  }
  // With a grace period of zero, the mark is visible before the removal: etcd gets two writes, and
  // so do watchers.
  const last =
    grace.kind === 'graceful' ? put(registry, kind, { ...object, metadata }, options) : object;
  return gone(registry, kind, last, options);
}
