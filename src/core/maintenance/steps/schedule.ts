import { isLeased } from '../../lease/is-leased.ts';
import type { Node } from '../../node/node.ts';
import { leaseNames, type MaintenanceRequest, type RequestedStart } from '../../request/request.ts';
import { isBefore, secondsAfter, timeText } from '../../time.ts';
import { atEndOf, type Calendar, calendarOf, expectedIn, freezeAt, nextSpans, openNow, startOf } from '../../window/calendar.ts';
import { appliesTo, windowsUnknown } from '../../window/window.ts';
import type { Lookup } from '../decision.ts';
import { isHeldAlready } from '../held.ts';
import type { ReconcileContext, ReconcileStep, RequestProgress } from '../reconcile-context.ts';
import type { NodeSnapshot } from '../snapshot.ts';

/** How long a drain takes where nothing has been seen yet, in seconds. */
const defaultDrainSeconds = 900;

/** No opening is in sight: looked for again a day later, in seconds. */
const lookAgainAfter = 86_400;

const calendarFor = ({ windows }: RequestedStart, node: Node, snapshot: NodeSnapshot): Calendar =>
  calendarOf(
    windows === 'Ignore' ? [] : snapshot.windows.filter(window => appliesTo(window, { kind: 'Maintenance', labels: node.labels })),
  );

const expectedFor = ({ expectedSeconds }: RequestedStart, calendar: Calendar, { drainSeconds }: NodeSnapshot): number =>
  expectedSeconds ?? expectedIn(calendar, drainSeconds, defaultDrainSeconds);

/** It has laid hands on the node, as its status says. */
const hasBegun = ({ history }: MaintenanceRequest): boolean =>
  history.state !== undefined && history.state !== 'Pending' && history.state !== 'Announced' && history.state !== 'Failed';

const never = (calendar: Calendar, longestSeconds: number, expected: number): string =>
  longestSeconds > 0
    ? `no opening of ${calendar.names.join(', ')} is long enough: ${Math.round(expected / 60)} min are expected, the longest is ${Math.round(longestSeconds / 60)} min`
    : `${calendar.names.join(', ')} will not be open in the next 400 days`;

type Found = { readonly progress: RequestProgress; readonly moment?: Temporal.Instant; readonly lookup?: Lookup };

const waiting = (
  progress: RequestProgress,
  reason: string,
  message: string,
  moment: Temporal.Instant,
  startsAt?: Temporal.Instant,
): Found => ({
  progress: { ...progress, barred: true, problem: { reason, message }, ...(startsAt && { startsAt }) },
  moment,
});

/** The node's hold or its lease is there, and nobody else has begun: they are the request's, whose status has not been stored yet, or was lost. */
const mayHaveBegun = (request: MaintenanceRequest, { node, nodeName, leases, requests }: NodeSnapshot): boolean => {
  const isHeld = node !== undefined && isHeldAlready(node, request);
  const hasTraces = isHeld || isLeased(leaseNames([request.adapter], nodeName), leases);
  return hasTraces && !requests.some(other => other.key !== request.key && !other.deleting && hasBegun(other));
};

/**
 * The watch of the windows may be later than that of the requests: before one begins, the API server is asked whether there is another window. A node that is held already
 * is not released for the time of that question. Nothing is said before an answer has failed to come: nearly always it begins a moment later.
 */
const begins = (progress: RequestProgress, { windows }: RequestedStart, snapshot: NodeSnapshot): Found => {
  const { request } = progress;
  const { key, uid, generation } = request;
  if (windows === 'Ignore' || (snapshot.windowsKnownTo?.has(uid) ?? true) || mayHaveBegun(request, snapshot)) return { progress };
  const { windowsProblem: why } = snapshot;
  const problem = why === undefined ? {} : { problem: { reason: 'WindowsUnknown', message: windowsUnknown(why) } };
  return { progress: { ...progress, ...problem, barred: true }, lookup: { kind: 'MaintenanceWindows', key, uid, generation } };
};

/** Whether it may lay hands on the node now, and when else. */
const beforeStart = (progress: RequestProgress, start: RequestedStart, calendar: Calendar, { snapshot, now }: ReconcileContext): Found => {
  const expectedSeconds = expectedFor(start, calendar, snapshot);
  const found = startOf(calendar, { ...start, expectedSeconds }, now);
  if (found.kind === 'never') {
    return waiting(progress, 'NoOpening', never(calendar, found.longestSeconds, expectedSeconds), secondsAfter(now, lookAgainAfter));
  }
  const { at, because } = found;
  if (!isBefore(now, at)) return begins(progress, start, snapshot);
  const frozen = freezeAt(calendar, now);
  const message = `begins at ${timeText(at)}`;
  if (frozen !== undefined) {
    const why = frozen.reason === undefined ? '' : ` (${frozen.reason})`;
    return waiting(progress, 'Frozen', `${message}: frozen until ${timeText(frozen.until)}${why}`, at, at);
  }
  if (because === 'anytime') return waiting(progress, 'NotYetDue', `${message}, its requested start`, at, at);
  if (because === 'deadline') {
    return waiting(progress, 'WindowMissed', `${message}: no opening of ${calendar.names.join(', ')} comes before its deadline`, at, at);
  }
  return waiting(progress, 'MaintenanceWindow', `${message}, when ${calendar.names.join(', ')} allows it`, at, at);
};

/** What the end of the window means for a drain that is under way. One that has only its deadline to go by goes on. */
const whileUnderWay = (
  progress: RequestProgress,
  start: RequestedStart,
  calendar: Calendar,
  { snapshot, now }: ReconcileContext,
): Found => {
  const { history } = progress.request;
  const atEnd = atEndOf(calendar);
  if (atEnd === 'Continue' || history.drainedAt !== undefined) return { progress };
  const open = openNow(calendar, now);
  if (open !== undefined) return { progress, moment: open.to };
  const pressing = start.deadline && secondsAfter(start.deadline, -expectedFor(start, calendar, snapshot));
  if (pressing !== undefined && !isBefore(now, pressing)) return { progress };
  const [next] = nextSpans(calendar, now, 1);
  const goesOn = next === undefined ? 'no opening is known' : `continues at ${timeText(next.from)}`;
  const moment = next?.from ?? secondsAfter(now, lookAgainAfter);
  if (atEnd === 'GiveBack') {
    const message = `released: the window has closed; ${goesOn}`;
    const found = waiting(progress, 'WindowClosed', message, moment, next?.from);
    return { ...found, progress: { ...found.progress, restarts: true } };
  }
  const problem = { reason: 'WindowClosed', message: `paused: the window has closed; ${goesOn}` };
  return { progress: { ...progress, paused: true, problem }, moment };
};

const look = (progress: RequestProgress, node: Node, context: ReconcileContext): Found => {
  const { request, lingers } = progress;
  const { start } = request;
  if (start === undefined || request.stage === 'Announce' || lingers) return { progress };
  const calendar = calendarFor(start, node, context.snapshot);
  // A status that was refused, because somebody has edited the object, says nothing yet: without the notes the node would be given back where the
  // opening is no longer long enough.
  const isUnderWay = hasBegun(request) || context.snapshot.memo.holding.has(request.uid);
  return isUnderWay ? whileUnderWay(progress, start, calendar, context) : beforeStart(progress, start, calendar, context);
};

/**
 * A maintenance begins when it may: not before the time that it names, and in an opening of the windows for its node that it can be expected to
 * end in. Kinds that know nothing of this begin at once.
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
