import { isBefore, secondsAfter, timeText } from '@drydock/apimachinery';
import { isLeased } from '../../lease/lease.ts';
import type { Node } from '../../node/node.ts';
import { leaseNames, type MaintenanceRequest, type RequestedStart } from '../../request/request.ts';
import {
  atEndOf,
  type Calendar,
  calendarOf,
  expectedIn,
  freezeAt,
  nextSpans,
  openNow,
  startOf,
} from '../../window/calendar.ts';
import { appliesTo, windowsUnknown } from '../../window/spans.ts';
import { isHeldAlready, type Lookup } from '../decision.ts';
import type { ReconcileContext, ReconcileStep, RequestProgress } from '../reconcile-context.ts';
import type { NodeSnapshot } from '../snapshot.ts';

/** Seconds that a drain is expected to take before any has been observed. */
const defaultDrainSeconds = 900;

/** Seconds until the next search for an opening, if none is in sight: one day. */
const lookAgainAfter = 86_400;

function calendarFor({ windows }: RequestedStart, node: Node, snapshot: NodeSnapshot): Calendar {
  return calendarOf(
    windows === 'Ignore'
      ? []
      : snapshot.windows.filter(window =>
          appliesTo(window, { kind: 'Maintenance', labels: node.labels }),
        ),
  );
}

function expectedFor(
  { expectedSeconds }: RequestedStart,
  calendar: Calendar,
  { drainSeconds }: NodeSnapshot,
): number {
  return expectedSeconds ?? expectedIn(calendar, drainSeconds, defaultDrainSeconds);
}

/** Reports whether the request has changed the node, according to its status. */
function hasBegun({ history }: MaintenanceRequest): boolean {
  return (
    history.state !== undefined &&
    history.state !== 'Pending' &&
    history.state !== 'Announced' &&
    history.state !== 'Failed'
  );
}

function never(calendar: Calendar, longestSeconds: number, expected: number): string {
  return longestSeconds > 0
    ? `no opening of ${calendar.names.join(', ')} is long enough: ${Math.round(expected / 60)} min are expected, the longest is ${Math.round(longestSeconds / 60)} min`
    : `${calendar.names.join(', ')} will not be open in the next 400 days`;
}

type Found = {
  readonly progress: RequestProgress;
  readonly moment?: Temporal.Instant;
  readonly lookup?: Lookup;
};

function waiting(
  progress: RequestProgress,
  reason: string,
  message: string,
  moment: Temporal.Instant,
  startsAt?: Temporal.Instant,
): Found {
  return {
    progress: {
      ...progress,
      barred: true,
      problem: { reason, message },
      ...(startsAt && { startsAt }),
    },
    moment,
  };
}

/**
 * Reports whether the node's hold or lease is there and no other request has begun: they belong to
 * this request, whose status has not been stored yet, or was lost.
 */
function mayHaveBegun(
  request: MaintenanceRequest,
  { node, nodeName, leases, requests }: NodeSnapshot,
): boolean {
  const isHeld = node !== undefined && isHeldAlready(node, request);
  const hasTraces = isHeld || isLeased(leaseNames([request.adapter], nodeName), leases);
  return (
    hasTraces &&
    !requests.some(other => other.key !== request.key && !other.deleting && hasBegun(other))
  );
}

/**
 * Reports whether the request begins. The watch of the windows may lag behind that of the requests:
 * before a request begins, the API server is queried for other windows. A node that is held already
 * is not released for the duration of that query. Nothing is reported before a response has failed
 * to come: nearly always the request begins a moment later.
 */
function begins(
  progress: RequestProgress,
  { windows }: RequestedStart,
  snapshot: NodeSnapshot,
): Found {
  const { request } = progress;
  const { key, uid, generation } = request;
  if (
    windows === 'Ignore' ||
    (snapshot.windowsKnownTo?.has(uid) ?? true) ||
    mayHaveBegun(request, snapshot)
  )
    return { progress };
  const { windowsProblem: why } = snapshot;
  const problem =
    why === undefined
      ? {}
      : { problem: { reason: 'WindowsUnknown', message: windowsUnknown(why) } };
  return {
    progress: { ...progress, ...problem, barred: true },
    lookup: { kind: 'MaintenanceWindows', key, uid, generation },
  };
}

/** Decides whether the request may change the node now, and otherwise when. */
function beforeStart(
  progress: RequestProgress,
  start: RequestedStart,
  calendar: Calendar,
  { snapshot, now }: ReconcileContext,
): Found {
  const expectedSeconds = expectedFor(start, calendar, snapshot);
  const found = startOf(calendar, { ...start, expectedSeconds }, now);
  if (found.kind === 'never') {
    return waiting(
      progress,
      'NoOpening',
      never(calendar, found.longestSeconds, expectedSeconds),
      secondsAfter(now, lookAgainAfter),
    );
  }
  const { at, because } = found;
  if (!isBefore(now, at)) return begins(progress, start, snapshot);
  const frozen = freezeAt(calendar, now);
  const message = `begins at ${timeText(at)}`;
  if (frozen !== undefined) {
    const why = frozen.reason === undefined ? '' : ` (${frozen.reason})`;
    return waiting(
      progress,
      'Frozen',
      `${message}: frozen until ${timeText(frozen.until)}${why}`,
      at,
      at,
    );
  }
  if (because === 'anytime')
    return waiting(progress, 'NotYetDue', `${message}, its requested start`, at, at);
  if (because === 'deadline') {
    return waiting(
      progress,
      'WindowMissed',
      `${message}: no opening of ${calendar.names.join(', ')} comes before its deadline`,
      at,
      at,
    );
  }
  return waiting(
    progress,
    'MaintenanceWindow',
    `${message}, when ${calendar.names.join(', ')} allows it`,
    at,
    at,
  );
}

/**
 * Applies the end of the window to a running drain. A drain that is bound only by its deadline goes
 * on.
 */
function whileUnderWay(
  progress: RequestProgress,
  start: RequestedStart,
  calendar: Calendar,
  { snapshot, now }: ReconcileContext,
): Found {
  const { history } = progress.request;
  const atEnd = atEndOf(calendar);
  if (atEnd === 'Continue' || history.drainedAt !== undefined) return { progress };
  const open = openNow(calendar, now);
  if (open !== undefined) return { progress, moment: open.to };
  const pressing =
    start.deadline && secondsAfter(start.deadline, -expectedFor(start, calendar, snapshot));
  if (pressing !== undefined && !isBefore(now, pressing)) return { progress };
  const [next] = nextSpans(calendar, now, 1);
  const goesOn = next === undefined ? 'no opening is known' : `continues at ${timeText(next.from)}`;
  const moment = next?.from ?? secondsAfter(now, lookAgainAfter);
  if (atEnd === 'Release') {
    const message = `released: the window has closed; ${goesOn}`;
    const found = waiting(progress, 'WindowClosed', message, moment, next?.from);
    return { ...found, progress: { ...found.progress, restarts: true } };
  }
  const problem = { reason: 'WindowClosed', message: `paused: the window has closed; ${goesOn}` };
  return { progress: { ...progress, paused: true, problem }, moment };
}

function look(progress: RequestProgress, node: Node, context: ReconcileContext): Found {
  const { request, lingers } = progress;
  const { start } = request;
  if (start === undefined || request.level === 'Announce' || lingers) return { progress };
  const calendar = calendarFor(start, node, context.snapshot);
  // A status whose write was refused, because a user has edited the object, proves nothing yet:
  // without the memo the node would be released where the opening is no longer long enough.
  const isUnderWay = hasBegun(request) || context.snapshot.memo.holding.has(request.uid);
  return isUnderWay
    ? whileUnderWay(progress, start, calendar, context)
    : beforeStart(progress, start, calendar, context);
}

/**
 * Starts maintenances when they may start: not before their requested time, and in an opening of
 * the windows for the node in which they are expected to end. Kinds without a schedule begin at
 * once.
 */
export const schedule: ReconcileStep = context => {
  const { node } = context.snapshot;
  if (node === undefined) return { done: true, context };
  const found = context.progresses.map(progress => look(progress, node, context));
  return {
    done: true,
    context: {
      ...context,
      progresses: found.map(({ progress }) => progress),
      moments: [...context.moments, ...found.flatMap(({ moment }) => moment ?? [])],
      lookups: [...context.lookups, ...found.flatMap(({ lookup }) => lookup ?? [])],
    },
  };
};
