import { isObject, type Json, type JsonObject } from '@drydock/apimachinery';
import { fail } from '../failure.ts';
import { Duration, List, Mapping, type Value } from './values.ts';

/** Ranges of the types `int` and `uint`. */
const smallestInt = -(2n ** 63n);
const largestInt = 2n ** 63n - 1n;
const largestUint = 2n ** 64n - 1n;

export function isInt(value: bigint): boolean {
  return value >= smallestInt && value <= largestInt;
}
export function isUint(value: bigint): boolean {
  return value >= 0n && value <= largestUint;
}

/**
 * Timestamps and durations, both to the nanosecond. Upstream: cel-go, common/types/timestamp.go and
 * duration.go.
 */

const first = Temporal.Instant.from('0001-01-01T00:00:00Z').epochNanoseconds;
const last = Temporal.Instant.from('9999-12-31T23:59:59.999999999Z').epochNanoseconds;

/** Returns a timestamp of the years 1 to 9999. */
export function instantOf(nanoseconds: bigint): Temporal.Instant {
  return nanoseconds < first || nanoseconds > last
    ? fail('timestamp overflow')
    : Temporal.Instant.fromEpochNanoseconds(nanoseconds);
}

/** Returns a duration of at most 292 years, the limit of Go. */
export function durationOf(nanoseconds: bigint): Duration {
  return isInt(nanoseconds) ? new Duration(nanoseconds) : fail('duration overflow');
}

/**
 * RFC 3339 as accepted by Go's time.Parse, which cel-go uses: an hour of one digit and a comma are
 * valid, a leap second is not.
 */
const timestampForm =
  /^(\d{4})-(\d{2})-(\d{2})T(\d{1,2}):(\d{2}):(\d{2})(?:[.,](\d+))?(?:Z|([+-])(\d{2}):(\d{2}))$/;

/** Returns the nanoseconds of an offset; Go accepts 24 hours and 60 minutes. */
function offsetOf(sign: string | undefined, hours: number, minutes: number): bigint | undefined {
  if (hours > 24 || minutes > 60) return undefined;
  const size = BigInt(60 * hours + minutes) * 60n * 10n ** 9n;
  return sign === '-' ? -size : size;
}

/** Returns nanoseconds; digits beyond the ninth are cut off. */
function nanosecondsOf(fraction: string): number {
  return Number(fraction.slice(0, 9).padEnd(9, '0'));
}

function nanosecondsIn(text: string): bigint | undefined {
  const [whole, ...parts] = timestampForm.exec(text) ?? [];
  if (whole === undefined) return undefined;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = parts
    .slice(0, 6)
    .map(Number);
  const [fraction = '', sign, hours = '0', minutes = '0'] = parts.slice(6);
  const offset = offsetOf(sign, Number(hours), Number(minutes));
  if (offset === undefined || second > 59) return undefined;
  try {
    const local = Temporal.PlainDateTime.from(
      { year, month, day, hour, minute, second },
      { overflow: 'reject' },
    );
    return local.toZonedDateTime('UTC').epochNanoseconds + BigInt(nanosecondsOf(fraction)) - offset;
  } catch (error) {
    // The day or time does not exist.
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

export function readTimestamp(text: string): Temporal.Instant {
  const nanoseconds = nanosecondsIn(text);
  if (nanoseconds === undefined)
    return fail(`type conversion error from 'string' to 'google.protobuf.Timestamp'`);
  return instantOf(nanoseconds);
}

const units: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1000n,
  µs: 1000n,
  μs: 1000n,
  ms: 10n ** 6n,
  s: 10n ** 9n,
  m: 60n * 10n ** 9n,
  h: 3600n * 10n ** 9n,
};

/** Parses Go's notation: 1h30m, -1.5s, 0. */
export function readDuration(text: string): Duration {
  const wrong = (): never =>
    fail(`type conversion error from 'string' to 'google.protobuf.Duration'`);
  const [, sign, body = ''] =
    /^([+-]?)((?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+|0)$/.exec(
      text.length > 256 ? '' : text,
    ) ?? wrong();
  let sum = 0n;
  for (const [, whole = '', fraction = '', unit = ''] of body.matchAll(
    /(\d*)\.?(\d*)(ns|us|µs|μs|ms|s|m|h)/g,
  )) {
    const factor = units[unit] ?? 0n;
    sum +=
      BigInt(whole) * factor + (BigInt(`0${fraction}`) * factor) / 10n ** BigInt(fraction.length);
  }
  return durationOf(sign === '-' ? -sum : sum);
}

const billion = 10n ** 9n;

/** Formats a duration in seconds, as protobuf writes it in JSON: 3600s, 0.5s. */
export function durationText({ nanoseconds }: Duration): string {
  const size = nanoseconds < 0n ? -nanoseconds : nanoseconds;
  const fraction = String(size % billion)
    .padStart(9, '0')
    .replace(/0+$/, '');
  return `${nanoseconds < 0n ? '-' : ''}${size / billion}${fraction === '' ? '' : `.${fraction}`}s`;
}

type Part = (time: Temporal.ZonedDateTime) => number;

/**
 * Parts of a timestamp in a time zone, by default UTC. Months, days of the year and getDayOfMonth
 * count from 0.
 */
export const timestampParts: Readonly<Record<string, Part>> = {
  getFullYear: ({ year }) => year,
  getMonth: ({ month }) => month - 1,
  getDate: ({ day }) => day,
  getDayOfMonth: ({ day }) => day - 1,
  getDayOfWeek: ({ dayOfWeek }) => dayOfWeek % 7,
  getDayOfYear: ({ dayOfYear }) => dayOfYear - 1,
  getHours: ({ hour }) => hour,
  getMinutes: ({ minute }) => minute,
  getSeconds: ({ second }) => second,
  getMilliseconds: ({ millisecond }) => millisecond,
};

/** Converts to a time zone by its name, or an offset with or without its sign. */
export function inZone(instant: Temporal.Instant, zone: string): Temporal.ZonedDateTime {
  // Temporal would accept a whole timestamp with a zone too.
  const [, sign = '+', offset, name = ''] =
    /^(?:([+-]?)(\d{2}:\d{2})|([A-Za-z][\w+/-]{0,63}))$/.exec(zone) ?? [];
  try {
    return instant.toZonedDateTimeISO(offset === undefined ? name : `${sign || '+'}${offset}`);
  } catch {
    return fail(`unknown time zone ${zone.slice(0, 64)}`);
  }
}

/** Whole hours, minutes and seconds of a duration, and the milliseconds of its last second. */
export const durationParts: Readonly<Record<string, (duration: Duration) => bigint>> = {
  getHours: ({ nanoseconds }) => nanoseconds / (3600n * billion),
  getMinutes: ({ nanoseconds }) => nanoseconds / (60n * billion),
  getSeconds: ({ nanoseconds }) => nanoseconds / billion,
  getMilliseconds: ({ nanoseconds }) => (nanoseconds % billion) / 1_000_000n,
};

/**
 * A map over a JSON object, converted on access: a node has thousands of fields, an expression
 * needs three.
 */
class JsonMapping extends Mapping {
  readonly #object: JsonObject;
  readonly #schema: JsonObject | undefined;

  constructor(object: JsonObject, schema: JsonObject | undefined) {
    super();
    this.#object = object;
    this.#schema = schema;
  }

  override get size(): number {
    let size = 0;
    for (const key in this.#object) if (this.#object[key] !== undefined) size += 1;
    return size;
  }

  override get(key: Value): Value | undefined {
    if (typeof key !== 'string' || !Object.hasOwn(this.#object, key)) return undefined;
    const value = this.#object[key];
    return value === undefined
      ? undefined
      : fromJson(value, this.#schema && memberSchema(this.#schema, key));
  }

  override *keys(): Iterable<string> {
    for (const key in this.#object) if (this.#object[key] !== undefined) yield key;
  }
}

function memberSchema(schema: JsonObject, key: string): JsonObject | undefined {
  const properties = schema['properties'];
  const own =
    isObject(properties) && Object.hasOwn(properties, key)
      ? properties[key]
      : schema['additionalProperties'];
  return isObject(own) ? own : undefined;
}

/** Conversions of texts by the format in their schema, as in Kubernetes. */
const formats: Readonly<Record<string, (text: string) => Value>> = {
  'date-time': readTimestamp,
  date: text => readTimestamp(`${text}T00:00:00Z`),
  duration: readDuration,
  byte: text => Uint8Array.fromBase64(text),
};

function formatted(text: string, format: string): Value {
  try {
    return (Object.hasOwn(formats, format) && formats[format]?.(text)) || text;
  } catch {
    // Values of another form than their schema are not stored; this is not the place to refuse
    // them.
    return text;
  }
}

/**
 * Converts JSON of the API: a whole number is an `int`, as in Kubernetes. A schema defines which
 * numbers are `double` all the same, and which texts are timestamps, durations and bytes. Upstream:
 * apiserver/pkg/cel/common/values.go.
 */
export function fromJson(json: Json, schema?: JsonObject): Value {
  if (typeof json === 'number')
    return Number.isSafeInteger(json) && schema?.['type'] !== 'number' ? BigInt(json) : json;
  if (typeof json === 'string') {
    const format = schema?.['format'];
    return typeof format === 'string' ? formatted(json, format) : json;
  }
  if (Array.isArray(json)) {
    const items = schema?.['items'];
    return List.reading(json as readonly Json[], item =>
      fromJson(item, isObject(items) ? items : undefined),
    );
  }
  return isObject(json) ? new JsonMapping(json, schema) : (json as null | boolean);
}
