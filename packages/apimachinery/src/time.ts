/** Conversion of times: the API's strings outside, Temporal.Instant inside, always UTC. */

/** First and last moment that RFC 3339 can express: the year has four digits. */
const firstMs = -62_135_596_800_000;
const lastMs = 253_402_300_799_999;

/**
 * Reports whether RFC 3339 can express this moment. Temporal reads years up to 275760, whose sums
 * leave its own range and throw.
 */
function isWritable({ epochMilliseconds }: Temporal.Instant): boolean {
  return epochMilliseconds >= firstMs && epochMilliseconds <= lastMs;
}

/**
 * Reads an RFC 3339 time; undefined for a missing or unreadable one, and for one outside of the
 * years 1 to 9999.
 */
export function readTime(text: unknown): Temporal.Instant | undefined {
  if (typeof text !== 'string' || text === '') return undefined;
  try {
    const time = Temporal.Instant.from(text);
    return isWritable(time) ? time : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Returns the moment at these milliseconds after 1970, or the nearer end of the years 1 to 9999 if
 * it is outside of them. Never throws.
 */
export function instantAt(epochMilliseconds: number): Temporal.Instant {
  return Temporal.Instant.fromEpochMilliseconds(
    Number.isNaN(epochMilliseconds)
      ? 0
      : Math.round(Math.min(Math.max(epochMilliseconds, firstMs), lastMs)),
  );
}

let lastSecond = { second: 0, text: '1970-01-01T00:00:00Z' };

/**
 * Returns a metav1.Time: whole seconds, UTC. The text of the last second is cached, because nearly
 * all calls are for the same second.
 */
export function timeText({
  epochMilliseconds,
}: Pick<Temporal.Instant, 'epochMilliseconds'>): string {
  const second = Math.floor(epochMilliseconds / 1000);
  if (second !== lastSecond.second) {
    const text = Temporal.Instant.fromEpochMilliseconds(second * 1000).toString({
      smallestUnit: 'second',
    });
    lastSecond = { second, text };
  }
  return lastSecond.text;
}

/** Returns a metav1.MicroTime: microseconds, UTC. */
export function microTimeText(instant: Temporal.Instant): string {
  return instant.toString({ smallestUnit: 'microsecond' });
}

/**
 * Returns the moment that many seconds later, earlier for a negative number. It saturates at the
 * ends of the years 1 to 9999 and never throws: foreign numbers, up to the ends of int64, are added
 * to foreign times.
 */
export function secondsAfter(instant: Temporal.Instant, seconds: number): Temporal.Instant {
  return instantAt(
    instant.epochMilliseconds + Math.round(Number.isNaN(seconds) ? 0 : seconds * 1000),
  );
}

/** Returns the seconds from `start` to `end`; negative if `end` comes first. */
export function secondsBetween(start: Temporal.Instant, end: Temporal.Instant): number {
  return (end.epochMilliseconds - start.epochMilliseconds) / 1000;
}

/**
 * Compares by whole milliseconds: ten times faster than a comparison of instants, and no time here
 * is finer.
 */
export function isBefore(one: Temporal.Instant, other: Temporal.Instant): boolean {
  return one.epochMilliseconds < other.epochMilliseconds;
}

/** Returns the earliest of the given moments; undefined if there is none. */
export function earliest(
  moments: Iterable<Temporal.Instant | undefined>,
): Temporal.Instant | undefined {
  let first: Temporal.Instant | undefined;
  for (const moment of moments)
    if (moment !== undefined && (first === undefined || isBefore(moment, first))) first = moment;
  return first;
}

/** Returns the latest of the given moments; undefined if there is none. */
export function latest(moments: Iterable<Temporal.Instant>): Temporal.Instant | undefined {
  let last: Temporal.Instant | undefined;
  for (const moment of moments) if (last === undefined || isBefore(last, moment)) last = moment;
  return last;
}
