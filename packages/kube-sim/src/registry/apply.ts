import { type JsonObject, sameJson, timeText } from '@drydock/apimachinery';
import { applyConflict, badRequest, type Failure } from '../failure.ts';
import { apiVersionOf, type Kind } from '../kinds/kind.ts';
import { metaOf, type Stored, text } from '../object.ts';
import { disputed, fieldsOf, minus, overlay, prune, union } from '../patch/fields.ts';
import { nodeOf, type SchemaNode } from '../patch/shape.ts';
import type { RegistryContext } from './context.ts';
import { create } from './create.ts';
import {
  beforeFirstApply,
  isSame,
  type ManagedFieldsEntry,
  manageable,
  managersOf,
  written,
} from './managed.ts';
import { type Edit, refused, type WriteOptions, type WriteResult } from './outcome.ts';
import { change } from './update.ts';

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
