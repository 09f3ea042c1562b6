import { timeText } from '@drydock/apimachinery';
import {
  alreadyExists,
  badRequest,
  forbidden,
  generatedNameTaken,
  invalid,
  notFound,
} from '../failure.ts';
import { type Admitted, type Context, type Kind, named, namedByKind } from '../kinds/kind.ts';
import { type Draft, freeze, metaOf, type Stored, text, withMeta } from '../object.ts';
import { generatedName, newUid, type RegistryContext } from './context.ts';
import { metadataCauses } from './metadata.ts';
import { type Refused, refused, type WriteOptions, type WriteResult } from './outcome.ts';
import { readStrictly } from './read.ts';

/**
 * Returns the error for a namespace that is missing or terminating: admission plugin
 * NamespaceLifecycle.
 */
export function namespaceRefusal(
  { store }: RegistryContext,
  kind: Kind,
  namespace: string,
  name: string,
): Refused | undefined {
  if (!kind.namespaced || namespace === '') return undefined;
  const found = store.get('namespaces', '', namespace);
  if (found === undefined)
    return refused(notFound({ group: '', resource: 'namespaces' }, namespace));
  if (found.metadata.deletionTimestamp === undefined) return undefined;
  const why = `unable to create new content in namespace ${namespace} because it is being terminated`;
  const cause = {
    reason: 'NamespaceTerminating',
    message: `namespace ${namespace} is being terminated`,
    field: 'metadata.namespace',
  };
  return refused(forbidden(named(kind), name, why, [cause]));
}

/**
 * Sets the metadata of a new object: the server's fields replace the client's. Upstream:
 * rest.BeforeCreate, rest.FillObjectMetaSystemFields.
 */
function born(
  kind: Kind,
  draft: Draft,
  namespace: string,
  context: Context,
  registry: RegistryContext,
  options: WriteOptions,
): Draft {
  const { name, generateName } = metaOf(draft);
  const given = typeof name === 'string' ? name : '';
  const base = typeof generateName === 'string' ? generateName : '';
  return withMeta(draft, {
    name: given === '' && base !== '' ? generatedName(base, registry.random) : given,
    namespace: namespace === '' ? undefined : namespace,
    uid: context.uid,
    resourceVersion: undefined,
    generation: kind.strategy.generation === 'counted' ? 1 : undefined,
    creationTimestamp: context.now,
    deletionTimestamp: undefined,
    deletionGracePeriodSeconds: undefined,
    selfLink: undefined,
    managedFields: options.managedFields,
  });
}

/** Runs admission before the name is generated: a refusal contains the generateName. */
function admit(kind: Kind, fresh: Draft, context: Context, generated: boolean): Admitted {
  const { name, generateName } = metaOf(fresh);
  const unnamed = generated ? withMeta(fresh, { name: generateName }) : fresh;
  const admitted = kind.strategy.admit?.(unnamed, undefined, context) ?? {
    kind: 'admitted',
    draft: unnamed,
  };
  return admitted.kind === 'refused' || !generated
    ? admitted
    : { ...admitted, draft: withMeta(admitted.draft, { name }) };
}

type Prepared = {
  readonly kind: 'prepared';
  readonly draft: Draft;
  readonly warnings: readonly string[];
  readonly generated: boolean;
};

/** Runs all steps before the check whether the name is free. */
function prepare(
  registry: RegistryContext,
  kind: Kind,
  given: Draft,
  namespace: string,
  options: WriteOptions,
): Prepared | Refused {
  const read = readStrictly(kind, given, options);
  if (read.kind === 'refused') return read;
  const own = text(read.draft, 'metadata', 'namespace');
  if (own !== '' && own !== namespace && kind.namespaced) {
    return refused(
      badRequest(
        'the namespace of the provided object does not match the namespace sent on the request',
      ),
    );
  }
  const refusal = namespaceRefusal(registry, kind, namespace, text(read.draft, 'metadata', 'name'));
  if (refusal !== undefined) return refusal;
  const { strategy } = kind;
  const context = {
    store: registry.store,
    now: timeText(registry.clock.now()),
    uid: newUid(registry.random),
  };
  const generated =
    text(read.draft, 'metadata', 'name') === '' &&
    text(read.draft, 'metadata', 'generateName') !== '';
  const fresh = born(
    kind,
    strategy.defaults?.(read.draft) ?? read.draft,
    kind.namespaced ? namespace : '',
    context,
    registry,
    options,
  );
  const admitted = admit(kind, fresh, context, generated);
  if (admitted.kind === 'refused') return admitted;
  const draft = strategy.creating?.(admitted.draft, context) ?? admitted.draft;
  const causes = [
    ...metadataCauses(kind, draft),
    ...(strategy.validate?.(draft) ?? []),
    ...(strategy.validateCreate?.(draft) ?? []),
  ];
  if (causes.length > 0)
    return refused(
      invalid(namedByKind(kind), text(draft, 'metadata', 'name'), causes),
      read.warnings,
    );
  return { kind: 'prepared', draft, warnings: read.warnings, generated };
}

/**
 * Creates an object as the API server does: decoded into its type, defaulted, admitted, validated,
 * stored. Upstream: Store.Create of apiserver/pkg/registry/generic/registry.
 */
export function create(
  registry: RegistryContext,
  kind: Kind,
  given: Draft,
  namespace: string,
  options: WriteOptions = {},
): WriteResult {
  const prepared = prepare(registry, kind, given, namespace, options);
  if (prepared.kind === 'refused') return prepared;
  const { draft, warnings, generated } = prepared;
  const name = text(draft, 'metadata', 'name');
  const place = kind.namespaced ? namespace : '';
  const attempt = {
    operation: 'CREATE',
    of: kind,
    subresource: '',
    namespace: place,
    name,
    object: draft,
    before: undefined,
  } as const;
  const veto = registry.gate?.({ ...attempt, dryRun: options.dryRun === true });
  if (veto !== undefined) return veto;
  if (registry.store.get(kind.resource, place, name) !== undefined) {
    return refused((generated ? generatedNameTaken : alreadyExists)(named(kind), name));
  }
  // The result of the steps is decoded once more, so that it is stored as Go would write it.
  const read = kind.read(draft);
  if (read.kind === 'unreadable')
    throw new Error(`a new ${kind.kind} cannot be read: ${read.message}`);
  const object = read.object as Stored;
  const stored =
    options.dryRun === true ? freeze(object) : registry.store.put(kind.resource, object);
  return { kind: 'done', object: stored, created: true, warnings };
}
