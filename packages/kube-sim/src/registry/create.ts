import { type JsonObject, sameJson, timeText } from '@drydock/apimachinery';
import {
  alreadyExists,
  applyConflict,
  badRequest,
  type Failure,
  forbidden,
  generatedNameTaken,
  invalid,
  notFound,
} from '../failure.ts';
import {
  type Admitted,
  apiVersionOf,
  type Context,
  type Kind,
  named,
  namedByKind,
} from '../kinds/kind.ts';
import { type Draft, freeze, metaOf, type Stored, text, withMeta } from '../object.ts';
import {
  disputed,
  fieldsOf,
  minus,
  nodeOf,
  overlay,
  prune,
  type SchemaNode,
  union,
} from '../patch/fields.ts';
import {
  beforeFirstApply,
  type Edit,
  isSame,
  type ManagedFieldsEntry,
  manageable,
  managersOf,
  type Refused,
  refused,
  type WriteOptions,
  type WriteResult,
  written,
} from './managed.ts';
import {
  generatedName,
  metadataCauses,
  newUid,
  type RegistryContext,
  readStrictly,
} from './metadata.ts';
import { change } from './update.ts';

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

export type ApplyOptions = WriteOptions & {
  readonly manager: string;
  readonly force: boolean;
  readonly subresource?: 'status';
};

/**
 * Server-side apply: sets the given fields of an object, and removes those that the same manager
 * applied before and no longer does.
 */
export function apply(
  registry: RegistryContext,
  kind: Kind,
  place: { readonly namespace: string; readonly name: string },
  given: JsonObject,
  options: ApplyOptions,
): WriteResult {
  const problem = problemOf(kind, place.name, given);
  if (problem !== undefined) return refused(problem);
  const now = timeText(registry.clock.now());
  const node = nodeOf(kind.shape);
  const config = manageable(given);
  const mine: ManagedFieldsEntry = {
    manager: options.manager,
    operation: 'Apply',
    ...(options.subresource === undefined ? {} : { subresource: options.subresource }),
    apiVersion: apiVersionOf(kind),
    time: now,
    fields: fieldsOf(config, node),
  };
  const { namespace, name } = place;
  if (registry.store.get(kind.resource, namespace, name) !== undefined) {
    return change(
      registry,
      kind,
      namespace,
      name,
      current => merged(current, given, config, { kind, mine, node, force: options.force }),
      {
        ...options,
        keepsManagers: true,
      },
    );
  }
  const metadata = { ...metaOf(given), name };
  return create(registry, kind, { ...given, metadata }, namespace, {
    ...options,
    managedFields: written([mine]) ?? [],
  });
}

function problemOf(kind: Kind, name: string, given: JsonObject): Failure | undefined {
  const own = text(given, 'metadata', 'name');
  if (own !== '' && own !== name)
    return badRequest(
      `the name of the object (${own}) does not match the name on the URL (${name})`,
    );
  if (metaOf(given)['managedFields'] !== undefined)
    return badRequest('metadata.managedFields must be nil');
  if (text(given, 'apiVersion') === '' || text(given, 'kind') === '') {
    return badRequest(
      `failed to create manager for existing fields: Object 'Kind' is missing in '${kind.kind}'`,
    );
  }
  return undefined;
}

type Applying = {
  readonly kind: Kind;
  readonly mine: ManagedFieldsEntry;
  readonly node: SchemaNode;
  readonly force: boolean;
};

function merged(
  current: Stored,
  given: JsonObject,
  config: JsonObject,
  { mine, node, force }: Applying,
): ReturnType<Edit> {
  const known = managersOf(current);
  const entries =
    known.length > 0 ? known : [beforeFirstApply(current, node, mine.apiVersion, mine.time)];
  const others = entries.filter(entry => !isSame(entry, mine));
  const live = manageable(current);
  const conflicts = others.flatMap(entry =>
    disputed(mine.fields, entry.fields, config, live, node).map(field => ({ entry, field })),
  );
  if (conflicts.length > 0 && !force) return refused(conflictOf(conflicts));
  const old = entries.find(entry => isSame(entry, mine));
  const owned = others.reduce((all, entry) => union(all, entry.fields), mine.fields);
  const kept = prune(live, minus(old?.fields ?? {}, owned), node) as JsonObject;
  const wanted = overlay(kept, config, node) as JsonObject;
  // Managers with another value lose the disputed fields; those with the same value share them.
  const losers = new Set(conflicts.map(({ entry }) => entry));
  const left = others.map(entry =>
    losers.has(entry) ? { ...entry, fields: minus(entry.fields, mine.fields) } : entry,
  );
  const own = old !== undefined && sameJson(old.fields, mine.fields) ? old : mine;
  const managedFields = written([...left, own]);
  const { uid, resourceVersion } = metaOf(given);
  return {
    kind: 'edited',
    draft: {
      ...wanted,
      metadata: {
        ...metaOf(wanted),
        name: current.metadata.name,
        ...(typeof uid === 'string' ? { uid } : {}),
        ...(typeof resourceVersion === 'string' ? { resourceVersion } : {}),
        ...(managedFields === undefined ? {} : { managedFields }),
      },
    },
  };
}

type Conflict = { readonly entry: ManagedFieldsEntry; readonly field: string };

function whoOf({ manager, subresource, apiVersion, operation }: ManagedFieldsEntry): string {
  return `${JSON.stringify(manager)}${subresource === undefined ? '' : ` with subresource ${JSON.stringify(subresource)}`}${operation === 'Update' ? ` using ${apiVersion}` : ''}`;
}

/** Upstream: NewConflictError of apimachinery/pkg/util/managedfields/internal. */
function conflictOf(conflicts: readonly Conflict[]): Failure {
  const causes = conflicts.map(({ entry, field }) => ({
    reason: 'FieldManagerConflict',
    message: `conflict with ${whoOf(entry)}`,
    field,
  }));
  const byWho = Map.groupBy(conflicts, ({ entry }) => whoOf(entry));
  const texts = [...byWho].map(([who, found]) =>
    found.length === 1
      ? `conflict with ${who}: ${found[0]?.field ?? ''}`
      : `conflicts with ${who}:\n${found.map(({ field }) => `- ${field}`).join('\n')}`,
  );
  return applyConflict(
    `Apply failed with ${conflicts.length} conflict${conflicts.length === 1 ? '' : 's'}: ${texts.join('\n')}`,
    causes,
  );
}
