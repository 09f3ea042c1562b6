import { isObject, type Json, type JsonObject } from '@drydock/apimachinery';
import type { Shape } from '../kinds/kind.ts';
import { type Field, type FieldType, structNamed } from '../kinds/types.ts';
import { items } from '../object.ts';

/**
 * Structure of a value for server-side apply: parts that are owned whole, and parts that are owned
 * piece by piece.
 */
export type SchemaNode =
  /** A scalar, or an atomic value. */
  | { readonly kind: 'leaf' }
  | { readonly kind: 'map'; readonly member: (key: string) => SchemaNode }
  /** A list whose elements are identified by some of their members. */
  | { readonly kind: 'keyed'; readonly keys: readonly string[]; readonly element: SchemaNode }
  /** A list of scalars that is a set. */
  | { readonly kind: 'set' };

const leaf: SchemaNode = { kind: 'leaf' };

function nodeOfType(type: FieldType): SchemaNode {
  if (type.kind === 'struct') return structNode(type.name);
  if (type.kind !== 'map') return leaf;
  const member = nodeOfType(type.of);
  return { kind: 'map', member: () => member };
}

function nodeOfField(field: Field | undefined): SchemaNode {
  if (field === undefined || field.atomic) return leaf;
  if (field.type.kind !== 'list') return nodeOfType(field.type);
  if (field.keys !== undefined)
    return { kind: 'keyed', keys: field.keys, element: nodeOfType(field.type.of) };
  return field.set ? { kind: 'set' } : leaf;
}

function structNode(name: string): SchemaNode {
  return { kind: 'map', member: key => nodeOfField(structNamed(name).fields.get(key)) };
}

function schemaNode(schema: JsonObject): SchemaNode {
  const member = (key: string): SchemaNode => {
    const properties = schema['properties'];
    const own = isObject(properties) ? properties[key] : undefined;
    const additional = schema['additionalProperties'];
    const found = isObject(own) ? own : isObject(additional) ? additional : undefined;
    return found === undefined ? leaf : schemaNode(found);
  };
  if (schema['type'] === 'object')
    return schema['x-kubernetes-map-type'] === 'atomic' ? leaf : { kind: 'map', member };
  if (schema['type'] !== 'array') return leaf;
  const type = schema['x-kubernetes-list-type'];
  const element = isObject(schema['items']) ? schemaNode(schema['items']) : leaf;
  if (type === 'map')
    return {
      kind: 'keyed',
      keys: items(schema['x-kubernetes-list-map-keys']).map(String),
      element,
    };
  return type === 'set' ? { kind: 'set' } : leaf;
}

/**
 * Returns the structure of a kind's objects. The metadata of custom resources is that of all kinds.
 */
export function nodeOf(shape: Shape): SchemaNode {
  if (shape.kind === 'go') return structNode(shape.struct);
  const own = schemaNode(shape.schema);
  const metadata = structNode('meta.ObjectMeta');
  return {
    kind: 'map',
    member: key => (key === 'metadata' ? metadata : own.kind === 'map' ? own.member(key) : leaf),
  };
}

/**
 * Returns the name of a keyed element in a set of fields: `k:{"name":"x"}`. Upstream sorts the
 * keys.
 */
export function elementName(element: JsonObject, keys: readonly string[]): string {
  const values = keys
    .toSorted()
    .map((key): readonly [string, Json] => [key, element[key] ?? defaultOf(key)]);
  return `k:${JSON.stringify(Object.fromEntries(values))}`;
}

/** Returns the default of a key; only the protocol of a port has one. */
function defaultOf(key: string): Json {
  return key === 'protocol' ? 'TCP' : null;
}
