import { isBefore, latest, secondsAfter, timeText } from '@drydock/apimachinery';
import type { Node } from '../../node/node.ts';
import {
  afterOpenSeconds,
  type Calendar,
  calendarOf,
  expectedIn,
  freezeAt,
  openingsAt,
  openSeconds,
  startOf,
} from '../../window/calendar.ts';
import { appliesTo, type Span, windowsUnknown } from '../../window/window.ts';
import type { WaitReason } from '../snapshot.ts';
import type { PlanView } from '../view.ts';
import { defaultNodeSeconds, maxSeenLength, startsOf } from './starts.ts';

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
export function begunIn({ snapshot }: PlanView, { from, to }: Span): number {
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
    const answer =
      (calendar.windows.length === 0 ? undefined : openLimit(calendar, expectedSeconds, now)) ??
      rateLimit(view, calendar, expectedSeconds, now) ??
      paceLimit(view, calendar, expectedSeconds, now);
    known.set(key, answer);
    return answer;
  };
}
