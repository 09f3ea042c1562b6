import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { type Json, type JsonObject, microTimeText, timeText } from '@drydock/apimachinery';
import { errorText } from '@drydock/utils';
import { type FieldType, structNamed } from '../kinds/types.ts';
import { numbersOf } from './numbers.ts';

/**
 * An object as JSON, including zero values: decoding by its type drops those that Go would omit.
 */
type Draft = Record<string, Json>;

/** Thrown for invalid bytes; `readMessage` converts it to a value. */
class Malformed extends Error {}

/** Limit of nested messages, above the depth of all types. */
const deepest = 64;

type Place = {
  readonly reader: BinaryReader;
  readonly depth: number /** Name in Go, for messages. */;
  readonly field: string;
};

function bytesIn({ reader, field }: Place, wire: WireType): Uint8Array {
  if (wire !== WireType.LengthDelimited)
    throw new Malformed(`proto: wrong wireType = ${wire} for field ${field}`);
  return reader.bytes();
}

/**
 * Returns the number and the wire type of the next field, with the errors of Go's generated code.
 */
function tagIn({ reader }: Place, type: string): readonly [number: number, wire: WireType] {
  const { pos } = reader;
  const number = reader.uint32() >>> 3;
  reader.pos = pos;
  const name = type.slice(type.indexOf('.') + 1);
  if (number === 0) throw new Malformed(`proto: ${name}: illegal tag 0 (wire type 0)`);
  const [, wire] = reader.tag();
  if (wire === WireType.EndGroup)
    throw new Malformed(`proto: ${name}: wiretype end group for non-group`);
  return [number, wire];
}

/** Returns text as Go has it: invalid UTF-8 becomes replacement characters. */
function textIn(place: Place, wire: WireType): string {
  return Buffer.from(bytesIn(place, wire)).toString('utf8');
}

/** Returns the fields of a message outside Kubernetes' types: the last of each number. */
function looseIn(bytes: Uint8Array): ReadonlyMap<number, bigint | Uint8Array> {
  const reader = new BinaryReader(bytes);
  const found = new Map<number, bigint | Uint8Array>();
  while (reader.pos < reader.len) {
    const [number, wire] = reader.tag();
    if (wire === WireType.Varint) found.set(number, BigInt(reader.int64()));
    else if (wire === WireType.LengthDelimited) found.set(number, reader.bytes());
    else reader.skip(wire);
  }
  return found;
}

function numberOf(value: bigint | Uint8Array | undefined): number {
  return typeof value === 'bigint' ? Number(value) : 0;
}
function stringOf(value: bigint | Uint8Array | undefined): string {
  return value instanceof Uint8Array ? Buffer.from(value).toString('utf8') : '';
}

/** Returns whether a time is in the years 1 to 9999, as RFC 3339 requires. */
function fits(seconds: number): boolean {
  return seconds >= -62_135_596_800 && seconds < 253_402_300_800;
}

/** Reads metav1.Time {seconds, nanos}; an empty one is Go's zero time, which is null in JSON. */
function timeIn(bytes: Uint8Array, micro: boolean): Json {
  if (bytes.length === 0) return null;
  const fields = looseIn(bytes);
  const [seconds, nanos] = [numberOf(fields.get(1)), numberOf(fields.get(2))];
  if (!fits(seconds) || nanos < 0 || nanos > 999_999_999)
    throw new Malformed('a time out of range');
  const time = Temporal.Instant.fromEpochNanoseconds(
    BigInt(seconds) * 1_000_000_000n + BigInt(nanos),
  );
  return micro ? microTimeText(time) : timeText(time);
}

/** Reads intstr.IntOrString {type, intVal, strVal}. */
function intOrStringIn(bytes: Uint8Array): Json {
  const fields = looseIn(bytes);
  return numberOf(fields.get(1)) === 1 ? stringOf(fields.get(3)) : numberOf(fields.get(2));
}

/** Reads RawExtension {raw}, FieldsV1 {Raw}: JSON in bytes. */
function rawIn(bytes: Uint8Array): Json {
  const text = stringOf(looseIn(bytes).get(1));
  if (text === '') return {};
  try {
    return JSON.parse(text) as Json;
  } catch (error) {
    throw new Malformed(errorText(error));
  }
}

function scalarIn(name: string, place: Place, wire: WireType): Json {
  const { reader } = place;
  switch (name) {
    case 'string':
      return textIn(place, wire);
    case 'bytes':
      return Buffer.from(bytesIn(place, wire)).toString('base64');
    case 'time':
    case 'microtime':
      return timeIn(bytesIn(place, wire), name === 'microtime');
    case 'quantity':
      return stringOf(looseIn(bytesIn(place, wire)).get(1));
    case 'intstr':
      return intOrStringIn(bytesIn(place, wire));
    case 'any':
      return rawIn(bytesIn(place, wire));
    default:
      if (wire === WireType.Bit64 && name === 'number') return reader.double();
      if (wire !== WireType.Varint)
        throw new Malformed(`proto: wrong wireType = ${wire} for field ${place.field}`);
      return name === 'bool' ? reader.bool() : Number(reader.int64());
  }
}

function mapIn(of: FieldType, place: Place, wire: WireType): readonly [key: string, value: Json] {
  const bytes = bytesIn(place, wire);
  const inner = insideOf(place, bytes);
  let [key, value]: [string, Json | undefined] = ['', undefined];
  while (inner.reader.pos < inner.reader.len) {
    const [number, wire] = tagIn(inner, '');
    if (number === 1) key = textIn(inner, wire);
    else if (number === 2)
      value = of.kind === 'list' ? listIn(of.of, inner, wire) : valueIn(of, inner, wire);
    else inner.reader.skip(wire);
  }
  return [key, value ?? emptyOf(of)];
}

function emptyOf(type: FieldType): Json {
  return type.kind === 'scalar' ? (type.name === 'string' || type.name === 'bytes' ? '' : 0) : {};
}

/**
 * Reads a list as the value of a map, a message with one field: authorization.ExtraValue {items}.
 */
function listIn(of: FieldType, place: Place, wire: WireType): Json {
  const inner = insideOf(place, bytesIn(place, wire));
  const all: Json[] = [];
  while (inner.reader.pos < inner.reader.len) {
    const [number, wire] = tagIn(inner, '');
    if (number === 1) all.push(valueIn(of, inner, wire));
    else inner.reader.skip(wire);
  }
  return all;
}

function valueIn(type: FieldType, place: Place, wire: WireType): Json {
  if (type.kind === 'scalar') return scalarIn(type.name, place, wire);
  if (type.kind !== 'struct') throw new Malformed('a list in a list');
  return structIn(type.name, insideOf(place, bytesIn(place, wire)), {});
}

/** Returns the elements of a list; numbers may be packed into one field. */
function elementsIn(of: FieldType, place: Place, wire: WireType): readonly Json[] {
  const isNumber = of.kind === 'scalar' && ['int32', 'int64', 'bool'].includes(of.name);
  if (!isNumber || wire !== WireType.LengthDelimited) return [valueIn(of, place, wire)];
  const packed = insideOf(place, place.reader.bytes());
  const all: Json[] = [];
  while (packed.reader.pos < packed.reader.len) all.push(valueIn(of, packed, WireType.Varint));
  return all;
}

function fieldIn(draft: Draft, key: string, type: FieldType, place: Place, wire: WireType): void {
  const before = draft[key];
  if (type.kind === 'list') {
    const list = Array.isArray(before) ? before : [];
    list.push(...elementsIn(type.of, place, wire));
    draft[key] = list;
  } else if (type.kind === 'map') {
    const [name, value] = mapIn(type.of, place, wire);
    const map = (before ?? Object.create(null)) as Draft;
    map[name] = value;
    draft[key] = map;
  } else draft[key] = valueIn(type, place, wire);
}

function insideOf({ depth, field }: Place, bytes: Uint8Array): Place {
  return { reader: new BinaryReader(bytes), depth: depth + 1, field };
}

/** Returns Go's name of a field, as far as its JSON name shows it. */
function goName(key: string): string {
  return key === 'metadata'
    ? 'ObjectMeta'
    : key === 'uid'
      ? 'UID'
      : `${key.charAt(0).toUpperCase()}${key.slice(1)}`;
}

/**
 * Reads one message; `fieldsOf` has the types of its fields, which for an embedded struct are those
 * of the enclosing struct.
 */
function structIn(type: string, place: Place, draft: Draft, fieldsOf = type): Draft {
  if (place.depth > deepest) throw new Malformed(`messages are nested more than ${deepest} deep`);
  const numbers = numbersOf(type);
  const { fields } = structNamed(fieldsOf);
  const { reader } = place;
  while (reader.pos < reader.len) {
    const [number, wire] = tagIn(place, type);
    const found = numbers.get(number);
    if (found === undefined) reader.skip(wire);
    else if (found.kind === 'inline') {
      const named = { ...place, field: found.type.slice(found.type.indexOf('.') + 1) };
      structIn(found.type, insideOf(named, bytesIn(named, wire)), draft, fieldsOf);
    } else {
      const field = fields.get(found.key);
      if (field === undefined) reader.skip(wire);
      else fieldIn(draft, found.key, field.type, { ...place, field: goName(found.key) }, wire);
    }
  }
  return draft;
}

export type DecodedMessage =
  | { readonly kind: 'read'; readonly object: JsonObject }
  | { readonly kind: 'malformed'; readonly why: string };

/**
 * Reads an object of a Kubernetes type from its protobuf; returns the reason when the bytes are
 * invalid. Never throws.
 */
export function readMessage(bytes: Uint8Array, type: string): DecodedMessage {
  try {
    return {
      kind: 'read',
      object: structIn(type, { reader: new BinaryReader(bytes), depth: 0, field: '' }, {}),
    };
  } catch (error) {
    if (error instanceof Malformed) return { kind: 'malformed', why: error.message };
    // Errors of the reader itself: the bytes end too early, or a number has too many bytes.
    return {
      kind: 'malformed',
      why: error instanceof RangeError ? 'unexpected EOF' : 'proto: integer overflow',
    };
  }
}

/** Upstream: apimachinery/pkg/runtime/serializer/protobuf; its messages are the contract. */

/** A runtime.Unknown: its type, and the object's own bytes. */
export type Envelope = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly raw: Uint8Array;
};

export type Opened =
  | { readonly kind: 'opened'; readonly envelope: Envelope }
  | { readonly kind: 'broken'; readonly why: string };

const magic = Buffer.from('k8s\0');

function broken(why: string): Opened {
  return { kind: 'broken', why };
}

function decodeText(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('utf8');
}

/** Returns the bytes fields of a message, the last of each number. */
function bytesFields(bytes: Uint8Array): ReadonlyMap<number, Uint8Array> {
  const reader = new BinaryReader(bytes);
  const found = new Map<number, Uint8Array>();
  while (reader.pos < reader.len) {
    const [number, wire] = reader.tag();
    if (wire === WireType.LengthDelimited) found.set(number, reader.bytes());
    else reader.skip(wire);
  }
  return found;
}

const none = new Uint8Array();

/** Opens the envelope in which Kubernetes' clients send protobuf. Never throws. */
export function openEnvelope(body: Uint8Array): Opened {
  if (body.length === 0) return broken('empty data');
  if (body.length < magic.length || !magic.equals(body.subarray(0, magic.length)))
    return broken(
      `provided data does not appear to be a protobuf message, expected prefix [${[...magic].join(' ')}]`,
    );
  if (body.length === magic.length) return broken('empty body');
  try {
    const fields = bytesFields(body.subarray(magic.length));
    const type = bytesFields(fields.get(1) ?? none);
    const envelope = {
      apiVersion: decodeText(type.get(1) ?? none),
      kind: decodeText(type.get(2) ?? none),
      raw: fields.get(2) ?? none,
    };
    return { kind: 'opened', envelope };
  } catch {
    return broken('unexpected EOF');
  }
}

const maxLength = 30;

/** Returns the part of an invalid body that errors quote: summarizeData. */
export function summarized(body: Uint8Array): string {
  if (body.length === 0) return '<empty>';
  const start = Buffer.from(body.subarray(0, maxLength));
  return `${body[0] === 0x7b ? start.toString('utf8') : start.toString('hex')}${body.length > maxLength ? ' ...' : ''}`;
}
