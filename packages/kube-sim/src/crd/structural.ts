import { isObject, type Json, type JsonObject } from '@drydock/apimachinery';

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
export function pruned(
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
export function defaulted(value: Json, schema: JsonObject | undefined): Json {
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
