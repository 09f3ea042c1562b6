import type { JsonObject } from '@drydock/apimachinery';
import type { Failure } from '../failure.ts';
import { at, type Draft, objects, part, type Stored, text, without } from '../object.ts';
import {
  changedFields,
  type Fields,
  fieldsOf,
  minus,
  type SchemaNode,
  union,
} from '../patch/fields.ts';

/**
 * Manager of fields. The API server keeps managers for every object; here they are kept from the
 * first server-side apply of an object on, when they begin to matter. Before that an object has no
 * managedFields at all.
 */
export type Manager = {
  readonly manager: string;
  readonly operation: 'Apply' | 'Update';
  readonly subresource?: string;
};

export type ManagedFieldsEntry = Manager & {
  readonly apiVersion: string;
  readonly time: string;
  readonly fields: Fields;
};

export function managersOf(object: JsonObject | undefined): readonly ManagedFieldsEntry[] {
  return objects(at(object, 'metadata', 'managedFields')).map(entry => ({
    manager: text(entry, 'manager'),
    operation: entry['operation'] === 'Apply' ? 'Apply' : 'Update',
    ...(text(entry, 'subresource') === '' ? {} : { subresource: text(entry, 'subresource') }),
    apiVersion: text(entry, 'apiVersion'),
    time: text(entry, 'time'),
    fields: part(entry, 'fieldsV1') as unknown as Fields,
  }));
}

/** Returns the entries for the metadata; undefined when there are none. */
export function written(entries: readonly ManagedFieldsEntry[]): readonly JsonObject[] | undefined {
  const left = entries.filter(({ fields }) => Object.keys(fields).length > 0);
  if (left.length === 0) return undefined;
  return left.map(({ manager, operation, apiVersion, time, fields, subresource }) => ({
    manager,
    operation,
    apiVersion,
    time,
    fieldsType: 'FieldsV1',
    fieldsV1: fields as unknown as JsonObject,
    ...(subresource === undefined ? {} : { subresource }),
  }));
}

export function isSame(one: Manager, other: Manager): boolean {
  return (
    one.manager === other.manager &&
    one.operation === other.operation &&
    one.subresource === other.subresource
  );
}

const ofServer = [
  'name',
  'namespace',
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'managedFields',
  'selfLink',
] as const;

/** Returns an object without unmanaged fields. */
export function manageable(object: JsonObject): JsonObject {
  const metadata = without(part(object, 'metadata'), ...ofServer);
  const rest = without(object, 'apiVersion', 'kind', 'metadata');
  return Object.keys(metadata).length === 0 ? rest : { ...rest, metadata };
}

/** Returns the entry for the time before the first apply: all fields of the object. */
export function beforeFirstApply(
  live: Stored,
  node: SchemaNode,
  apiVersion: string,
  time: string,
): ManagedFieldsEntry {
  return {
    manager: 'before-first-apply',
    operation: 'Update',
    apiVersion,
    time,
    fields: fieldsOf(without(manageable(live), 'status'), node),
  };
}

/** Returns the managers after an update: changed fields belong to the updater alone. */
export function afterUpdate(
  before: Stored,
  after: JsonObject,
  by: Omit<ManagedFieldsEntry, 'fields'>,
  node: SchemaNode,
): readonly ManagedFieldsEntry[] {
  const entries = managersOf(before);
  const changed = changedFields(manageable(before), manageable(after), node);
  if (Object.keys(changed).length === 0) return entries;
  const others = entries
    .filter(entry => !isSame(entry, by))
    .map(entry => ({ ...entry, fields: minus(entry.fields, changed) }));
  const own = entries.find(entry => isSame(entry, by));
  return [...others, { ...by, fields: union(own?.fields ?? {}, changed) }];
}

/** Result of a write. */
export type WriteResult =
  | {
      readonly kind: 'done';
      readonly object: Stored;
      readonly created: boolean;
      readonly warnings: readonly string[];
    }
  | Refused;

export type Refused = {
  readonly kind: 'refused';
  readonly failure: Failure;
  readonly warnings?: readonly string[];
};

/**
 * Result of a deletion: removed, or terminating (finalizers, grace period). `object` is the last
 * state for watchers.
 */
export type Deletion =
  | { readonly kind: 'done'; readonly object: Stored; readonly gone: boolean }
  | Refused;

export type Preconditions = { readonly uid?: string; readonly resourceVersion?: string };

/** metav1.DeleteOptions. */
export type DeleteOptions = {
  readonly gracePeriodSeconds?: number;
  readonly propagationPolicy?: 'Orphan' | 'Background' | 'Foreground';
  readonly orphanDependents?: boolean;
  readonly preconditions?: Preconditions;
  readonly dryRun?: boolean;
};

export type WriteOptions = {
  /** Whether nothing may be written. */
  readonly dryRun?: boolean;
  /** Treatment of unknown fields: ignored, a warning, or an error. `Warn` when left out. */
  readonly fieldValidation?: 'Ignore' | 'Warn' | 'Strict';
  /** Field manager; `unknown` when left out. */
  readonly manager?: string;
  /** Managed fields of a new object that is applied. */
  readonly managedFields?: readonly JsonObject[];
  /** Whether the edit has already updated managedFields. */
  readonly keepsManagers?: boolean;
};

/** Returns the wanted object for the present one, or refuses. */
export type Edit = (
  current: Stored,
) => { readonly kind: 'edited'; readonly draft: Draft } | Refused;

export function refused(failure: Failure, warnings?: readonly string[]): Refused {
  return {
    kind: 'refused',
    failure,
    ...(warnings && { warnings }),
  };
}
