import { isBefore, latest, secondsAfter, secondsBetween, timeText } from '@drydock/apimachinery';
import type { Node } from '../../node/node.ts';
import {
  afterOpenSeconds,
  type Calendar,
  calendarOf,
  expectedIn,
  freezeAt,
  nextSpans,
  openingsAt,
  openSeconds,
  startOf,
} from '../../window/calendar.ts';
import { appliesTo, type Span, windowsUnknown } from '../../window/spans.ts';
import type { InFlight } from '../in-flight.ts';
import type { RehearsedForecast } from '../rehearsal/rehearsal.ts';
import { isAbout, subjectOf } from '../rehearsal/run-rehearsal.ts';
import type { Forecast, PlanSnapshot, WaitReason } from '../snapshot.ts';
import type { PlanView } from '../view.ts';

/**
 * Starts of nodes, and their durations: computed again each time from verdicts and nodes in flight.
 */

type NodeStart = Pick<InFlight, 'node' | 'startedAt'>;

/**
 * Returns the nodes that began in this run, and those that are in flight; failures that were set
 * aside have begun too.
 */
function startsOf({ slices, plan }: PlanSnapshot): readonly NodeStart[] {
  return [...slices.flatMap(({ verdicts }) => verdicts), ...plan.inFlight];
}

/** Seconds that a node is expected to take, before this plan has measured any. */
const defaultNodeSeconds = 600;

function secondsSeen({ verdicts }: PlanView): readonly number[] {
  return [...verdicts.values()]
    .filter(({ verdict }) => verdict === 'Done')
    .map(({ startedAt, completedAt }) => secondsBetween(startedAt, completedAt));
}

/** Returns the average seconds of a node of this run. */
function meanDuration(view: PlanView): number | undefined {
  const seen = secondsSeen(view);
  return seen.length === 0
    ? undefined
    : seen.reduce((sum, seconds) => sum + seconds, 0) / seen.length;
}

/** Returns the longest seconds of a node of this run. */
function maxSeenLength(view: PlanView): number | undefined {
  const seen = secondsSeen(view);
  return seen.length === 0 ? undefined : Math.max(...seen);
}

/**
 * Limits by windows and pace. They are the same for nodes with the same windows, and computed once
 * for them.
 */

/** Returns the windows that apply to at least one of these nodes. */
export function calendarFor(
  { snapshot }: Pick<PlanView, 'snapshot'>,
  nodes: readonly Pick<Node, 'labels'>[],
): Calendar {
  return calendarOf(
    snapshot.plan.windows === 'Ignore'
      ? []
      : snapshot.windows.filter(window =>
          nodes.some(({ labels }) => appliesTo(window, { kind: 'MaintenancePlan', labels })),
        ),
  );
}

function openLimit(
  calendar: Calendar,
  expectedSeconds: number,
  now: Temporal.Instant,
): WaitReason | undefined {
  const start = startOf(calendar, { expectedSeconds }, now);
  const names = calendar.names.join(', ');
  if (start.kind === 'never') {
    return {
      reason: 'WouldNotFit',
      message: `no opening of ${names} is long enough for the ${expectedSeconds} s that a node takes`,
    };
  }
  if (!isBefore(now, start.at)) return undefined;
  const frozen = freezeAt(calendar, now);
  const message =
    frozen === undefined
      ? `${names} allows it at ${timeText(start.at)}`
      : `frozen until ${timeText(frozen.until)}`;
  return { reason: frozen === undefined ? 'Window' : 'Frozen', message, until: start.at };
}

/** Returns how many nodes have begun within a span: a node that has begun twice counts once. */
function begunIn({ snapshot }: PlanView, { from, to }: Span): number {
  return new Set(
    startsOf(snapshot).flatMap(({ node, startedAt }) =>
      isBefore(startedAt, from) || !isBefore(startedAt, to) ? [] : node,
    ),
  ).size;
}

/**
 * Limits the starts in each opening of a window: every opening that is current now is checked
 * separately.
 */
function rateLimit(
  view: PlanView,
  calendar: Calendar,
  expectedSeconds: number,
  now: Temporal.Instant,
): WaitReason | undefined {
  const { startsPerWindow: most } = view.snapshot.plan.concurrency;
  if (most === undefined || calendar.always) return undefined;
  const full = openingsAt(calendar, now).filter(opening => begunIn(view, opening) >= most);
  const last = full.toSorted((one, other) => Temporal.Instant.compare(one.to, other.to)).at(-1);
  if (last === undefined) return undefined;
  const message = `${begunIn(view, last)} nodes have begun since ${timeText(last.from)}, and concurrency.startsPerWindow allows ${most}`;
  const next = startOf(calendar, { expectedSeconds, notBefore: last.to }, now);
  return { reason: 'Rate', message, ...(next.kind === 'at' && { until: next.at }) };
}

/**
 * Spreads the remaining starts over the open time that is left, so that the last node begins when
 * it can still end by the deadline. Computed again from the last start each time: delays by other
 * limits are spread over the rest.
 */
function paceLimit(
  view: PlanView,
  calendar: Calendar,
  expectedSeconds: number,
  now: Temporal.Instant,
): WaitReason | undefined {
  const { pace } = view.snapshot.plan;
  if (pace?.mode !== 'Spread') return undefined;
  const last = latest(startsOf(view.snapshot).map(({ startedAt }) => startedAt));
  if (last === undefined) return undefined;
  const left = view.open.size;
  const open = openSeconds(calendar, {
    from: last,
    to: secondsAfter(pace.deadline, -expectedSeconds),
  });
  const next = afterOpenSeconds(calendar, last, open / Math.max(1, left));
  if (next === undefined || !isBefore(now, next)) return undefined;
  const message = `${left} nodes are spread over the open time until ${timeText(pace.deadline)}: the next one begins at ${timeText(next)}`;
  return { reason: 'Pace', message, until: next };
}

/** Returns the time limits of each node: nothing begins before all windows are known. */
export function timeLimits(
  view: PlanView,
  now: Temporal.Instant,
): (node: Node) => WaitReason | undefined {
  const { plan, windowsProblem } = view.snapshot;
  if (plan.windows !== 'Ignore' && windowsProblem !== undefined) {
    return () => ({ reason: 'WindowsUnknown', message: windowsUnknown(windowsProblem) });
  }
  const seen = maxSeenLength(view);
  const known = new Map<string, WaitReason | undefined>();
  return node => {
    const calendar = calendarFor(view, [node]);
    const key = calendar.names.join();
    if (known.has(key)) return known.get(key);
    const expectedSeconds = plan.expectedSeconds ?? expectedIn(calendar, seen, defaultNodeSeconds);
    const result =
      (calendar.windows.length === 0 ? undefined : openLimit(calendar, expectedSeconds, now)) ??
      rateLimit(view, calendar, expectedSeconds, now) ??
      paceLimit(view, calendar, expectedSeconds, now);
    known.set(key, result);
    return result;
  };
}

/**
 * Forecast of the end of a plan, from what it has measured so far: coarse, and never a reason to
 * exceed a limit.
 */

/** Remaining work: nodes to begin with, nodes in flight, and nodes at once. */
type Rest = {
  readonly open: number;
  readonly flying: number;
  readonly atOnce: number;
  readonly seconds: number;
};

/** Returns the seconds for all remaining nodes without a pause; undefined if nothing may begin. */
function workSeconds(
  { snapshot }: PlanView,
  { open, atOnce, seconds }: Rest,
  now: Temporal.Instant,
): number | undefined {
  if (open > 0 && atOnce < 1) return undefined;
  const still = snapshot.plan.inFlight
    .map(({ startedAt }) => Math.max(0, seconds - secondsBetween(startedAt, now)))
    .toSorted((one, other) => one - other);
  const free = Array.from({ length: Math.max(0, atOnce - still.length) }, () => 0);
  // As many slots as may be used, the earliest free ones first; each takes one node after the
  // other.
  const slots = [...free, ...still].slice(-Math.max(1, atOnce));
  return Math.max(
    ...slots.map(
      (begin, index) => begin + Math.ceil(Math.max(0, open - index) / slots.length) * seconds,
    ),
  );
}

/** Returns the seconds of quiet times that are still to come. */
function quietSeconds(view: PlanView, now: Temporal.Instant): number {
  const left = view.stages.map(({ stage }) => view.underWay.has(stage.name));
  return view.stages.reduce((sum, stage, index) => {
    // After the last stage nothing waits.
    if (!left.includes(true, index + 1)) return sum;
    if (left[index] === true) return sum + stage.stage.soakSeconds;
    const { soak } = view;
    if (soak?.soak.stage !== stage.stage.name) return sum;
    const { since = now } = soak.soak;
    return sum + Math.max(0, stage.stage.soakSeconds - secondsBetween(since, now));
  }, 0);
}

/** Returns when the last nodes begin if the number of starts in one opening is limited. */
function lastOpening(
  view: PlanView,
  calendar: Calendar,
  open: number,
  now: Temporal.Instant,
): Temporal.Instant | undefined {
  const { startsPerWindow: most } = view.snapshot.plan.concurrency;
  if (most === undefined || calendar.always || open === 0) return now;
  const [first] = nextSpans(calendar, now, 1);
  const used = first === undefined || isBefore(now, first.from) ? 0 : begunIn(view, first);
  const openings = Math.max(1, Math.ceil((open + used) / most));
  const spans = nextSpans(calendar, now, openings);
  return spans.length < openings ? undefined : spans[openings - 1]?.from;
}

function endOf(
  view: PlanView,
  calendar: Calendar,
  rest: Rest,
  now: Temporal.Instant,
): Temporal.Instant | undefined {
  const work = workSeconds(view, rest, now);
  const last = lastOpening(view, calendar, rest.open, now);
  if (work === undefined || last === undefined) return undefined;
  const end = afterOpenSeconds(calendar, secondsAfter(now, quietSeconds(view, now)), work);
  return end && latest([end, secondsAfter(last, rest.open === 0 ? 0 : rest.seconds)]);
}

function restOf(view: PlanView, calendar: Calendar): Rest {
  const { counts, snapshot } = view;
  const seconds =
    snapshot.plan.expectedSeconds ??
    meanDuration(view) ??
    expectedIn(calendar, undefined, defaultNodeSeconds);
  const open = view.open.size;
  const flying = snapshot.plan.inFlight.length;
  return {
    open,
    flying,
    atOnce: Math.min(
      counts.maxInFlight,
      counts.maxUnavailable ?? counts.maxInFlight,
      open + flying,
    ),
    // Rounded up to tens: the message does not change with every node.
    seconds: Math.max(10, Math.ceil(seconds / 10) * 10),
  };
}

function missedText({ open, flying, atOnce, seconds }: Rest, deadline: Temporal.Instant): string {
  return `${open} nodes are due and ${flying} in flight, ${atOnce} at once take ${seconds} s each; the deadline is ${timeText(deadline)}`;
}

/**
 * Age, as a multiple of the interval, up to which a rehearsal is preferred to the run's own
 * measurements.
 */
const staleAfter = 2;

/**
 * Returns the forecast of the rehearsal, as long as it is about the current form of the plan, and
 * not too old.
 */
function rehearsedOf(
  { snapshot: { plan } }: PlanView,
  now: Temporal.Instant,
): RehearsedForecast | undefined {
  const { rehearse, forecast, inFlight } = plan;
  if (
    rehearse === undefined ||
    forecast === undefined ||
    !isAbout(forecast, subjectOf(plan, rehearse))
  )
    return undefined;
  if (rehearse.everySeconds === undefined)
    return inFlight.length === 0 && plan.run?.begun === undefined ? forecast : undefined;
  return isBefore(now, secondsAfter(forecast.rehearsedAt, staleAfter * rehearse.everySeconds))
    ? forecast
    : undefined;
}

function toldOf(rehearsed: RehearsedForecast, deadline: Temporal.Instant): string {
  const { end, blockedNodes, rehearsedAt } = rehearsed;
  const stuck = blockedNodes === 0 ? '' : `, with ${blockedNodes} nodes that get stuck`;
  const when = end === undefined ? 'never' : `at ${timeText(end)}`;
  return `it ends ${when}${stuck}, by the rehearsal of ${timeText(rehearsedAt)}; the deadline is ${timeText(deadline)}`;
}

/** Returns the forecast of a plan. */
export function forecastOf(view: PlanView, now: Temporal.Instant): Forecast {
  const { plan } = view.snapshot;
  const calendar = calendarFor(
    view,
    [...view.open.values()].map(({ node }) => node),
  );
  const rest = restOf(view, calendar);
  const isOver = rest.open + rest.flying === 0;
  const rehearsed = isOver ? undefined : rehearsedOf(view, now);
  const soonest = isOver
    ? latest([...view.verdicts.values()].map(({ completedAt }) => completedAt))
    : rehearsed === undefined
      ? endOf(view, calendar, rest, now)
      : rehearsed.end;
  const { deadline, mode } = plan.pace ?? {};
  const isMet =
    deadline !== undefined && (soonest === undefined ? isOver : !isBefore(deadline, soonest));
  // A spread plan ends at its deadline.
  const end = mode === 'Spread' && isMet && rest.open > 0 ? deadline : soonest;
  const message =
    deadline &&
    (rehearsed === undefined ? missedText(rest, deadline) : toldOf(rehearsed, deadline));
  return {
    ...(end && !isOver && { end }),
    ...(message !== undefined && { deadline: { isMet, message } }),
  };
}
