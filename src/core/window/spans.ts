import { Cron } from 'croner';
import { isBefore, secondsAfter } from '../time.ts';
import type { Opening, Span } from './window.ts';

/** Sets of time: sorted, without overlaps. */

const later = (one: Temporal.Instant, other: Temporal.Instant): Temporal.Instant => (isBefore(one, other) ? other : one);
const sooner = (one: Temporal.Instant, other: Temporal.Instant): Temporal.Instant => (isBefore(one, other) ? one : other);

const isSpan = ({ from, to }: Span): boolean => isBefore(from, to);

/** All of them as one set. */
export const union = (spans: readonly Span[]): readonly Span[] => {
  const merged: Span[] = [];
  for (const span of spans.filter(isSpan).toSorted((one, other) => Temporal.Instant.compare(one.from, other.from))) {
    const last = merged.at(-1);
    if (last === undefined || isBefore(last.to, span.from)) merged.push(span);
    else merged[merged.length - 1] = { from: last.from, to: later(last.to, span.to) };
  }
  return merged;
};

const without = (span: Span, hole: Span): readonly Span[] =>
  [
    { from: span.from, to: sooner(span.to, hole.from) },
    { from: later(span.from, hole.to), to: span.to },
  ].filter(isSpan);

/** What is left of the spans outside the holes. */
export const minus = (spans: readonly Span[], holes: readonly Span[]): readonly Span[] => {
  let left = spans;
  for (const hole of holes) left = left.flatMap(span => without(span, hole));
  return left;
};

/** An opening that begins every minute would go on for ever: this many of one rule are looked at. */
const mostOfARule = 1000;

const readers = new Map<string, Cron>();

/** Reading an expression costs as much as a hundred questions to it; there are few. */
const reader = (cron: string, timeZone: string): Cron => {
  const key = `${timeZone} ${cron}`;
  const known = readers.get(key);
  if (known !== undefined) return known;
  const fresh = new Cron(cron, { timezone: timeZone, paused: true, mode: '5-part' });
  if (readers.size > 1000) readers.clear();
  readers.set(key, fresh);
  return fresh;
};

/** Why a cron expression or a time zone cannot be used; undefined when they can. */
export const cronProblem = (cron: string, timeZone: string): string | undefined => {
  try {
    const next = reader(cron, timeZone).nextRun(new Date(0));
    return next === null ? `cron "${cron}" never comes true` : undefined;
  } catch (error) {
    const said = error instanceof Error ? error.message.replace(/^CronPattern: /, '') : String(error);
    return `cron "${cron}" cannot be read: ${said}`;
  }
};

const repeated = ({ cron, seconds }: Exclude<Opening, Span>, timeZone: string, { from, to }: Span): readonly Span[] => {
  const found: Span[] = [];
  const rule = reader(cron, timeZone);
  // One that began before is still open: nextRun is strictly after what it is given.
  let last = new Date(from.epochMilliseconds - seconds * 1000);
  while (found.length < mostOfARule) {
    const next = rule.nextRun(last);
    if (next === null || next.getTime() >= to.epochMilliseconds) return found;
    const begin = Temporal.Instant.fromEpochMilliseconds(next.getTime());
    found.push({ from: begin, to: secondsAfter(begin, seconds) });
    last = next;
  }
  return found;
};

/**
 * When an opening is open within `range`. Its duration is real time: four hours are four hours on every day of the year. A rule for a time
 * that a day does not have (clocks go forward) begins when the clocks have gone forward; one for a time that a day has twice (clocks go back)
 * begins at the first of them, and once.
 */
export const spansOf = (opening: Opening, timeZone: string, range: Span): readonly Span[] =>
  'cron' in opening
    ? repeated(opening, timeZone, range)
    : isBefore(opening.from, range.to) && isBefore(range.from, opening.to)
      ? [opening]
      : [];
