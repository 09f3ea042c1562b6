import { sameJson, timeText } from '@drydock/apimachinery';
import {
  badRequest,
  type Cause,
  conflict,
  invalid,
  modifiedMeanwhile,
  notFound,
  unnamed,
  wrong,
} from '../failure.ts';
import { apiVersionOf, type Context, type Kind, named, namedByKind } from '../kinds/kind.ts';
import {
  at,
  type Draft,
  freeze,
  items,
  metaOf,
  type Stored,
  text,
  withMeta,
  without,
} from '../object.ts';
import { nodeOf } from '../patch/fields.ts';
import {
  afterUpdate,
  type Edit,
  type Refused,
  refused,
  type WriteOptions,
  type WriteResult,
  written,
} from './managed.ts';
import {
  metadataCauses,
  metadataUpdateCauses,
  type RegistryContext,
  readStrictly,
} from './metadata.ts';

export type UpdateOptions = WriteOptions & {
  /**
   * Part of the object that may change; when left out, the whole except its status (all of it,
   * without a status subresource).
   */
  readonly subresource?: 'status';
  /** Whether the draft results from a patch: a UID in it is a change, not a precondition. */
  readonly patched?: true;
};

/** Updates managed fields after a write other than an apply: see managed.ts. */
function withManagers(
  draft: Draft,
  before: Stored,
  kind: Kind,
  now: string,
  options: UpdateOptions,
): Draft {
  if (options.keepsManagers === true) return draft;
  if (before.metadata['managedFields'] === undefined)
    return withMeta(draft, { managedFields: undefined });
  const { manager = 'unknown', subresource } = options;
  const by = {
    manager,
    operation: 'Update' as const,
    apiVersion: apiVersionOf(kind),
    time: now,
    ...(subresource && { subresource }),
  };
  return withMeta(draft, {
    managedFields: written(afterUpdate(before, draft, by, nodeOf(kind.shape))),
  });
}

/** Restores the fields that a client may not change. Upstream: rest.BeforeUpdate. */
function kept(draft: Draft, before: Stored): Draft {
  const {
    generation,
    creationTimestamp,
    uid,
    deletionTimestamp,
    deletionGracePeriodSeconds,
    namespace,
  } = before.metadata;
  return withMeta(draft, {
    name: text(draft, 'metadata', 'name') || before.metadata.name,
    namespace,
    uid,
    creationTimestamp,
    generation,
    deletionTimestamp,
    deletionGracePeriodSeconds,
    resourceVersion: before.metadata.resourceVersion,
    selfLink: undefined,
  });
}

function withStatusOf(draft: Draft, before: Stored): Draft {
  return without({ ...draft, status: before['status'] });
}

/** Returns everything but metadata and status, the part that generations count. */
function specOf(object: Draft): Draft {
  return without(object, 'metadata', 'status');
}

function sameAnnotations(object: Draft, before: Stored): boolean {
  return sameJson(metaOf(object)['annotations'] ?? {}, before.metadata.annotations ?? {});
}

function merged(
  kind: Kind,
  read: Draft,
  before: Stored,
  context: Context,
  options: UpdateOptions,
): Draft {
  const { strategy } = kind;
  const safe = kept(read, before);
  const defaulted = strategy.defaults?.(safe) ?? safe;
  if (options.subresource === 'status') {
    return (
      strategy.updatingStatus?.(defaulted, before, context) ?? {
        ...before,
        status: defaulted['status'],
        metadata: metaOf(defaulted),
      }
    );
  }
  const whole = kind.status ? withStatusOf(defaulted, before) : defaulted;
  const changed = strategy.updating?.(whole, before, context) ?? whole;
  const isSame =
    sameJson(specOf(changed), specOf(before)) &&
    (strategy.countsAnnotations !== true || sameAnnotations(changed, before));
  if (strategy.generation === 'none' || isSame) return changed;
  return withMeta(changed, { generation: (before.metadata.generation ?? 0) + 1 });
}

/** Returns the key of an object in etcd, which the real server's messages contain. */
function etcdKey(kind: Kind, { metadata }: Stored): string {
  const place =
    kind.shape.kind === 'schema'
      ? `${kind.group}/${kind.plural}`
      : kind.resource === 'nodes'
        ? 'minions'
        : kind.plural;
  return [
    '/registry',
    place,
    ...(metadata.namespace === undefined ? [] : [metadata.namespace]),
    metadata.name,
  ].join('/');
}

/**
 * Checks that a version or UID in the draft is the stored one. Upstream: Store.Update and
 * rest.DefaultUpdatedObjectInfo.
 */
function precondition(
  kind: Kind,
  draft: Draft,
  before: Stored,
  options: UpdateOptions,
): Refused | undefined {
  const { uid, resourceVersion } = metaOf(draft);
  const { name, namespace } = before.metadata;
  const [own, place] = [text(draft, 'metadata', 'name'), text(draft, 'metadata', 'namespace')];
  if (own !== '' && own !== name)
    return refused(
      badRequest(`the name of the object (${own}) does not match the name on the URL (${name})`),
    );
  if (kind.namespaced && place !== '' && place !== namespace) {
    return refused(
      badRequest(
        'the namespace of the provided object does not match the namespace sent on the request',
      ),
    );
  }
  if (options.patched === true && typeof uid === 'string' && uid !== before.metadata.uid) {
    return refused(
      invalid(namedByKind(kind), name, [wrong('metadata.uid', uid, 'field is immutable')]),
    );
  }
  if (typeof uid === 'string' && uid !== '' && uid !== before.metadata.uid) {
    const failed = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${before.metadata.uid}`;
    const why = `StorageError: invalid object, Code: 4, Key: ${etcdKey(kind, before)}, ResourceVersion: 0, AdditionalErrorMsg: ${failed}`;
    return refused(conflict(named(kind), name, why));
  }
  if (
    typeof resourceVersion !== 'string' ||
    resourceVersion === '' ||
    resourceVersion === before.metadata.resourceVersion
  )
    return undefined;
  if (!/^[0-9]+$/.test(resourceVersion)) {
    return refused(
      unnamed(500, `strconv.ParseUint: parsing ${JSON.stringify(resourceVersion)}: invalid syntax`),
    );
  }
  return refused(conflict(named(kind), name, modifiedMeanwhile));
}

/**
 * Returns whether the last finalizer of a deleted object is removed, and no grace period is
 * running: ShouldDeleteDuringUpdate. Namespaces have more.
 */
function isDone(kind: Kind, after: Draft, before: Stored): boolean {
  const finalizers = [
    ...items(metaOf(after)['finalizers']),
    ...(kind.resource === 'namespaces' ? items(at(after, 'spec', 'finalizers')) : []),
  ];
  const { deletionTimestamp, deletionGracePeriodSeconds = 0 } = before.metadata;
  return (
    deletionTimestamp !== undefined && deletionGracePeriodSeconds === 0 && finalizers.length === 0
  );
}

function stored(
  registry: RegistryContext,
  kind: Kind,
  object: Stored,
  before: Stored,
  dryRun: boolean,
): Stored {
  if (sameJson(object, before)) return before;
  if (dryRun) return freeze(object);
  if (!isDone(kind, object, before)) return registry.store.put(kind.resource, object);
  const { namespace = '', name, resourceVersion } = object.metadata;
  const last = registry.store.remove(kind.resource, namespace, name);
  // The response is the object as the client wanted it; watchers see the removal of the stored one.
  return freeze({
    ...object,
    metadata: {
      ...object.metadata,
      resourceVersion: last?.metadata.resourceVersion ?? resourceVersion,
    },
  });
}

/** Returns the errors of a change. */
function updateCauses(
  kind: Kind,
  object: Stored,
  before: Stored,
  isStatus: boolean,
): readonly Cause[] {
  const { strategy } = kind;
  const own = isStatus ? strategy.validateStatus : strategy.validateUpdate;
  const whole = isStatus ? [] : (strategy.validate?.(object) ?? []);
  const specific = own?.(object, before) ?? [];
  return [
    ...metadataCauses(kind, object, before.metadata),
    ...metadataUpdateCauses(object, before),
    ...(own === undefined ? whole : merge(whole, specific)),
  ];
}

function asked(
  registry: RegistryContext,
  kind: Kind,
  object: Stored,
  before: Stored,
  options: UpdateOptions,
): Refused | undefined {
  return registry.gate?.({
    operation: 'UPDATE',
    of: kind,
    subresource: options.subresource ?? '',
    namespace: before.metadata.namespace ?? '',
    name: before.metadata.name,
    object,
    before,
    dryRun: options.dryRun === true,
  });
}

/**
 * Changes an object in one step: no other write intervenes, so an edit without a version never
 * meets a conflict. Upstream: Store.Update of apiserver/pkg/registry/generic/registry.
 */
export function change(
  registry: RegistryContext,
  kind: Kind,
  namespace: string,
  name: string,
  edit: Edit,
  options: UpdateOptions = {},
): WriteResult {
  const before = registry.store.get(kind.resource, kind.namespaced ? namespace : '', name);
  if (before === undefined) return refused(notFound(named(kind), name));
  const edited = edit(before);
  if (edited.kind === 'refused') return edited;
  const read = readStrictly(kind, edited.draft, options, options.patched === true);
  if (read.kind === 'refused') return read;
  const unlike = precondition(kind, read.draft, before, options);
  if (unlike !== undefined) return unlike;
  const context = {
    store: registry.store,
    now: timeText(registry.clock.now()),
    uid: before.metadata.uid,
  };
  const draft = merged(kind, read.draft, before, context, options);
  const { strategy } = kind;
  const admitted = strategy.admit?.(draft, before, context) ?? { kind: 'admitted', draft };
  if (admitted.kind === 'refused') return admitted;
  const again = kind.read(withManagers(admitted.draft, before, kind, context.now, options));
  if (again.kind === 'unreadable')
    throw new Error(`a changed ${kind.kind} cannot be read: ${again.message}`);
  const object = again.object as Stored;
  const causes = updateCauses(kind, object, before, options.subresource === 'status');
  if (causes.length > 0) return refused(invalid(namedByKind(kind), name, causes), read.warnings);
  const veto = asked(registry, kind, object, before, options);
  if (veto !== undefined) return veto;
  return {
    kind: 'done',
    object: stored(registry, kind, object, before, options.dryRun === true),
    created: false,
    warnings: read.warnings,
  };
}

/** Merges two lists without duplicates. */
function merge<T extends { readonly message: string; readonly field?: string }>(
  one: readonly T[],
  other: readonly T[],
): readonly T[] {
  return [
    ...one,
    ...other.filter(
      cause =>
        !one.some(({ message, field }) => message === cause.message && field === cause.field),
    ),
  ];
}

/** Replaces an object: PUT. The name in it must be the one in the path. */
export function replace(
  registry: RegistryContext,
  kind: Kind,
  namespace: string,
  name: string,
  draft: Draft,
  options: UpdateOptions = {},
): WriteResult {
  const own = text(draft, 'metadata', 'name');
  if (own !== name) {
    return refused(
      badRequest(
        own === ''
          ? `the name of the object (${name} based on URL) was undeterminable: name must be provided`
          : `the name of the object (${own}) does not match the name on the URL (${name})`,
      ),
    );
  }
  const { resourceVersion = '' } = metaOf(draft);
  const edit: Edit = () => {
    if (resourceVersion !== '' || kind.strategy.needsVersion !== true)
      return { kind: 'edited', draft };
    const cause = wrong('metadata.resourceVersion', 0, 'must be specified for an update');
    return refused(invalid(named(kind), name, [cause]));
  };
  return change(registry, kind, namespace, name, edit, options);
}
