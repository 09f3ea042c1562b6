import { type CostMeter, fail, overload } from '../failure.ts';
import { durationText, instantOf, isInt, isUint, readDuration, readTimestamp } from './times.ts';
import {
  Duration,
  List,
  Mapping,
  Optional,
  Quantity,
  Type,
  Uint,
  type Value,
  Version,
} from './values.ts';

/** Conversions, by the names of the types. Upstream: cel-spec, doc/langdef.md, Type Conversions. */

const utf8 = new TextEncoder();
const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function text(bytes: Uint8Array): string {
  try {
    return strictUtf8.decode(bytes);
  } catch {
    return fail('invalid UTF-8 in bytes, cannot convert to string');
  }
}

/** Returns a number without its fraction; fails for infinities and NaN. */
function whole(value: number): bigint {
  return Number.isFinite(value) ? BigInt(Math.trunc(value)) : fail('integer overflow');
}

function digits(value: string, to: string): bigint {
  return /^[+-]?\d{1,20}$/.test(value)
    ? BigInt(value.replace('+', ''))
    : fail(`type conversion error from 'string' to '${to}'`);
}

function toInt(value: Value): bigint {
  const result =
    typeof value === 'bigint'
      ? value
      : value instanceof Uint
        ? value.value
        : typeof value === 'number'
          ? // 2^63 - 1 is not a double: cel-go refuses the two doubles next to the ends.
            Math.abs(value) < 2 ** 63
            ? whole(value)
            : fail('integer overflow')
          : typeof value === 'string'
            ? digits(value, 'int')
            : value instanceof Temporal.Instant
              ? BigInt(Math.floor(value.epochMilliseconds / 1000))
              : value instanceof Duration
                ? value.nanoseconds
                : overload();
  return isInt(result) ? result : fail('integer overflow');
}

function toUint(value: Value): Uint {
  if (value instanceof Uint) return value;
  const result =
    typeof value === 'bigint'
      ? value
      : typeof value === 'number'
        ? value >= 0
          ? whole(value)
          : -1n
        : typeof value === 'string'
          ? digits(value, 'uint')
          : overload();
  return isUint(result) ? new Uint(result) : fail('unsigned integer overflow');
}

const floating = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;
const infinite: Readonly<Record<string, number>> = {
  nan: Number.NaN,
  inf: Infinity,
  infinity: Infinity,
};

function toDouble(value: Value): number {
  if (typeof value === 'number') return value;
  if (typeof value === 'bigint') return Number(value);
  if (value instanceof Uint) return Number(value.value);
  if (typeof value !== 'string') return overload();
  if (value.length <= 400 && floating.test(value)) return Number(value);
  const [, sign, name = ''] = /^([+-]?)(nan|inf|infinity)$/i.exec(value.slice(0, 10)) ?? [];
  const found =
    infinite[name.toLowerCase()] ?? fail(`type conversion error from 'string' to 'double'`);
  return sign === '-' ? -found : found;
}

/** Formats a double as Go's %g: exponents have at least two digits. */
function doubleText(value: number): string {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf';
  if (Object.is(value, -0)) return '-0';
  const [, exponent = '0'] = /e([+-]\d+)$/.exec(value.toExponential()) ?? [];
  const power = Number(exponent);
  // Go uses exponents from 1e+21 on and below 1e-04.
  if (power >= 21 || power < -4) return value.toExponential().replace(/e([+-])(\d)$/, 'e$10$2');
  return String(value);
}

/** Returns the text of a value that has one; undefined for lists, maps and the like. */
export function written(value: Value): string | undefined {
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean' || typeof value === 'bigint') return String(value);
  if (typeof value === 'number') return doubleText(value);
  if (value instanceof Uint) return String(value.value);
  if (value instanceof Temporal.Instant) return value.toString();
  if (value instanceof Duration) return durationText(value);
  return value instanceof Uint8Array ? text(value) : undefined;
}

const truths: ReadonlyMap<string, boolean> = new Map([
  ...['1', 't', 'true', 'TRUE', 'True'].map(word => [word, true] as const),
  ...['0', 'f', 'false', 'FALSE', 'False'].map(word => [word, false] as const),
]);

function toBool(value: Value): boolean {
  return typeof value === 'string'
    ? (truths.get(value) ?? fail(`type conversion error from 'string' to 'bool'`))
    : typeof value === 'boolean'
      ? value
      : overload();
}

function toTimestamp(value: Value): Temporal.Instant {
  if (value instanceof Temporal.Instant) return value;
  return typeof value === 'string'
    ? readTimestamp(value)
    : typeof value === 'bigint'
      ? instantOf(value * 10n ** 9n)
      : overload();
}

function toDuration(value: Value): Duration {
  if (value instanceof Duration) return value;
  return typeof value === 'string'
    ? readDuration(value)
    : typeof value === 'bigint'
      ? new Duration(value)
      : overload();
}

export const typeNames: ReadonlySet<string> = new Set(
  'bool bytes double google.protobuf.Duration google.protobuf.Timestamp int list map null_type optional_type string type uint'.split(
    ' ',
  ),
);

function typeName(value: Value): string {
  if (value === null) return 'null_type';
  if (typeof value === 'boolean') return 'bool';
  if (typeof value === 'bigint') return 'int';
  if (typeof value === 'number') return 'double';
  if (typeof value === 'string') return 'string';
  if (value instanceof Uint) return 'uint';
  if (value instanceof Uint8Array) return 'bytes';
  if (value instanceof List) return 'list';
  if (value instanceof Mapping) return 'map';
  if (value instanceof Temporal.Instant) return 'google.protobuf.Timestamp';
  if (value instanceof Duration) return 'google.protobuf.Duration';
  if (value instanceof Type) return 'type';
  if (value instanceof Optional) return 'optional_type';
  if (value instanceof Quantity) return 'kubernetes.Quantity';
  if (value instanceof Version) return 'kubernetes.Semver';
  return value satisfies never;
}

/** Conversion functions. */
export const conversions: Readonly<Record<string, (value: Value, meter: CostMeter) => Value>> = {
  dyn: value => value,
  type: value => new Type(typeName(value)),
  int: toInt,
  uint: toUint,
  double: toDouble,
  bool: toBool,
  timestamp: toTimestamp,
  duration: toDuration,
  string: (value, meter) => {
    const result = value instanceof Type ? undefined : written(value);
    meter.chargeText(result?.length ?? 0);
    return result ?? overload();
  },
  bytes: (value, meter) => {
    if (value instanceof Uint8Array) return value;
    if (typeof value !== 'string') return overload();
    meter.chargeText(value.length);
    return utf8.encode(value);
  },
};

/** Returns a number of any of the three types; undefined for other values. */
function numeric(value: Value): bigint | number | undefined {
  return typeof value === 'bigint' || typeof value === 'number'
    ? value
    : value instanceof Uint
      ? value.value
      : undefined;
}

function order<T extends bigint | number | string>(one: T, other: T): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

/**
 * Compares numbers; a whole number is converted to a double for comparison with one, as in cel-go.
 */
function numberOrder(one: bigint | number, other: bigint | number): number {
  return typeof one === 'bigint' && typeof other === 'bigint'
    ? order(one, other)
    : order(Number(one), Number(other));
}

/** Compares by code points, where JavaScript compares surrogates: those above U+FFFF come last. */
function textOrder(one: string, other: string): number {
  let at = 0;
  while (at < one.length && at < other.length && one.charCodeAt(at) === other.charCodeAt(at))
    at += 1;
  return order(one.slice(at).codePointAt(0) ?? -1, other.slice(at).codePointAt(0) ?? -1);
}

function bytesOrder(one: Uint8Array, other: Uint8Array): number {
  const at = one.findIndex((byte, index) => byte !== other[index]);
  return at === -1 ? order(one.length, other.length) : order(one[at] ?? 0, other[at] ?? -1);
}

/** Compares two values: negative where the first comes first, NaN where neither does. */
export function compared(one: Value, other: Value, meter: CostMeter): number {
  const [left, right] = [numeric(one), numeric(other)];
  if (left !== undefined && right !== undefined)
    return Number.isNaN(left) || Number.isNaN(right) ? Number.NaN : numberOrder(left, right);
  if (typeof one === 'string' && typeof other === 'string') {
    meter.chargeText(Math.min(one.length, other.length));
    return textOrder(one, other);
  }
  if (one instanceof Uint8Array && other instanceof Uint8Array) {
    meter.chargeText(Math.min(one.length, other.length));
    return bytesOrder(one, other);
  }
  if (typeof one === 'boolean' && typeof other === 'boolean') return Number(one) - Number(other);
  if (one instanceof Temporal.Instant && other instanceof Temporal.Instant)
    return Temporal.Instant.compare(one, other);
  if (one instanceof Duration && other instanceof Duration)
    return order(one.nanoseconds, other.nanoseconds);
  return overload();
}

function sameLists(one: List, other: List, meter: CostMeter): boolean {
  if (one.size !== other.size) return false;
  for (let at = 0; at < one.size; at += 1)
    if (!same(one.at(at) ?? null, other.at(at) ?? null, meter)) return false;
  return true;
}

function sameMappings(one: Mapping, other: Mapping, meter: CostMeter): boolean {
  meter.charge(1 + one.size / 5);
  if (one.size !== other.size) return false;
  for (const key of one.keys()) {
    const [left, right] = [one.get(key), other.get(key)];
    if (left === undefined || right === undefined || !same(left, right, meter)) return false;
  }
  return true;
}

function sameOptionals(one: Optional, other: Optional, meter: CostMeter): boolean {
  return one.value === undefined || other.value === undefined
    ? one.value === other.value
    : same(one.value, other.value, meter);
}

/**
 * Returns whether two values are equal. Values of different types are not; numbers are compared by
 * value, whatever their types.
 */
export function same(one: Value, other: Value, meter: CostMeter): boolean {
  meter.charge(1);
  const [left, right] = [numeric(one), numeric(other)];
  if (left !== undefined && right !== undefined)
    return !Number.isNaN(left) && !Number.isNaN(right) && numberOrder(left, right) === 0;
  if (typeof one === 'string' || typeof one === 'boolean' || one === null) {
    if (typeof one === 'string') meter.chargeText(one.length);
    return one === other;
  }
  if (one instanceof List) return other instanceof List && sameLists(one, other, meter);
  if (one instanceof Mapping) return other instanceof Mapping && sameMappings(one, other, meter);
  if (one instanceof Optional) return other instanceof Optional && sameOptionals(one, other, meter);
  if (one instanceof Type) return other instanceof Type && one.name === other.name;
  if (one instanceof Quantity) return other instanceof Quantity && one.compare(other) === 0;
  if (one instanceof Version) return other instanceof Version && one.compare(other) === 0;
  const isOrdered =
    (one instanceof Uint8Array && other instanceof Uint8Array) ||
    (one instanceof Temporal.Instant && other instanceof Temporal.Instant) ||
    (one instanceof Duration && other instanceof Duration);
  return isOrdered && compared(one, other, meter) === 0;
}
