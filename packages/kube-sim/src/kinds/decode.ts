import {
  isObject,
  type Json,
  type JsonObject,
  microTimeText,
  readTime,
  timeText,
} from '@drydock/apimachinery';
import { type Draft, ReturnedObject } from '../object.ts';
import { type Field, type FieldType, type Struct, structNamed } from './types.ts';

/**
 * An object as Go would encode it again, with the fields that Go does not know, or the reason why
 * Go cannot decode it.
 */
export type Decoded =
  | { readonly kind: 'decoded'; readonly object: Draft; readonly unknown: readonly string[] }
  | { readonly kind: 'unreadable'; readonly message: string };

/** Thrown within one call of `decode` only. */
class Unreadable extends Error {}

/** Path from the object to one of its values; formatted only when there is an error. */
type Place = {
  readonly unknown: string[];
  readonly above?: Place;
  readonly struct: string;
  readonly step: string | number;
  readonly isField: boolean;
};

/** Returns the full path, with elements of lists and keys of maps: `spec.containers[0].name`. */
function shown({ above, step }: Place): string {
  const before = above === undefined ? '' : shown(above);
  return typeof step === 'number' ? `${before}[${step}]` : within(before, step);
}

/** Returns Go's path, which contains only fields: `spec.containers.name`. */
function fieldsOf({ above, step, isField }: Place): string {
  const before = above === undefined ? '' : fieldsOf(above);
  return isField ? within(before, String(step)) : before;
}

function within(path: string, key: string): string {
  return path === '' || key === '' ? path + key : `${path}.${key}`;
}

/**
 * Decodes an object as encoding/json decodes it into the Go type, and encodes it as Go does: drops
 * unknown fields, and null and zero values of fields that are neither pointers nor required;
 * structs that are not pointers are always present.
 */
export function decode(draft: Draft, struct: string): Decoded {
  const unknown: string[] = [];
  try {
    const object = decodeStruct(draft, structNamed(struct), {
      unknown,
      struct,
      step: '',
      isField: false,
    });
    return { kind: 'decoded', object, unknown };
  } catch (error) {
    if (error instanceof Unreadable) return { kind: 'unreadable', message: error.message };
    throw error;
  }
}

/**
 * Marks a decoded value with its type: the result of a write's steps is decoded once more, and so
 * is every update of another part of the object. Nothing changes the value meanwhile: it is
 * read-only by its type, and frozen once it is stored.
 */
class DecodedAs extends ReturnedObject {
  readonly #type: Struct | FieldType;

  constructor(value: object, type: Struct | FieldType) {
    super(value);
    this.#type = type;
  }

  static is(value: object, type: Struct | FieldType): boolean {
    return #type in value && value.#type === type;
  }
}

/** Results for frozen values: parts that several objects of a copy share are decoded once. */
const decodedFrom = new WeakMap<object, JsonObject | readonly Json[]>();

/**
 * Decodes a value unless it has already been decoded as this type. Values with unknown fields are
 * decoded each time, because these must be reported again.
 */
function once<T extends JsonObject | readonly Json[]>(
  value: T,
  type: Struct | FieldType,
  place: Place,
  make: () => T,
): T {
  if (DecodedAs.is(value, type)) return value;
  const isFrozen = !isPassing(place) && Object.isFrozen(value);
  const known = isFrozen ? decodedFrom.get(value) : undefined;
  if (known !== undefined && DecodedAs.is(known, type)) return known as T;
  const toldBefore = place.unknown.length;
  const result = new DecodedAs(make(), type) as unknown as T;
  if (isFrozen && place.unknown.length === toldBefore) decodedFrom.set(value, result);
  return result;
}

function decodeStruct(value: JsonObject, struct: Struct, place: Place): JsonObject {
  return once(value, struct, place, () => decodeFields(value, struct, place));
}

function decodeFields(value: JsonObject, struct: Struct, place: Place): JsonObject {
  const result: Record<string, Json> = {};
  for (const key of Object.keys(value)) {
    const given = value[key];
    const field = struct.fields.get(key);
    if (field === undefined) {
      if (given !== undefined) place.unknown.push(shown(fieldIn(place, struct, key)));
      continue;
    }
    if (given === null || given === undefined) continue;
    const decoded = decodeField(given, field.type, struct, key, place);
    if (!isLeftOut(decoded, field)) result[key] = decoded;
  }
  for (const [key, field] of struct.filled) {
    if (result[key] !== undefined) continue;
    const zero = field.pointer ? null : zeroOf(field.type, fieldIn(place, struct, key));
    if (zero !== undefined) result[key] = zero;
  }
  return result;
}

/**
 * Returns whether a value hardly ever repeats: the object itself, its metadata and its status,
 * because most writes change version and status.
 */
function isPassing({ step, above }: Place): boolean {
  return (
    above === undefined || (above.above === undefined && (step === 'metadata' || step === 'status'))
  );
}

function fieldIn(above: Place, struct: Struct, key: string): Place {
  return {
    unknown: above.unknown,
    above,
    struct: struct.name,
    step: key,
    isField: true,
  };
}

function elementIn(above: Place, step: string | number): Place {
  return {
    unknown: above.unknown,
    above,
    struct: above.struct,
    step,
    isField: false,
  };
}

/** Decodes a field. Most values are valid scalars: their path is not needed. */
function decodeField(
  value: Json,
  type: FieldType,
  struct: Struct,
  key: string,
  place: Place,
): Json {
  const plain = type.kind === 'scalar' ? decodeScalar(value, type) : undefined;
  return plain === undefined ? decodeValue(value, type, fieldIn(place, struct, key)) : plain;
}

/** Returns whether encoding/json omits a field with omitempty. */
function isLeftOut(value: Json, { type, pointer, always }: Field): boolean {
  if (always || type.kind === 'struct') return false;
  if (type.kind === 'list') return (value as readonly Json[]).length === 0;
  if (type.kind === 'map') return Object.keys(value as JsonObject).length === 0;
  return !pointer && (value === '' || value === 0 || value === false);
}

function zeroOf(type: FieldType, place: Place): Json | undefined {
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
}

function decodeValue(value: Json, type: FieldType, place: Place): Json {
  switch (type.kind) {
    case 'struct':
      if (!isObject(value)) return cannot(value, type, place);
      return decodeStruct(value, structNamed(type.name), place);
    case 'list':
      if (!Array.isArray(value)) return cannot(value, type, place);
      return decodeList(value, type, place);
    case 'map':
      if (!isObject(value)) return cannot(value, type, place);
      return decodeMap(value, type, place);
    default:
      return decodeScalar(value, type) ?? cannot(value, type, place);
  }
}

type Of<K extends FieldType['kind']> = Extract<FieldType, { readonly kind: K }>;

function decodeList(value: readonly Json[], type: Of<'list'>, place: Place): readonly Json[] {
  return once(value, type, place, () =>
    value.map((item, index) => {
      const at = elementIn(place, index);
      return item === null ? (zeroOf(type.of, at) ?? null) : decodeValue(item, type.of, at);
    }),
  );
}

function decodeMap(value: JsonObject, type: Of<'map'>, place: Place): JsonObject {
  return once(value, type, place, () => {
    const result: Record<string, Json> = {};
    for (const key of Object.keys(value)) {
      const given = value[key];
      if (given === undefined) continue;
      const at = elementIn(place, key);
      // A null in a map of strings is an empty string in Go.
      result[key] =
        given === null ? (zeroOf(type.of, at) ?? null) : decodeValue(given, type.of, at);
    }
    return result;
  });
}

/** Decodes a scalar; returns undefined where Go cannot. */
function decodeScalar(value: Json, type: Of<'scalar'>): Json | undefined {
  switch (type.name) {
    case 'string':
    case 'bytes':
      return typeof value === 'string' ? value : undefined;
    case 'int32':
    case 'int64':
      return typeof value === 'number' && Number.isInteger(value) ? value : undefined;
    case 'number':
      return typeof value === 'number' ? value : undefined;
    case 'bool':
      return typeof value === 'boolean' ? value : undefined;
    case 'quantity':
      return typeof value === 'number'
        ? String(value)
        : typeof value === 'string'
          ? quantity(value)
          : undefined;
    case 'intstr':
      return typeof value === 'number' || typeof value === 'string' ? value : undefined;
    case 'time':
    case 'microtime':
      return time(value, type.name);
    case 'any':
      return value;
    default:
      return type.name satisfies never;
  }
}

const layouts = {
  time: '2006-01-02T15:04:05Z07:00',
  microtime: '2006-01-02T15:04:05.000000Z07:00',
} as const;

const wholeSeconds = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;
const micros = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;

function time(value: Json, name: 'time' | 'microtime'): Json | undefined {
  if (typeof value !== 'string') return undefined;
  if ((name === 'time' ? wholeSeconds : micros).test(value)) return value;
  const instant = name === 'microtime' && !/\.\d{6,}/.test(value) ? undefined : readTime(value);
  if (instant === undefined) {
    throw new Unreadable(
      `parsing time "${value}" as "${layouts[name]}": cannot parse ${name === 'microtime' && readTime(value) !== undefined ? `"${value.slice(19)}" as ".000000"` : `"${value}" as "2006"`}`,
    );
  }
  return name === 'time' ? timeText(instant) : microTimeText(instant);
}

const plainQuantity = /^[+-]?\d+$/;

/**
 * Returns the most common of resource.Quantity's canonical forms: whole thousands of milli-units,
 * and no leading plus.
 */
function quantity(text: string): string {
  if (plainQuantity.test(text)) return String(Number(text));
  const milli = /^(\d+)000m$/.exec(text);
  return milli?.[1] ?? text;
}

function goName(type: FieldType): string {
  if (type.kind === 'list') return `[]${goName(type.of)}`;
  if (type.kind === 'map') return `map[string]${goName(type.of)}`;
  if (type.kind === 'struct') return `v1.${type.name.split('.')[1] ?? type.name}`;
  return type.name === 'number' ? 'float64' : type.name;
}

function jsonName(value: Json): string {
  if (Array.isArray(value)) return 'array';
  if (isObject(value)) return 'object';
  return typeof value === 'boolean'
    ? 'bool'
    : typeof value === 'number'
      ? `number${Number.isInteger(value) ? '' : ` ${value}`}`
      : typeof value;
}

function cannot(value: Json, type: FieldType, place: Place): never {
  const struct = place.struct.split('.')[1] ?? place.struct;
  throw new Unreadable(
    `json: cannot unmarshal ${jsonName(value)} into Go struct field ${struct}.${fieldsOf(place)} of type ${goName(type)}`,
  );
}
