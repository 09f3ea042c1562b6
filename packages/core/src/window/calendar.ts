import { isBefore, secondsAfter } from '@drydock/apimachinery';
import {
  type AtEnd,
  type MaintenanceWindow,
  type Missed,
  minus,
  type Span,
  spansOf,
  union,
} from './spans.ts';

/** Seconds ahead in which openings are searched: a rule that applies once a year is found. */
const horizon = 400 * 86_400;

/** Longest opening of a cron rule in seconds: a week. */
export const maxOpening = 7 * 86_400;

/** The windows of one node together. */
export type Calendar = {
  /** Names of the windows that apply, sorted. */
  readonly names: readonly string[];
  /** True if open at every time outside of freezes: no window with openings applies. */
  readonly always: boolean;
  readonly windows: readonly MaintenanceWindow[];
};

/** Combines windows: any window that is open suffices; every freeze counts. */
export function calendarOf(windows: readonly MaintenanceWindow[]): Calendar {
  return {
    names: windows.map(({ name }) => name).toSorted(),
    always: windows.every(
      ({ openings, problem }) => openings.length === 0 && problem === undefined,
    ),
    windows,
  };
}

/** Returns the strictest value: a prohibition by one window applies. */
function strictest<T>(words: readonly T[], given: readonly T[]): T | undefined {
  return words.find(word => given.includes(word));
}

/** Returns the effect on a running drain when the last of them closes. */
export function atEndOf({ windows }: Calendar): AtEnd {
  return (
    strictest(
      ['Release', 'Pause', 'Continue'],
      windows.map(({ atEnd }) => atEnd),
    ) ?? 'Continue'
  );
}

function missedOf({ windows }: Calendar): Missed {
  return (
    strictest(
      ['Wait', 'BeforeDeadline', 'EvenInFreeze'],
      windows.map(({ missed }) => missed),
    ) ?? 'BeforeDeadline'
  );
}

/** Returns the expected seconds of a maintenance according to the windows; the longest. */
function saidOf({ windows }: Calendar): number | undefined {
  const given = windows.flatMap(({ expectedSeconds }) => expectedSeconds ?? []);
  return given.length === 0 ? undefined : Math.max(...given);
}

function freezesOf({ windows }: Calendar): readonly Span[] {
  return union(windows.flatMap(({ freezes }) => freezes));
}

/** Factor on observed durations. */
const caution = 1.5;

/**
 * Returns the expected seconds of a maintenance: according to the windows, otherwise from the
 * longest observed one, otherwise a guess.
 */
export function expectedIn(calendar: Calendar, seen: number | undefined, guess: number): number {
  return saidOf(calendar) ?? (seen === undefined ? guess : Math.ceil(seen * caution));
}

/**
 * Number of starts that are evaluated of all openings of one window, and at least of each of them.
 */
const startsOfWindow = 512;
const startsOfOpening = 8;

/**
 * Returns when the openings of a window are open within `range`. The cost is bounded for any number
 * of openings, however often they begin.
 */
function openSpans({ openings, timeZone }: MaintenanceWindow, range: Span): readonly Span[] {
  const most = Math.max(startsOfOpening, Math.floor(startsOfWindow / Math.max(1, openings.length)));
  return openings.flatMap(opening => spansOf(opening, timeZone, range, most));
}

/** Returns when something may begin, within `range`: openings without freezes. */
export function freeSpans(calendar: Calendar, range: Span): readonly Span[] {
  const spans = calendar.always
    ? [range]
    : calendar.windows
        .filter(({ problem }) => problem === undefined)
        .flatMap(window => openSpans(window, range));
  return minus(spans, freezesOf(calendar));
}

/** Seconds ahead of the first search: a month shows the next opening of nearly every rule. */
const firstLook = 31 * 86_400;

const looks = [firstLook, horizon];

/** Returns the next openings from `now` on, the current one first; `most` of them. */
export function nextSpans(
  calendar: Calendar,
  now: Temporal.Instant,
  most: number,
): readonly Span[] {
  for (const ahead of looks) {
    const spans = freeSpans(calendar, { from: now, to: secondsAfter(now, ahead) }).filter(
      ({ to }) => isBefore(now, to),
    );
    if (spans.length >= most || ahead === horizon) return spans.slice(0, most);
  }
  return [];
}

/** Returns the span that is open now. */
export function openNow(calendar: Calendar, now: Temporal.Instant): Span | undefined {
  const around = { from: secondsAfter(now, -1), to: secondsAfter(now, firstLook) };
  return freeSpans(calendar, around).find(
    ({ from, to }) => !isBefore(now, from) && isBefore(now, to),
  );
}

/** Returns the openings that are open now, each separately and regardless of freezes. */
export function openingsAt({ windows }: Calendar, now: Temporal.Instant): readonly Span[] {
  return windows
    .filter(({ problem }) => problem === undefined)
    .flatMap(window => openSpans(window, { from: now, to: secondsAfter(now, 1) }))
    .filter(({ from, to }) => !isBefore(now, from) && isBefore(now, to));
}

function secondsOf({ from, to }: Span): number {
  return (to.epochMilliseconds - from.epochMilliseconds) / 1000;
}

function within(span: Span, { from, to }: Span): Span {
  return {
    from: isBefore(span.from, from) ? from : span.from,
    to: isBefore(to, span.to) ? to : span.to,
  };
}

/** Returns the openings within a stretch of time, cut to it: none if it ends before it begins. */
function openWithin(calendar: Calendar, range: Span): readonly Span[] {
  return isBefore(range.from, range.to)
    ? freeSpans(calendar, range).map(span => within(span, range))
    : [];
}

/**
 * Returns how many seconds of a stretch of time are open. Far ahead, the result is too low for
 * rules that open often, because the number of evaluated starts is bounded.
 */
export function openSeconds(calendar: Calendar, range: Span): number {
  return openWithin(calendar, range).reduce((sum, span) => sum + Math.max(0, secondsOf(span)), 0);
}

/**
 * Returns when this many seconds of open time are over, from this moment on; undefined if that
 * takes more than 400 days.
 */
export function afterOpenSeconds(
  calendar: Calendar,
  from: Temporal.Instant,
  seconds: number,
): Temporal.Instant | undefined {
  if (seconds <= 0) return from;
  for (const ahead of looks) {
    let left = seconds;
    for (const span of openWithin(calendar, { from, to: secondsAfter(from, ahead) })) {
      if (left <= secondsOf(span)) return secondsAfter(span.from, left);
      left -= Math.max(0, secondsOf(span));
    }
  }
  return undefined;
}

/** Returns the freeze that keeps everything from beginning now, with its end and reason. */
export function freezeAt(
  calendar: Calendar,
  now: Temporal.Instant,
): { readonly until: Temporal.Instant; readonly reason?: string } | undefined {
  const frozen = freezesOf(calendar).find(
    ({ from, to }) => !isBefore(now, from) && isBefore(now, to),
  );
  if (frozen === undefined) return undefined;
  const reason = calendar.windows
    .flatMap(({ freezes }) => freezes)
    .find(
      freeze =>
        freeze.reason !== undefined && !isBefore(now, freeze.from) && isBefore(now, freeze.to),
    )?.reason;
  return { until: frozen.to, ...(reason !== undefined && { reason }) };
}

/** Constraints of a start. */
export type StartConstraints = {
  /** Earliest start. */
  readonly notBefore?: Temporal.Instant;
  /** Time by which it should be over. */
  readonly deadline?: Temporal.Instant;
  readonly expectedSeconds: number;
};

/**
 * Start of a maintenance. Never: no opening of the next 400 days is long enough, and no deadline
 * overrides that.
 */
export type ScheduledStart =
  | {
      readonly kind: 'at';
      readonly at: Temporal.Instant;
      readonly because: 'anytime' | 'window' | 'deadline';
      readonly until?: Temporal.Instant;
    }
  | { readonly kind: 'never'; readonly longestSeconds: number };

function clampedFrom(span: Span, earliest: Temporal.Instant): Span {
  return isBefore(span.from, earliest) ? { ...span, from: earliest } : span;
}

function firstFit(
  calendar: Calendar,
  { expectedSeconds }: StartConstraints,
  earliest: Temporal.Instant,
): ScheduledStart {
  let longestSeconds = 0;
  for (const ahead of looks) {
    const spans = freeSpans(calendar, { from: earliest, to: secondsAfter(earliest, ahead) }).map(
      span => clampedFrom(span, earliest),
    );
    // Without windows the end of the search is no end: only a freeze is.
    const fit = spans.find(span => secondsOf(span) >= expectedSeconds);
    if (fit !== undefined)
      return {
        kind: 'at',
        at: fit.from,
        because: calendar.always ? 'anytime' : 'window',
        until: fit.to,
      };
    longestSeconds = Math.max(0, ...spans.map(secondsOf));
  }
  return { kind: 'never', longestSeconds };
}

/**
 * Returns the latest moment at or before `latest` that is not frozen, and not before `earliest`.
 */
function latestUnfrozen(
  calendar: Calendar,
  latest: Temporal.Instant,
  earliest: Temporal.Instant,
): Temporal.Instant | undefined {
  let at = latest;
  for (const { from, to } of freezesOf(calendar).toReversed()) {
    // A moment before the freeze: the maintenance has to begin then, not to end.
    if (!isBefore(at, from) && isBefore(at, to)) at = secondsAfter(from, -1);
  }
  if (!isBefore(at, earliest)) return at;
  return freezeAt(calendar, earliest) === undefined ? earliest : undefined;
}

function later(one: Temporal.Instant, other: Temporal.Instant): Temporal.Instant {
  return isBefore(one, other) ? other : one;
}

/**
 * Returns when a maintenance begins: in the first opening in which it can be expected to end. If
 * that would be too late for its deadline, the policy of the windows decides: act before the
 * deadline outside of openings, but not in a freeze (BeforeDeadline); in a freeze too
 * (EvenInFreeze); or wait for the opening all the same (Wait). A freeze that began already and
 * lasts past the deadline is not broken except with EvenInFreeze.
 */
export function startOf(
  calendar: Calendar,
  constraints: StartConstraints,
  now: Temporal.Instant,
): ScheduledStart {
  const earliest = later(now, constraints.notBefore ?? now);
  const fit = firstFit(calendar, constraints, earliest);
  const { deadline } = constraints;
  const missed = missedOf(calendar);
  if (deadline === undefined || missed === 'Wait') return fit;
  const latest = secondsAfter(deadline, -constraints.expectedSeconds);
  if (fit.kind === 'at' && !isBefore(latest, fit.at)) return fit;
  // Too late to be over in time: then it begins as soon as possible.
  const wanted = later(latest, earliest);
  const at = missed === 'EvenInFreeze' ? wanted : latestUnfrozen(calendar, wanted, earliest);
  if (at === undefined || (fit.kind === 'at' && !isBefore(at, fit.at))) return fit;
  return { kind: 'at', at, because: 'deadline' };
}

/**
 * Factor on the expected time: a start that leaves this much before the end of the opening is
 * without haste.
 */
const ease = 2;

/**
 * Returns the start in the last opening before the deadline, for a node that is out of service
 * until then: as late in it as leaves twice the expected time. Undefined if no opening is long
 * enough and early enough.
 */
export function lastStartOf(
  calendar: Calendar,
  constraints: StartConstraints & { readonly deadline: Temporal.Instant },
  now: Temporal.Instant,
): ScheduledStart | undefined {
  const { deadline, expectedSeconds } = constraints;
  const earliest = later(now, constraints.notBefore ?? now);
  if (!isBefore(earliest, deadline)) return undefined;
  const spans = freeSpans(calendar, { from: earliest, to: deadline })
    .map(span => clampedFrom(span, earliest))
    .map(({ from, to }) => ({ from, to: isBefore(deadline, to) ? deadline : to }));
  const last = spans.findLast(span => secondsOf(span) >= expectedSeconds);
  if (last === undefined) return undefined;
  const at = later(last.from, secondsAfter(last.to, -ease * expectedSeconds));
  return { kind: 'at', at, because: 'window', until: last.to };
}
