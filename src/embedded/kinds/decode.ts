import { isObject, type Json, type JsonObject } from '../../core/json.ts';
import { microTimeText, readTime, timeText } from '../../core/time.ts';
import type { Draft } from '../object.ts';
import { type Field, type FieldType, type Struct, structNamed } from './types.ts';

/** An object as Go would write it again, the fields that Go does not know, or why Go cannot read it. */
export type Decoded =
  | { readonly kind: 'decoded'; readonly object: Draft; readonly unknown: readonly string[] }
  | { readonly kind: 'unreadable'; readonly message: string };

/** Thrown inside of one call of `decode` only. */
class Unreadable extends Error {}

type Place = { readonly struct: string; readonly path: string; readonly unknown: string[]; readonly shown: string };

/**
 * Reads an object as encoding/json reads it into the Go type, and writes it as Go does: unknown fields fall away, as do null and zero values
 * of fields that are neither pointers nor required; structs that are no pointers are always there.
 */
export const decode = (draft: Draft, struct: string): Decoded => {
  const unknown: string[] = [];
  try {
    const object = decodeStruct(draft, structNamed(struct), { struct, path: '', unknown, shown: '' });
    return { kind: 'decoded', object, unknown };
  } catch (error) {
    if (error instanceof Unreadable) return { kind: 'unreadable', message: error.message };
    throw error;
  }
};

/** What has been decoded, with its struct: what came out of here and was stored comes again with every update of another part of its object. */
const decodedAs = new WeakMap<object, string>();

const decodeStruct = (value: JsonObject, struct: Struct, place: Place): JsonObject => {
  // Only what is stored is frozen, and nobody can have changed it since.
  if (decodedAs.get(value) === struct.name && Object.isFrozen(value)) return value;
  const result: Record<string, Json> = {};
  for (const key in value) {
    const given = value[key];
    const field = struct.fields.get(key);
    if (field === undefined) {
      if (given !== undefined) place.unknown.push(within(place.shown, key));
      continue;
    }
    if (given === null || given === undefined) continue;
    const decoded = decodeValue(given, field.type, inside(place, struct.name, key));
    if (!isLeftOut(decoded, field)) result[key] = decoded;
  }
  for (const [key, field] of struct.filled) {
    if (result[key] !== undefined) continue;
    const zero = field.pointer ? null : zeroOf(field.type, inside(place, struct.name, key));
    if (zero !== undefined) result[key] = zero;
  }
  decodedAs.set(result, struct.name);
  return result;
};

const within = (path: string, key: string): string => (path === '' ? key : `${path}.${key}`);
const inside = (place: Place, struct: string, key: string): Place => ({
  struct,
  path: within(place.path, key),
  unknown: place.unknown,
  shown: within(place.shown, key),
});

/** What encoding/json leaves out of a field with omitempty. */
const isLeftOut = (value: Json, { type, pointer, always }: Field): boolean => {
  if (always || type.kind === 'struct') return false;
  if (type.kind === 'list') return (value as readonly Json[]).length === 0;
  if (type.kind === 'map') return Object.keys(value as JsonObject).length === 0;
  return !pointer && (value === '' || value === 0 || value === false);
};

const zeroOf = (type: FieldType, place: Place): Json | undefined => {
  if (type.kind === 'struct') return decodeStruct({}, structNamed(type.name), place);
  if (type.kind === 'list' || type.kind === 'map') return null;
  const zeros: Partial<Record<string, Json>> = {
    string: '',
    int32: 0,
    int64: 0,
    number: 0,
    bool: false,
    quantity: '0',
    time: null,
    microtime: null,
  };
  return zeros[type.name];
};

const decodeValue = (value: Json, type: FieldType, place: Place): Json => {
  switch (type.kind) {
    case 'struct':
      if (!isObject(value)) return cannot(value, type, place);
      return decodeStruct(value, structNamed(type.name), place);
    case 'list':
      if (!Array.isArray(value)) return cannot(value, type, place);
      return (value as readonly Json[]).map((item, index) =>
        item === null ? (zeroOf(type.of, place) ?? null) : decodeValue(item, type.of, { ...place, shown: `${place.shown}[${index}]` }),
      );
    case 'map':
      if (!isObject(value)) return cannot(value, type, place);
      return decodeMap(value, type.of, place);
    default:
      return decodeScalar(value, type, place);
  }
};

const decodeMap = (value: JsonObject, of: FieldType, place: Place): JsonObject => {
  const result: Record<string, Json> = {};
  for (const key in value) {
    const given = value[key];
    if (given === undefined) continue;
    // A null in a map of strings is an empty string to Go.
    result[key] = given === null ? (zeroOf(of, place) ?? null) : decodeValue(given, of, { ...place, shown: within(place.shown, key) });
  }
  return result;
};

type ScalarType = Extract<FieldType, { readonly kind: 'scalar' }>;

const decodeScalar = (value: Json, type: ScalarType, place: Place): Json => {
  switch (type.name) {
    case 'string':
    case 'bytes':
      return typeof value === 'string' ? value : cannot(value, type, place);
    case 'int32':
    case 'int64':
      return typeof value === 'number' && Number.isInteger(value) ? value : cannot(value, type, place);
    case 'number':
      return typeof value === 'number' ? value : cannot(value, type, place);
    case 'bool':
      return typeof value === 'boolean' ? value : cannot(value, type, place);
    case 'quantity':
      return typeof value === 'number' ? String(value) : typeof value === 'string' ? quantity(value) : cannot(value, type, place);
    case 'intstr':
      return typeof value === 'number' || typeof value === 'string' ? value : cannot(value, type, place);
    case 'time':
    case 'microtime':
      return time(value, type.name, type, place);
    case 'any':
      return value;
    default:
      return type.name satisfies never;
  }
};

const layouts = { time: '2006-01-02T15:04:05Z07:00', microtime: '2006-01-02T15:04:05.000000Z07:00' } as const;

const wholeSeconds = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;
const micros = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;

const time = (value: Json, name: 'time' | 'microtime', type: ScalarType, place: Place): Json => {
  if (typeof value !== 'string') return cannot(value, type, place);
  if ((name === 'time' ? wholeSeconds : micros).test(value)) return value;
  const instant = name === 'microtime' && !/\.\d{6,}/.test(value) ? undefined : readTime(value);
  if (instant === undefined) {
    throw new Unreadable(
      `parsing time "${value}" as "${layouts[name]}": cannot parse ${name === 'microtime' && readTime(value) !== undefined ? `"${value.slice(19)}" as ".000000"` : `"${value}" as "2006"`}`,
    );
  }
  return name === 'time' ? timeText(instant) : microTimeText(instant);
};

const plainQuantity = /^[+-]?\d+$/;

/** The commonest of resource.Quantity's canonical forms: whole thousands of milli-units, and no leading plus. */
const quantity = (text: string): string => {
  if (plainQuantity.test(text)) return String(Number(text));
  const milli = /^(\d+)000m$/.exec(text);
  return milli?.[1] ?? text;
};

const goName = (type: FieldType): string => {
  if (type.kind === 'list') return `[]${goName(type.of)}`;
  if (type.kind === 'map') return `map[string]${goName(type.of)}`;
  if (type.kind === 'struct') return `v1.${type.name.split('.')[1] ?? type.name}`;
  return type.name === 'number' ? 'float64' : type.name;
};

const jsonName = (value: Json): string => {
  if (Array.isArray(value)) return 'array';
  if (isObject(value)) return 'object';
  return typeof value === 'boolean'
    ? 'bool'
    : typeof value === 'number'
      ? `number${Number.isInteger(value) ? '' : ` ${value}`}`
      : typeof value;
};

const cannot = (value: Json, type: FieldType, place: Place): never => {
  const struct = place.struct.split('.')[1] ?? place.struct;
  throw new Unreadable(`json: cannot unmarshal ${jsonName(value)} into Go struct field ${struct}.${place.path} of type ${goName(type)}`);
};
