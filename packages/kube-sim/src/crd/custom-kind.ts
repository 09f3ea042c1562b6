import { isObject, type Json, type JsonObject } from '@drydock/apimachinery';
import type { Cause } from '../failure.ts';
import { decode } from '../kinds/decode.ts';
import {
  ageOf,
  type Column,
  type Kind,
  nameColumn,
  type ReadObject,
  resourceOf,
  type ScalePaths,
  type Strategy,
} from '../kinds/kind.ts';
import { at, type Draft, items, metaOf, objects, part, text, without } from '../object.ts';
import { compile, type Rules, ruleCauses } from './rules.ts';
import { follow, readPath, schemaCauses } from './validate.ts';

/** Pruning and defaulting by a structural schema: apiextensions-apiserver/pkg/apiserver/schema. */

function sub(schema: JsonObject | undefined, key: string): JsonObject | undefined {
  const properties = schema?.['properties'];
  const own = isObject(properties) ? properties[key] : undefined;
  if (isObject(own)) return own;
  const additional = schema?.['additionalProperties'];
  return isObject(additional) ? additional : undefined;
}

function keepsAll(schema: JsonObject | undefined): boolean {
  return (
    schema?.['x-kubernetes-preserve-unknown-fields'] === true ||
    schema?.['additionalProperties'] === true
  );
}

/** Fields of every object, whatever its schema. */
const ofObjects = new Set(['apiVersion', 'kind', 'metadata']);

/** Returns a value without fields that are not in its schema; adds their paths to `unknown`. */
function pruned(
  value: Json,
  schema: JsonObject | undefined,
  unknown: string[],
  path = '',
  root = false,
): Json {
  if (Array.isArray(value)) {
    const items = schema?.['items'];
    return (value as readonly Json[]).map((one, index) =>
      pruned(one, isObject(items) ? items : undefined, unknown, `${path}[${index}]`),
    );
  }
  // Validation reports a wrong type.
  if (!isObject(value) || schema === undefined || schema['x-kubernetes-int-or-string'] === true)
    return value;
  const result: Record<string, Json> = {};
  for (const [key, member] of Object.entries(value)) {
    if (member === undefined) continue;
    const inner = sub(schema, key);
    const here = path === '' ? key : `${path}.${key}`;
    const embedded = root || schema['x-kubernetes-embedded-resource'] === true;
    if (embedded && ofObjects.has(key)) result[key] = member;
    else if (inner !== undefined) result[key] = pruned(member, inner, unknown, here);
    else if (keepsAll(schema)) result[key] = member;
    else unknown.push(here);
  }
  return result;
}

/**
 * Returns a value with the schema's defaults for missing fields, and for nulls where the field is
 * not nullable.
 */
function defaulted(value: Json, schema: JsonObject | undefined): Json {
  if (schema === undefined) return value;
  if (Array.isArray(value)) {
    const items = schema['items'];
    return (value as readonly Json[]).map(one =>
      defaulted(one, isObject(items) ? items : undefined),
    );
  }
  if (!isObject(value)) return value;
  const result: Record<string, Json> = {};
  for (const [key, member] of Object.entries(value)) {
    if (member === undefined) continue;
    const inner = sub(schema, key);
    const dropsNull = member === null && inner !== undefined && inner['nullable'] !== true;
    if (!dropsNull) result[key] = defaulted(member, inner);
  }
  const properties = isObject(schema['properties']) ? schema['properties'] : {};
  for (const [key, inner] of Object.entries(properties)) {
    const standard = isObject(inner) ? inner['default'] : undefined;
    if (result[key] === undefined && standard !== undefined)
      result[key] = defaulted(standard, isObject(inner) ? inner : undefined);
  }
  return result;
}

const blocking = new Set([
  'FieldValueNotSupported',
  'FieldValueRequired',
  'FieldValueTooLong',
  'FieldValueTooMany',
  'FieldValueTypeInvalid',
]);

const unchecked: Cause = {
  reason: 'FieldValueInvalid',
  message:
    'Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation',
  field: '<nil>',
};

/**
 * Returns all errors of an object. Rules are evaluated only when the object has the types that they
 * expect.
 */
function causesOf(
  draft: Draft,
  before: Draft | undefined,
  schema: JsonObject,
  rules: Rules | undefined,
): readonly Cause[] {
  const body = without(draft, 'metadata');
  const causes = schemaCauses(body, without(schema, 'metadata'), '').filter(
    ({ field }) => field !== 'metadata',
  );
  if (rules === undefined) return causes;
  if (causes.some(({ reason }) => blocking.has(reason ?? ''))) return [...causes, unchecked];
  return [...causes, ...ruleCauses(rules, draft, before, '')];
}

function hasStatus(version: JsonObject): boolean {
  return at(version, 'subresources', 'status') !== undefined;
}

function strategyOf(version: JsonObject, schema: JsonObject, rules: Rules | undefined): Strategy {
  const status = hasStatus(version);
  return {
    generation: 'counted',
    needsVersion: true,
    defaults: draft => defaulted(draft, schema) as Draft,
    // With a status subresource, the status is written only through it.
    ...(status && { creating: (draft: Draft) => without(draft, 'status') }),
    updatingStatus: (draft, before) => ({
      ...before,
      ...(draft['status'] === undefined ? { status: undefined } : { status: draft['status'] }),
      metadata: { ...before.metadata, managedFields: metaOf(draft)['managedFields'] },
    }),
    // Rules see the former object: an update is not also validated as a creation.
    validateCreate: draft => causesOf(draft, undefined, schema, rules),
    validateUpdate: (draft, before) => causesOf(draft, before, schema, rules),
    validateStatus: (draft, before) => causesOf(draft, before, schema, rules),
  };
}

/** Returns a reader of objects: metadata as for all kinds, the rest by the schema. */
function reader(schema: JsonObject, stored: JsonObject) {
  return (draft: Draft): ReadObject => {
    const metadata = decode(metaOf(draft), 'meta.ObjectMeta');
    if (metadata.kind === 'unreadable') return metadata;
    const unknown: string[] = [];
    const own = pruned(
      without(draft, 'apiVersion', 'kind', 'metadata'),
      schema,
      unknown,
      '',
      true,
    ) as JsonObject;
    // The stored version may differ, and may lack fields.
    const body = stored === schema ? own : (pruned(own, stored, [], '', true) as JsonObject);
    return {
      kind: 'read',
      object: { metadata: metadata.object, ...body },
      unknown: [...metadata.unknown.map(field => `metadata.${field}`), ...unknown],
    };
  };
}

function cellOf(type: string, path: string): Column['cell'] {
  const steps = readPath(path) ?? [];
  return (object, now): Json => {
    const value = follow(object, steps);
    if (value === undefined || value === null) return null;
    if (type === 'date') return ageOf(value, now);
    if (type === 'string') return typeof value === 'string' ? value : JSON.stringify(value);
    const fits = type === 'boolean' ? typeof value === 'boolean' : typeof value === 'number';
    return fits ? value : null;
  };
}

const ageColumn: Column = {
  name: 'Age',
  type: 'date',
  format: '',
  description:
    'CreationTimestamp is a timestamp representing the server time when this object was created. It is not guaranteed to be set in happens-before order across separate operations. Clients may not set this value. It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata',
  priority: 0,
  cell: (object, now) => ageOf(object.metadata.creationTimestamp, now),
};

function columnsOf(version: JsonObject): readonly Column[] {
  const given = objects(version['additionalPrinterColumns']).map((column): Column => {
    const [name, type, path] = [
      text(column, 'name'),
      text(column, 'type'),
      text(column, 'jsonPath'),
    ];
    return {
      name,
      type,
      format: text(column, 'format'),
      description:
        text(column, 'description') ||
        `Custom resource definition column (in JSONPath format): ${path}`,
      priority: typeof column['priority'] === 'number' ? column['priority'] : 0,
      cell: cellOf(type, path),
    };
  });
  return [nameColumn, ...(given.length === 0 ? [ageColumn] : given)];
}

function scaleOf(version: JsonObject): { readonly scale?: ScalePaths } {
  const scale = part(version, 'subresources', 'scale');
  const path = (key: string): readonly string[] => text(scale, key).split('.').slice(1);
  if (Object.keys(scale).length === 0) return {};
  const selector =
    text(scale, 'labelSelectorPath') === '' ? {} : { selector: path('labelSelectorPath') };
  return {
    scale: { spec: path('specReplicasPath'), status: path('statusReplicasPath'), ...selector },
  };
}

/** Returns the schema of a version; without one, every object is valid. */
export function schemaOf(version: JsonObject): JsonObject {
  return part(version, 'schema', 'openAPIV3Schema');
}

/** Returns the kinds that a definition serves, the stored version first. */
export function kindsOf(definition: Draft): readonly Kind[] {
  const spec = part(definition, 'spec');
  const names = part(spec, 'names');
  const group = text(spec, 'group');
  const kind = text(names, 'kind');
  const versions = objects(spec['versions']).toSorted(
    (one, other) => Number(other['storage'] === true) - Number(one['storage'] === true),
  );
  const served = versions.filter(version => version['served'] === true);
  return served.map(version => {
    const schema = schemaOf(version);
    const rules = compile(schema, '', []);
    return {
      group,
      version: text(version, 'name'),
      kind,
      listKind: text(names, 'listKind') || `${kind}List`,
      plural: text(names, 'plural'),
      singular: text(names, 'singular') || kind.toLowerCase(),
      shortNames: items(names['shortNames']).map(String),
      categories: items(names['categories']).map(String),
      namespaced: spec['scope'] === 'Namespaced',
      resource: resourceOf(group, text(names, 'plural')),
      status: hasStatus(version),
      ...scaleOf(version),
      selectable: objects(version['selectableFields']).map(field =>
        text(field, 'jsonPath').replace(/^\./, ''),
      ),
      columns: columnsOf(version),
      answersDeletionWithObject: false,
      read: reader(schema, versions[0] === version ? schema : schemaOf(versions[0] ?? version)),
      strategy: strategyOf(version, schema, rules),
      shape: { kind: 'schema', schema },
    } satisfies Kind;
  });
}
