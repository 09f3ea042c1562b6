import { isObject, type Json, type JsonObject } from '@drydock/apimachinery';
import type { Kind, Shape } from '../kinds/kind.ts';
import { type FieldType, structNamed } from '../kinds/types.ts';

/**
 * Objects with a value in every field that their kind has: for laws over all fields, those of
 * tomorrow included.
 */

/**
 * What a test says about the strings of an object; `path` is like `spec.containers[].name`, the key
 * of a map `metadata.labels{}`.
 */
type Strings = (path: string, choices: readonly string[]) => string;

/** Types that contain themselves end here. */
const deepest = 14;

const instant = '2026-11-20T08:00:00Z';

function scalar(name: string, path: string, strings: Strings): Json {
  switch (name) {
    case 'bool':
      return true;
    case 'int32':
    case 'int64':
    case 'number':
      return 1;
    case 'time':
      return instant;
    case 'microtime':
      return '2026-11-20T08:00:00.000000Z';
    case 'quantity':
      return '1';
    case 'bytes':
      return Buffer.from(strings(path, [])).toString('base64');
    default:
      return strings(path, []);
  }
}

function goValue(type: FieldType, path: string, strings: Strings, depth: number): Json {
  if (depth > deepest) return {};
  switch (type.kind) {
    case 'scalar':
      return scalar(type.name, path, strings);
    case 'list':
      return [goValue(type.of, `${path}[]`, strings, depth + 1)];
    case 'map':
      return { [strings(`${path}{}`, [])]: goValue(type.of, `${path}.*`, strings, depth + 1) };
    case 'struct':
      return goStruct(type.name, path, strings, depth + 1);
    default:
      return type satisfies never;
  }
}

function within(path: string, key: string): string {
  return path === '' ? key : `${path}.${key}`;
}

function goStruct(name: string, path: string, strings: Strings, depth: number): JsonObject {
  return Object.fromEntries(
    [...structNamed(name).fields].map(([key, { type }]) => [
      key,
      goValue(type, within(path, key), strings, depth),
    ]),
  );
}

function schemaObject(schema: JsonObject, path: string, text: Strings, depth: number): JsonObject {
  const { properties, additionalProperties: more } = schema;
  const own = isObject(properties) ? Object.entries(properties) : [];
  const fields = own.map(
    ([key, one]) =>
      [key, schemaValue(isObject(one) ? one : {}, within(path, key), text, depth + 1)] as const,
  );
  const isFree =
    isObject(more) || more === true || schema['x-kubernetes-preserve-unknown-fields'] === true;
  const free = isFree
    ? [
        [
          text(`${path}{}`, []),
          schemaValue(isObject(more) ? more : { type: 'string' }, `${path}.*`, text, depth + 1),
        ] as const,
      ]
    : [];
  return Object.fromEntries([...fields, ...free]);
}

function schemaValue(schema: JsonObject, path: string, text: Strings, depth: number): Json {
  if (depth > deepest) return {};
  if (schema['x-kubernetes-int-or-string'] === true) return text(path, []);
  switch (schema['type']) {
    case 'object':
      return schemaObject(schema, path, text, depth);
    case 'array':
      return [
        schemaValue(isObject(schema['items']) ? schema['items'] : {}, `${path}[]`, text, depth + 1),
      ];
    case 'integer':
    case 'number':
      return typeof schema['minimum'] === 'number' ? Math.max(1, schema['minimum']) : 1;
    case 'boolean':
      return true;
    default:
      if (schema['format'] === 'date-time') return instant;
      return text(
        path,
        Array.isArray(schema['enum']) ? (schema['enum'] as readonly Json[]).map(String) : [],
      );
  }
}

function valueOf(shape: Shape, text: Strings): JsonObject {
  return shape.kind === 'go'
    ? goStruct(shape.struct, '', text, 0)
    : schemaObject(shape.schema, '', text, 0);
}

/** Returns an object of this kind with all of its fields; each string is what `text` says. */
export function fullObject({ group, version, kind, shape }: Kind, text: Strings): JsonObject {
  return {
    ...valueOf(shape, text),
    apiVersion: group === '' ? version : `${group}/${version}`,
    kind,
    metadata: goStruct('meta.ObjectMeta', 'metadata', text, 0),
  };
}
