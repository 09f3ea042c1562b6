import {
  instantAt,
  isBefore,
  type JsonObject,
  type LabelSelector,
  type Labels,
  matches,
} from '@drydock/apimachinery';
import { Cron } from 'croner';
import type { EventKind } from '../event-kind.ts';

/** Collection path. */
export const windowsPath = '/apis/drydock.dev/v1alpha1/maintenancewindows';

/** Returns the text for a maintenance or a plan that does not begin because windows are unknown. */
export function windowsUnknown(why: string): string {
  return `not all maintenance windows are known: ${why}`;
}

/** A stretch of time: `from` belongs to it, `to` does not. */
export type Span = { readonly from: Temporal.Instant; readonly to: Temporal.Instant };

/** An opening of a window: recurring, each time for this many seconds of real time; or once. */
export type Opening = { readonly cron: string; readonly seconds: number } | Span;

/** Kinds that windows can be for. The kinds of the replaced operators begin at once, as always. */
export type WindowedKind = 'Maintenance' | 'MachineMaintenance' | 'MaintenancePlan';

/** Effect of the end of a window on a running drain. */
export type AtEnd = 'Continue' | 'Pause' | 'Release';

/** Behaviour of a maintenance for which no opening before its deadline is long enough. */
export type Missed = 'BeforeDeadline' | 'EvenInFreeze' | 'Wait';

/** A MaintenanceWindow in the form that the core uses. */
export type MaintenanceWindow = {
  readonly key: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation: number;
  /** IANA name of the time zone in which cron expressions are evaluated. */
  readonly timeZone: string;
  /** Selector of the nodes that it is for; all if left out. */
  readonly nodeSelector?: LabelSelector;
  readonly kinds: readonly WindowedKind[];
  /**
   * Kinds of events, for machine maintenances: only those with an event of one of these kinds; all
   * if left out.
   */
  readonly eventKinds?: readonly EventKind[];
  readonly openings: readonly Opening[];
  readonly freezes: readonly (Span & { readonly reason?: string })[];
  readonly atEnd: AtEnd;
  readonly missed: Missed;
  /** Seconds that a maintenance takes here; the observed durations if left out. */
  readonly expectedSeconds?: number;
  /** Error in the window. An invalid window is never open: nothing starts by mistake. */
  readonly problem?: string;
  readonly status: JsonObject;
};

/** Subject that a window may apply to. */
export type WindowSubject = {
  readonly kind: WindowedKind;
  readonly labels: Labels;
  readonly eventKinds?: readonly EventKind[];
};

/**
 * Reports whether the window is for the kind. The nodes of a plan are held by Maintenances: a
 * window for those is one for plans too.
 */
function isFor({ kinds }: MaintenanceWindow, kind: WindowedKind): boolean {
  return kinds.includes(kind) || (kind === 'MaintenancePlan' && kinds.includes('Maintenance'));
}

/** Reports whether the window applies. */
export function appliesTo(
  window: MaintenanceWindow,
  { kind, labels, eventKinds }: WindowSubject,
): boolean {
  return (
    isFor(window, kind) &&
    (window.nodeSelector === undefined || matches(window.nodeSelector, labels)) &&
    (kind !== 'MachineMaintenance' ||
      window.eventKinds === undefined ||
      (eventKinds ?? []).some(eventKind => window.eventKinds?.includes(eventKind)))
  );
}

/** Sets of time: sorted, without overlaps. */

function later(one: Temporal.Instant, other: Temporal.Instant): Temporal.Instant {
  return isBefore(one, other) ? other : one;
}
function sooner(one: Temporal.Instant, other: Temporal.Instant): Temporal.Instant {
  return isBefore(one, other) ? one : other;
}

function isSpan({ from, to }: Span): boolean {
  return isBefore(from, to);
}

/** Returns all of them as one set. */
export function union(spans: readonly Span[]): readonly Span[] {
  const merged: Span[] = [];
  for (const span of spans
    .filter(isSpan)
    .toSorted((one, other) => Temporal.Instant.compare(one.from, other.from))) {
    const last = merged.at(-1);
    if (last === undefined || isBefore(last.to, span.from)) merged.push(span);
    else merged[merged.length - 1] = { from: last.from, to: later(last.to, span.to) };
  }
  return merged;
}

/**
 * Returns the rest of the spans outside the holes. Both are iterated once: there may be hundreds of
 * either.
 */
export function minus(spans: readonly Span[], holes: readonly Span[]): readonly Span[] {
  const all = union(holes);
  const left: Span[] = [];
  let first = 0;
  for (const { from, to } of union(spans)) {
    for (let past = all[first]; past !== undefined && !isBefore(from, past.to); past = all[first])
      first += 1;
    let begin = from;
    for (let at = first; at < all.length; at += 1) {
      const hole = all[at];
      if (hole === undefined || !isBefore(hole.from, to)) break;
      left.push({ from: begin, to: sooner(hole.from, to) });
      begin = later(begin, hole.to);
    }
    left.push({ from: begin, to });
  }
  return left.filter(isSpan);
}

const readers = new Map<string, Cron>();

/**
 * Returns the parsed expression from a cache: parsing costs as much as a hundred evaluations, and
 * there are few expressions.
 */
function reader(cron: string, timeZone: string): Cron {
  const key = `${timeZone} ${cron}`;
  const known = readers.get(key);
  if (known !== undefined) return known;
  const fresh = new Cron(cron, { timezone: timeZone, paused: true, mode: '5-part' });
  if (readers.size > 1000) readers.clear();
  readers.set(key, fresh);
  return fresh;
}

/** Returns why a cron expression or a time zone cannot be used; undefined if they can. */
export function cronProblem(cron: string, timeZone: string): string | undefined {
  try {
    const next = reader(cron, timeZone).nextRun(new Date(0));
    return next === null ? `cron "${cron}" never comes true` : undefined;
  } catch (error) {
    const why =
      error instanceof Error ? error.message.replace(/^CronPattern: /, '') : String(error);
    return `cron "${cron}" cannot be read: ${why}`;
  }
}

/**
 * Number of gaps that are evaluated: enough for a rule with several times of day or days of the
 * week.
 */
const gapsSeen = 8;

const gaps = new Map<string, number>();

/**
 * Returns the shortest seconds between two starts of the rule, among the evaluated ones. Called at
 * each reading of a window, and cached.
 */
export function minGap(cron: string, timeZone: string): number {
  const key = `${timeZone} ${cron}`;
  const gap = gaps.get(key) ?? closestStarts(reader(cron, timeZone));
  if (gaps.size > 1000) gaps.clear();
  gaps.set(key, gap);
  return gap;
}

function closestStarts(rule: Cron): number {
  let shortest = Number.POSITIVE_INFINITY;
  let last = rule.nextRun(new Date(0));
  for (let seen = 0; seen < gapsSeen && last !== null; seen += 1) {
    const next = rule.nextRun(last);
    if (next !== null) shortest = Math.min(shortest, (next.getTime() - last.getTime()) / 1000);
    last = next;
  }
  return shortest;
}

const hourMs = 3_600_000;

/**
 * Cache of the starts of a rule after the beginning of an hour, as far as requested; null means
 * that there are no more.
 */
const starts = new Map<string, (Date | null)[]>();

/**
 * Returns the starts of a rule after `afterMs` and before `endMs`, at most `most` of them. A start
 * costs up to a tenth of a millisecond to compute, and every pass of every node needs it: those of
 * one hour are computed once.
 */
function startsOf(
  cron: string,
  timeZone: string,
  afterMs: number,
  endMs: number,
  most: number,
): readonly number[] {
  const hour = Math.floor(afterMs / hourMs);
  const key = `${hour} ${timeZone} ${cron}`;
  const rule = reader(cron, timeZone);
  if (starts.size > 1000) starts.clear();
  const known = starts.get(key) ?? [];
  starts.set(key, known);
  const found: number[] = [];
  for (let at = 0; found.length < most; at += 1) {
    if (at === known.length) known.push(rule.nextRun(known.at(-1) ?? new Date(hour * hourMs)));
    const start = known[at]?.getTime();
    if (start === undefined || start >= endMs) return found;
    if (start > afterMs) found.push(start);
  }
  return found;
}

function repeated(
  { cron, seconds }: Exclude<Opening, Span>,
  timeZone: string,
  { from, to }: Span,
  most: number,
): readonly Span[] {
  // An opening that began before is still open.
  const began = startsOf(
    cron,
    timeZone,
    from.epochMilliseconds - seconds * 1000,
    to.epochMilliseconds,
    most,
  );
  return began.map(start => ({ from: instantAt(start), to: instantAt(start + seconds * 1000) }));
}

/**
 * Returns when an opening is open within `range`. Its duration is real time: four hours are four
 * hours on every day of the year. A rule for a time that a day does not have (clocks go forward)
 * begins when the clocks have gone forward; one for a time that a day has twice (clocks go back)
 * begins at the first of them, and once. A rule that begins every minute would never end: at most
 * `most` of its starts are evaluated.
 */
export function spansOf(
  opening: Opening,
  timeZone: string,
  range: Span,
  most: number,
): readonly Span[] {
  return 'cron' in opening
    ? repeated(opening, timeZone, range, most)
    : isBefore(opening.from, range.to) && isBefore(range.from, opening.to)
      ? [opening]
      : [];
}
