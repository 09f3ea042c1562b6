import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { type FieldType, structNamed } from '../kinds/types.ts';
import { numbersOf, typeOfKind } from '../protobuf/numbers.ts';

/**
 * Writes Kubernetes' protobuf, by the same tables by which the embedded API server reads it: that
 * they are right is what the real server says of what is written here.
 */

type Fields = Readonly<Record<string, unknown>>;

/** What stands in no protobuf: the case sends it as JSON then. */
class NotWritable extends Error {}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function message(write: (writer: BinaryWriter) => void): Uint8Array {
  const writer = new BinaryWriter();
  write(writer);
  return writer.finish();
}

function timeOf(text: unknown): Uint8Array {
  if (text === null) return new Uint8Array();
  if (typeof text !== 'string' || Number.isNaN(Date.parse(text))) throw new NotWritable('a time');
  const nanoseconds = Temporal.Instant.from(text).epochNanoseconds;
  const seconds = Temporal.Instant.from(text).epochMilliseconds;
  return message(writer =>
    writer
      .tag(1, WireType.Varint)
      .int64(Math.floor(seconds / 1000))
      .tag(2, WireType.Varint)
      .int32(Number(nanoseconds % 1_000_000_000n)),
  );
}

function intOrStringOf(value: unknown): Uint8Array {
  return message(writer => {
    const isText = typeof value === 'string';
    writer.tag(1, WireType.Varint).int64(isText ? 1 : 0);
    writer.tag(2, WireType.Varint).int32(isText ? 0 : Number(value));
    writer.tag(3, WireType.LengthDelimited).string(isText ? value : '');
  });
}

function writeScalar(writer: BinaryWriter, number: number, name: string, value: unknown): void {
  const bytes = (content: Uint8Array): void =>
    void writer.tag(number, WireType.LengthDelimited).bytes(content);
  switch (name) {
    case 'string':
    case 'quantity': {
      if (typeof value !== 'string' && !(name === 'quantity' && typeof value === 'number'))
        throw new NotWritable(name);
      const text = String(value);
      return bytes(
        name === 'string'
          ? Buffer.from(text)
          : message(inner => inner.tag(1, WireType.LengthDelimited).string(text)),
      );
    }
    case 'bytes':
      return bytes(Buffer.from(String(value), 'base64'));
    case 'time':
    case 'microtime':
      return bytes(timeOf(value));
    case 'intstr':
      return bytes(intOrStringOf(value));
    case 'any':
      return bytes(
        message(inner => inner.tag(1, WireType.LengthDelimited).string(JSON.stringify(value))),
      );
    case 'bool':
      if (typeof value !== 'boolean') throw new NotWritable(name);
      return void writer.tag(number, WireType.Varint).bool(value);
    default:
      if (!Number.isSafeInteger(value)) throw new NotWritable(name);
      return void writer.tag(number, WireType.Varint).int64(Number(value));
  }
}

function writeEntry(
  writer: BinaryWriter,
  number: number,
  of: FieldType,
  key: string,
  value: unknown,
): void {
  const entry = message(inner => {
    inner.tag(1, WireType.LengthDelimited).string(key);
    if (of.kind === 'list') {
      const items = message(list => {
        for (const one of value as readonly unknown[]) writeValue(list, 1, of.of, one);
      });
      inner.tag(2, WireType.LengthDelimited).bytes(items);
    } else writeValue(inner, 2, of, value);
  });
  writer.tag(number, WireType.LengthDelimited).bytes(entry);
}

function writeValue(writer: BinaryWriter, number: number, type: FieldType, value: unknown): void {
  if (type.kind === 'scalar') return writeScalar(writer, number, type.name, value);
  if (type.kind === 'list') {
    if (!Array.isArray(value)) throw new NotWritable('a list');
    for (const one of value) writeValue(writer, number, type.of, one);
    return;
  }
  if (!isFields(value)) throw new NotWritable('an object');
  if (type.kind === 'map') {
    for (const [key, one] of Object.entries(value)) writeEntry(writer, number, type.of, key, one);
    return;
  }
  writer.tag(number, WireType.LengthDelimited).bytes(messageOf(type.name, value));
}

function messageOf(type: string, fields: Fields, fieldsOf = type): Uint8Array {
  return message(writer => {
    for (const [number, found] of numbersOf(type)) {
      if (found.kind === 'inline') {
        const inner = messageOf(found.type, fields, fieldsOf);
        // An embedded struct is always written, as Go does.
        writer.tag(number, WireType.LengthDelimited).bytes(inner);
        continue;
      }
      const value = fields[found.key];
      const field = structNamed(fieldsOf).fields.get(found.key);
      if (value !== undefined && value !== null && field !== undefined)
        writeValue(writer, number, field.type, value);
    }
  });
}

/** runtime.Unknown behind its magic number. */
export function envelope(apiVersion: string, kind: string, raw: Uint8Array): Uint8Array {
  const unknown = message(writer =>
    writer
      .tag(1, WireType.LengthDelimited)
      .bytes(
        message(type =>
          type
            .tag(1, WireType.LengthDelimited)
            .string(apiVersion)
            .tag(2, WireType.LengthDelimited)
            .string(kind),
        ),
      )
      .tag(2, WireType.LengthDelimited)
      .bytes(raw)
      .tag(3, WireType.LengthDelimited)
      .string('')
      .tag(4, WireType.LengthDelimited)
      .string(''),
  );
  return Buffer.concat([Buffer.from('k8s\0'), unknown]);
}

/**
 * The object as clients of Kubernetes send it; undefined for what has no protobuf, or what only
 * JSON can say.
 */
export function protobufOf(object: unknown): Uint8Array | undefined {
  if (!isFields(object)) return undefined;
  const { apiVersion, kind } = object;
  if (typeof apiVersion !== 'string' || typeof kind !== 'string') return undefined;
  const type = typeOfKind(apiVersion, kind);
  if (type === undefined) return undefined;
  try {
    return envelope(apiVersion, kind, messageOf(type, object));
  } catch (error) {
    if (error instanceof NotWritable) return undefined;
    throw error;
  }
}
