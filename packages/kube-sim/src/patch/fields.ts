import { isObject, type Json, type JsonObject, sameJson } from '@drydock/apimachinery';
import type { Shape } from '../kinds/kind.ts';
import { type Field, type FieldType, structNamed } from '../kinds/types.ts';
import { items, objects } from '../object.ts';

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
function elementName(element: JsonObject, keys: readonly string[]): string {
  const values = keys
    .toSorted()
    .map((key): readonly [string, Json] => [key, element[key] ?? defaultOf(key)]);
  return `k:${JSON.stringify(Object.fromEntries(values))}`;
}

/** Returns the default of a key; only the protocol of a port has one. */
function defaultOf(key: string): Json {
  return key === 'protocol' ? 'TCP' : null;
}

/**
 * Sets of fields in managedFields (FieldsV1): a tree of `f:name`, `k:{…}`, `v:…`; an empty object
 * is an owned field.
 */
export type Fields = { readonly [segment: string]: Fields };

function isLeaf(fields: Fields): boolean {
  return Object.keys(fields).length === 0;
}

/** Returns the fields of a value. */
export function fieldsOf(value: Json | undefined, node: SchemaNode): Fields {
  if (node.kind === 'map' && isObject(value)) {
    const members = Object.entries(value).filter(([, member]) => member !== undefined);
    return Object.fromEntries(
      members.map(([key, member]) => [`f:${key}`, fieldsOf(member, node.member(key))]),
    );
  }
  if (node.kind === 'keyed' && Array.isArray(value)) {
    return Object.fromEntries(
      objects(value as readonly Json[]).map(one => [
        elementName(one, node.keys),
        { '.': {}, ...fieldsOf(one, node.element) },
      ]),
    );
  }
  if (node.kind === 'set' && Array.isArray(value)) {
    return Object.fromEntries(
      (value as readonly Json[]).map(one => [`v:${JSON.stringify(one)}`, {}]),
    );
  }
  return {};
}

/** Returns the fields that are in one set and not in the other. */
export function minus(one: Fields, other: Fields): Fields {
  const left: Record<string, Fields> = {};
  for (const [key, inner] of Object.entries(one)) {
    const theirs = other[key];
    if (theirs === undefined) left[key] = inner;
    else if (!isLeaf(inner)) {
      const rest = minus(inner, theirs);
      if (!isLeaf(rest)) left[key] = rest;
    }
  }
  return left;
}

export function union(one: Fields, other: Fields): Fields {
  const all: Record<string, Fields> = { ...one };
  for (const [key, inner] of Object.entries(other)) all[key] = union(all[key] ?? {}, inner);
  return all;
}

/** Returns the value at a segment. */
function step(value: Json | undefined, segment: string, node: SchemaNode): Json | undefined {
  const name = segment.slice(2);
  if (segment.startsWith('f:')) return isObject(value) ? value[name] : undefined;
  if (!Array.isArray(value)) return undefined;
  const list = value as readonly Json[];
  if (segment.startsWith('v:')) return list.find(one => JSON.stringify(one) === name);
  return node.kind === 'keyed'
    ? objects(list).find(one => elementName(one, node.keys) === segment)
    : undefined;
}

function nodeAt(node: SchemaNode, segment: string): SchemaNode {
  if (node.kind === 'map') return node.member(segment.slice(2));
  return node.kind === 'keyed' ? node.element : node;
}

/** Returns a segment as messages contain it: `.name`, `[name="x"]`. */
function shownSegment(segment: string): string {
  if (segment.startsWith('f:')) return `.${segment.slice(2)}`;
  if (segment.startsWith('v:')) return `[=${segment.slice(2)}]`;
  const keys = Object.entries(JSON.parse(segment.slice(2)) as JsonObject);
  return `[${keys.map(([key, value]) => `${key}=${JSON.stringify(value)}`).join(',')}]`;
}

/** Returns the paths in both sets at which the wanted value differs from the present one. */
export function disputed(
  mine: Fields,
  theirs: Fields,
  wanted: Json | undefined,
  live: Json | undefined,
  node: SchemaNode,
  path = '',
): readonly string[] {
  return Object.entries(mine).flatMap(([segment, inner]): readonly string[] => {
    const other = theirs[segment];
    if (other === undefined || segment === '.') return [];
    const [want, have] = [step(wanted, segment, node), step(live, segment, node)];
    const here = path + shownSegment(segment);
    if (isLeaf(inner) && isLeaf(other)) return sameJson(want, have) ? [] : [here];
    // Owning a map itself differs from owning members of it.
    if (isLeaf(inner) || isLeaf(other)) return [];
    return disputed(inner, other, want, have, nodeAt(node, segment), here);
  });
}

/** Returns the fields in which two values differ. */
export function changedFields(
  before: Json | undefined,
  after: Json | undefined,
  node: SchemaNode,
): Fields {
  const changed = (
    fields: Fields,
    one: Json | undefined,
    other: Json | undefined,
    at: SchemaNode,
  ): Fields => {
    const left: Record<string, Fields> = {};
    for (const [segment, inner] of Object.entries(fields)) {
      if (segment === '.') {
        if (one === undefined) left[segment] = {};
        continue;
      }
      const [was, is] = [step(one, segment, at), step(other, segment, at)];
      if (sameJson(was, is)) continue;
      const rest = isLeaf(inner) ? {} : changed(inner, was, is, nodeAt(at, segment));
      if (isLeaf(inner) || !isLeaf(rest)) left[segment] = rest;
    }
    return left;
  };
  return changed(fieldsOf(after, node), before, after, node);
}

/** Merges a wanted value into the present one. */
export function overlay(live: Json | undefined, wanted: Json, node: SchemaNode): Json {
  if (node.kind === 'map' && isObject(wanted)) {
    const result: Record<string, Json | undefined> = isObject(live) ? { ...live } : {};
    for (const [key, value] of Object.entries(wanted)) {
      if (value !== undefined) result[key] = overlay(result[key], value, node.member(key));
    }
    return result;
  }
  if (!Array.isArray(wanted) || !Array.isArray(live)) return wanted;
  const [mine, present] = [wanted as readonly Json[], live as readonly Json[]];
  if (node.kind === 'set')
    return [...present, ...mine.filter(one => !present.some(other => sameJson(one, other)))];
  return node.kind === 'keyed' ? overlayKeyed(objects(present), objects(mine), node) : wanted;
}

function overlayKeyed(
  present: readonly JsonObject[],
  mine: readonly JsonObject[],
  node: Extract<SchemaNode, { readonly kind: 'keyed' }>,
): Json {
  const names = new Map(mine.map(one => [elementName(one, node.keys), one]));
  const kept = present.map(one => {
    const name = elementName(one, node.keys);
    const wanted = names.get(name);
    names.delete(name);
    return wanted === undefined ? one : overlay(one, wanted, node.element);
  });
  return [...kept, ...names.values()];
}

/** Removes fields from a value; a map is removed with its last member. */
export function prune(value: Json | undefined, fields: Fields, node: SchemaNode): Json | undefined {
  if (node.kind === 'map' && isObject(value)) {
    const result: Record<string, Json | undefined> = { ...value };
    for (const [segment, inner] of Object.entries(fields)) {
      const key = segment.slice(2);
      if (isLeaf(inner)) delete result[key];
      else result[key] = prune(result[key], inner, node.member(key));
    }
    return result;
  }
  if (!Array.isArray(value)) return value;
  const list = value as readonly Json[];
  if (node.kind === 'set')
    return list.filter(one => fields[`v:${JSON.stringify(one)}`] === undefined);
  if (node.kind !== 'keyed') return value;
  return objects(list).flatMap((one): readonly Json[] => {
    const inner = fields[elementName(one, node.keys)];
    if (inner === undefined) return [one];
    return inner['.'] !== undefined ? [] : [prune(one, inner, node.element) ?? one];
  });
}
