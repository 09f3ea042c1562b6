import { type CostMeter, fail, overload } from '../failure.ts';
import { isInt, isUint } from './numbers.ts';
import { Quantity } from './quantity.ts';
import { Version } from './semver.ts';
import { durationText, instantOf, readDuration, readTimestamp } from './times.ts';
import { Duration, List, Mapping, Optional, Type, Uint, type Value } from './values.ts';

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
