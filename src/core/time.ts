/** Times enter as the API's strings and leave as them; inside they are Temporal.Instant, always UTC. */

/** Reads an RFC 3339 time; undefined for a missing or unreadable one. */
export const readTime = (text: unknown): Temporal.Instant | undefined => {
  if (typeof text !== 'string' || text === '') return undefined;
  try {
    return Temporal.Instant.from(text);
  } catch {
    return undefined;
  }
};

let lastSecond = { second: 0, text: '1970-01-01T00:00:00Z' };

/** metav1.Time: whole seconds, UTC. Nearly always it is asked for the second that was asked for last. */
export const timeText = ({ epochMilliseconds }: Pick<Temporal.Instant, 'epochMilliseconds'>): string => {
  const second = Math.floor(epochMilliseconds / 1000);
  if (second !== lastSecond.second) {
    const text = Temporal.Instant.fromEpochMilliseconds(second * 1000).toString({ smallestUnit: 'second' });
    lastSecond = { second, text };
  }
  return lastSecond.text;
};

/** metav1.MicroTime: microseconds, UTC. */
export const microTimeText = (instant: Temporal.Instant): string => instant.toString({ smallestUnit: 'microsecond' });

export const secondsAfter = (instant: Temporal.Instant, seconds: number): Temporal.Instant =>
  Temporal.Instant.fromEpochMilliseconds(instant.epochMilliseconds + Math.round(seconds * 1000));

/** Seconds from `start` to `end`; negative when `end` comes first. */
export const secondsBetween = (start: Temporal.Instant, end: Temporal.Instant): number =>
  (end.epochMilliseconds - start.epochMilliseconds) / 1000;

/** By whole milliseconds: ten times as quick as comparing instants, and nothing here is measured in less. */
export const isBefore = (one: Temporal.Instant, other: Temporal.Instant): boolean => one.epochMilliseconds < other.epochMilliseconds;

/** The earliest of the moments given; undefined when there is none. */
export const earliest = (moments: Iterable<Temporal.Instant | undefined>): Temporal.Instant | undefined => {
  let first: Temporal.Instant | undefined;
  for (const moment of moments) if (moment !== undefined && (first === undefined || isBefore(moment, first))) first = moment;
  return first;
};
