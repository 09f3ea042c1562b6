import { fail } from '../failure.ts';
import { isInt } from './numbers.ts';
import { Duration } from './values.ts';

/** Timestamps and durations, both to the nanosecond. Upstream: cel-go, common/types/timestamp.go and duration.go. */

const first = Temporal.Instant.from('0001-01-01T00:00:00Z').epochNanoseconds;
const last = Temporal.Instant.from('9999-12-31T23:59:59.999999999Z').epochNanoseconds;

/** A timestamp of the years 1 to 9999. */
export const instantOf = (nanoseconds: bigint): Temporal.Instant =>
  nanoseconds < first || nanoseconds > last ? fail('timestamp overflow') : Temporal.Instant.fromEpochNanoseconds(nanoseconds);

/** A duration of at most 292 years, as Go has it. */
export const durationOf = (nanoseconds: bigint): Duration => (isInt(nanoseconds) ? new Duration(nanoseconds) : fail('duration overflow'));

const timestampForm = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})$/;

export const readTimestamp = (text: string): Temporal.Instant => {
  if (!timestampForm.test(text)) return fail(`type conversion error from 'string' to 'google.protobuf.Timestamp'`);
  let read: Temporal.Instant;
  try {
    read = Temporal.Instant.from(text);
  } catch {
    return fail(`type conversion error from 'string' to 'google.protobuf.Timestamp'`);
  }
  return instantOf(read.epochNanoseconds);
};

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

/** Go's notation: 1h30m, -1.5s, 0. */
export const readDuration = (text: string): Duration => {
  const wrong = (): never => fail(`type conversion error from 'string' to 'google.protobuf.Duration'`);
  const [, sign, body = ''] =
    /^([+-]?)((?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+|0)$/.exec(text.length > 256 ? '' : text) ?? wrong();
  let sum = 0n;
  for (const [, whole = '', fraction = '', unit = ''] of body.matchAll(/(\d*)\.?(\d*)(ns|us|µs|μs|ms|s|m|h)/g)) {
    const factor = units[unit] ?? 0n;
    sum += BigInt(whole) * factor + (BigInt(`0${fraction}`) * factor) / 10n ** BigInt(fraction.length);
  }
  return durationOf(sign === '-' ? -sum : sum);
};

const billion = 10n ** 9n;

/** A duration in seconds, as protobuf writes it in JSON: 3600s, 0.5s. */
export const durationText = ({ nanoseconds }: Duration): string => {
  const size = nanoseconds < 0n ? -nanoseconds : nanoseconds;
  const fraction = String(size % billion)
    .padStart(9, '0')
    .replace(/0+$/, '');
  return `${nanoseconds < 0n ? '-' : ''}${size / billion}${fraction === '' ? '' : `.${fraction}`}s`;
};

type Part = (time: Temporal.ZonedDateTime) => number;

/** The parts of a timestamp in a time zone, UTC where none is given. Months, days of the year and getDayOfMonth count from 0. */
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

/** A time zone by its name, or as an offset with or without its sign. */
export const inZone = (instant: Temporal.Instant, zone: string): Temporal.ZonedDateTime => {
  // Temporal would read the zone of a whole timestamp too.
  const [, sign = '+', offset, name = ''] = /^(?:([+-]?)(\d{2}:\d{2})|([A-Za-z][\w+/-]{0,63}))$/.exec(zone) ?? [];
  try {
    return instant.toZonedDateTimeISO(offset === undefined ? name : `${sign || '+'}${offset}`);
  } catch {
    return fail(`unknown time zone ${zone.slice(0, 64)}`);
  }
};

/** Whole hours, minutes and seconds of a duration, and the milliseconds of its last second. */
export const durationParts: Readonly<Record<string, (duration: Duration) => bigint>> = {
  getHours: ({ nanoseconds }) => nanoseconds / (3600n * billion),
  getMinutes: ({ nanoseconds }) => nanoseconds / (60n * billion),
  getSeconds: ({ nanoseconds }) => nanoseconds / billion,
  getMilliseconds: ({ nanoseconds }) => (nanoseconds % billion) / 1_000_000n,
};
