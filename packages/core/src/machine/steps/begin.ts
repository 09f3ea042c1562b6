import { isBefore, resolveAmount, secondsAfter, timeText } from '@drydock/apimachinery';
import { isReady } from '../../node/node.ts';
import {
  atEndOf,
  type Calendar,
  calendarOf,
  expectedIn,
  freezeAt,
  lastStartOf,
  nextSpans,
  openNow,
  type ScheduledStart,
  startOf,
} from '../../window/calendar.ts';
import { appliesTo, windowsUnknown } from '../../window/spans.ts';
import { fateOf, isUrgent, takenBy } from '../aftermath.ts';
import { deadlineOf, isPending } from '../event.ts';
import { isResponse } from '../request.ts';
import type { MachineDecision, MachineSnapshot, MachineStep } from '../snapshot.ts';
import { areOver, isOutgrown, isReplaced, strategyOf, withoutHistory } from './strategy.ts';

/** Checks before the work begins, and the effect of the end of a window on work that has begun. */

/** Seconds that each strategy is expected to take before any has been observed. */
const guesses = { Drain: 900, Replace: 1800, ReplaceWithSurge: 1800, Notify: 0 } as const;

/**
 * Returns the time by which the machine has to be empty: that of the request, otherwise the
 * earliest of its events.
 */
export function deadlineFor({ request }: MachineSnapshot): Temporal.Instant | undefined {
  return request.deadline ?? deadlineOf(request.events);
}

function calendarFor({ request, node, windows }: MachineSnapshot): Calendar {
  const eventKinds = request.events.filter(isPending).map(({ kind }) => kind);
  return calendarOf(
    windows.filter(window =>
      appliesTo(window, { kind: 'MachineMaintenance', labels: node?.labels ?? {}, eventKinds }),
    ),
  );
}

function expectedFor(snapshot: MachineSnapshot, calendar: Calendar): number {
  const { strategy } = strategyOf(snapshot);
  return expectedIn(calendar, snapshot.seen.get(strategy), guesses[strategy]);
}

/**
 * Returns the start. A machine that is replaced may go at any time before its deadline, so it goes
 * in the first opening. A node that is only drained is missing until the cloud has done its work:
 * it goes in the last opening before that, or shortly before if no window applies.
 */
function startFor(
  snapshot: MachineSnapshot,
  calendar: Calendar,
  now: Temporal.Instant,
): ScheduledStart {
  const { request, drainLeadSeconds } = snapshot;
  const deadline = deadlineFor(snapshot);
  const expectedSeconds = expectedFor(snapshot, calendar);
  const constraints = {
    expectedSeconds,
    ...(deadline && { deadline }),
    ...(request.notBefore && { notBefore: request.notBefore }),
  };
  if (
    strategyOf(snapshot).strategy !== 'Drain' ||
    deadline === undefined ||
    request.notBefore !== undefined
  )
    return startOf(calendar, constraints, now);
  if (!calendar.always) {
    const last = lastStartOf(calendar, { ...constraints, deadline }, now);
    if (last !== undefined) return last;
  }
  return startOf(
    calendar,
    {
      ...constraints,
      notBefore: secondsAfter(deadline, -Math.max(drainLeadSeconds, expectedSeconds)),
    },
    now,
  );
}

function neverText(calendar: Calendar, longestSeconds: number, expected: number): string {
  return longestSeconds > 0
    ? `No opening of ${calendar.names.join(', ')} is long enough: ${Math.round(expected / 60)} min are expected, the longest is ${Math.round(longestSeconds / 60)} min. Lengthen it, or set expectedDuration`
    : `${calendar.names.join(', ')} will not be open in the next 400 days`;
}

function missedText(
  calendar: Calendar,
  at: Temporal.Instant,
  deadline: Temporal.Instant | undefined,
): string {
  return `No opening of ${calendar.names.join(', ')} comes before the deadline${deadline ? ` ${timeText(deadline)}` : ''}: the maintenance begins outside of them, at ${timeText(at)}`;
}

function waitFor(
  snapshot: MachineSnapshot,
  calendar: Calendar,
  start: Extract<ScheduledStart, { kind: 'at' }>,
  now: Temporal.Instant,
): MachineDecision {
  const frozen = freezeAt(calendar, now);
  const common = { phase: 'Scheduled', startsAt: start.at, requeueAt: start.at } as const;
  if (start.because === 'deadline') {
    return {
      ...common,
      reason: 'WindowMissed',
      message: missedText(calendar, start.at, deadlineFor(snapshot)),
      warning: true,
    };
  }
  const begins = `Begins at ${timeText(start.at)}`;
  if (frozen !== undefined) {
    const why = frozen.reason === undefined ? '' : ` (${frozen.reason})`;
    return {
      ...common,
      reason: 'Frozen',
      message: `${begins}: frozen until ${timeText(frozen.until)}${why}`,
    };
  }
  if (start.because === 'window')
    return {
      ...common,
      reason: 'MaintenanceWindow',
      message: `${begins}, when ${calendar.names.join(', ')} allows it`,
    };
  return { ...common, reason: 'NotYetDue', message: `${begins}: no earlier than necessary` };
}

/**
 * Reports whether the cloud has taken the machine already, and it is to be replaced: the work takes
 * nothing out of service that could be used. Maintenances before it in line may be waiting for its
 * set to be complete, which it will not be without this.
 */
function isTaken(snapshot: MachineSnapshot, now: Temporal.Instant): boolean {
  const deadline = deadlineFor(snapshot);
  const isSilent = snapshot.node !== undefined && !isReady(snapshot.node);
  return (
    isReplaced(snapshot) &&
    (isTakenAlready(snapshot, now) ||
      (isSilent && deadline !== undefined && !isBefore(now, deadline)))
  );
}

/**
 * Reports whether all events of a machine that is to be replaced are over, and one of them has
 * taken it, no matter who requested the replacement.
 */
export function isTakenAlready(snapshot: MachineSnapshot, now: Temporal.Instant): boolean {
  return isReplaced(snapshot) && areOver(snapshot) && fateOf(snapshot, now) === 'taken';
}

/**
 * Reports the same, according to a trusted source: windows protect only machines that would be
 * missed.
 */
function isLostAlready(snapshot: MachineSnapshot, now: Temporal.Instant): boolean {
  return (
    isTakenAlready(snapshot, now) &&
    takenBy(snapshot).some(({ source }) => snapshot.urgentSources.has(source))
  );
}

/**
 * Returns when it is due: the cloud takes the node away at its deadline in any case, so a longer
 * wait for a turn gains nothing.
 */
function dueAt(snapshot: MachineSnapshot, expectedSeconds: number): Temporal.Instant | undefined {
  const deadline = deadlineFor(snapshot);
  return deadline && secondsAfter(deadline, -Math.max(snapshot.drainLeadSeconds, expectedSeconds));
}

/**
 * Limits announcements about many nodes at once: a signal that is True on all nodes is more often
 * wrong than not.
 */
function beyondNodes(
  snapshot: MachineSnapshot,
  expectedSeconds: number,
  now: Temporal.Instant,
): string | undefined {
  const { request, others, limits, nodeCount } = snapshot;
  const most = resolveAmount(limits.nodes, nodeCount) ?? 1;
  const due = dueAt(snapshot, expectedSeconds);
  if (most === 0 || !isResponse(request) || (due !== undefined && !isBefore(now, due)))
    return undefined;
  const out = others.filter(
    ({ key, active, responds }) => active && responds && key !== request.key,
  );
  if (out.length < most) return undefined;
  return `${out.length} of ${nodeCount} nodes are out of service for announcements, which is the limit (--nodes-unavailable=${limits.nodes})`;
}

function inTheWay(
  snapshot: MachineSnapshot,
  expectedSeconds: number,
  now: Temporal.Instant,
): string | undefined {
  const { request, others, limits, machine, replacement } = snapshot;
  const active = others.filter(({ key, active }) => active && key !== request.key);
  if (machine?.controlPlane === true) {
    const other = active.find(({ controlPlane }) => controlPlane);
    if (other !== undefined)
      return `another machine of the control plane is in maintenance (${other.key}): one at a time`;
  }
  if (isTaken(snapshot, now)) return undefined;
  const { perSet, perZone } = limits;
  const ofSet = active.filter(({ set }) => set !== undefined && set === replacement?.set.key);
  if (perSet > 0 && ofSet.length >= perSet)
    return `${ofSet.length} of ${replacement?.set.kind} ${replacement?.set.name} are in maintenance, which is the limit`;
  const ofZone = active.filter(({ zone }) => zone !== undefined && zone === machine?.zone);
  if (perZone > 0 && ofZone.length >= perZone)
    return `${ofZone.length} of zone ${machine?.zone ?? ''} are in maintenance, which is the limit`;
  return beyondNodes(snapshot, expectedSeconds, now);
}

function beginning(
  snapshot: MachineSnapshot,
  becauseOfDeadline: boolean,
): NonNullable<MachineDecision['begins']> {
  const { replacement, machine, node, request } = snapshot;
  const nodeName = machine?.nodeName ?? request.nodeName;
  return {
    strategy: strategyOf(snapshot).strategy,
    becauseOfDeadline,
    ...(replacement && { set: replacement.set.key }),
    ...(machine && { machineUid: machine.uid }),
    ...(nodeName !== undefined && { nodeName }),
    ...(node?.bootId !== undefined && { bootId: node.bootId }),
  };
}

function begun(
  snapshot: MachineSnapshot,
  start: Extract<ScheduledStart, { kind: 'at' }> | 'urgent',
  calendar: Calendar,
): MachineDecision {
  const late = start !== 'urgent' && start.because === 'deadline' && !calendar.always;
  const { strategy } = strategyOf(snapshot);
  const message = late
    ? missedText(calendar, start.at, deadlineFor(snapshot))
    : `Starting: ${strategy}`;
  return {
    phase: strategy === 'ReplaceWithSurge' ? 'Surging' : 'Draining',
    reason: late ? 'WindowMissed' : 'Begun',
    message,
    ...(late && { warning: true }),
    begins: beginning(snapshot, start === 'urgent' || start.because === 'deadline'),
  };
}

/** Seconds until the API server is queried again. */
const askAgainAfter = 1;

/**
 * Waits for the windows: their watch may lag behind that of the requests, and may not have
 * delivered one.
 */
function waitForWindows(why: string, now: Temporal.Instant): MachineDecision {
  return {
    phase: 'Scheduled',
    reason: 'WindowsUnknown',
    message: `Waiting: ${windowsUnknown(why)}`,
    asksForWindows: true,
    requeueAt: secondsAfter(now, askAgainAfter),
  };
}

/** Waits for the approval. */
export const approval: MachineStep = (snapshot, now) => {
  const { request } = snapshot;
  if (
    request.history.startedAt !== undefined ||
    !request.needsApproval ||
    request.approved ||
    isUrgent(snapshot, now)
  )
    return undefined;
  const how = `kubectl annotate -n ${request.namespace} machinemaintenance ${request.name} drydock.dev/approved=true`;
  const deadline = deadlineFor(snapshot);
  const by = deadline ? ` before ${timeText(deadline)}` : '';
  return {
    phase: 'AwaitingApproval',
    reason: 'Approval',
    message: `Waiting for approval${by}: ${how}`,
    warning: true,
  };
};

/**
 * Begins nothing on a paused machine, for any announcement: its controllers would not create
 * another, and the user who has paused it does not expect it. Only a machine that goes within
 * minutes is drained, which changes its node and not the machine.
 */
export const unpaused: MachineStep = (snapshot, now) => {
  const { pause, request } = snapshot;
  if (pause === undefined || request.history.startedAt !== undefined || isUrgent(snapshot, now))
    return undefined;
  return { phase: 'Scheduled', ...pause, warning: true };
};

/** Returns the next look at a turn that is waited for: limits yield to a deadline. */
function turnAgain(
  snapshot: MachineSnapshot,
  expectedSeconds: number,
  now: Temporal.Instant,
): Pick<MachineDecision, 'requeueAt'> {
  const times = [dueAt(snapshot, expectedSeconds), deadlineFor(snapshot)];
  const next = times.find(time => time !== undefined && isBefore(now, time));
  return next === undefined ? {} : { requeueAt: next };
}

function turn(wait: string): MachineDecision {
  return { phase: 'Scheduled', reason: 'Turn', message: `Waiting for its turn: ${wait}` };
}

/**
 * Begins at the right time, and when it is its turn. The start is stored before anything else is
 * done.
 */
export const begin: MachineStep = (snapshot, now) => {
  if (snapshot.request.history.startedAt !== undefined) return undefined;
  const calendar = calendarFor(snapshot);
  if (isUrgent(snapshot, now)) return begun(snapshot, 'urgent', calendar);
  const expectedSeconds = expectedFor(snapshot, calendar);
  if (isLostAlready(snapshot, now)) {
    const wait = inTheWay(snapshot, expectedSeconds, now);
    return wait === undefined ? begun(snapshot, 'urgent', calendar) : turn(wait);
  }
  const start = startFor(snapshot, calendar, now);
  if (start.kind === 'never') {
    const message = neverText(calendar, start.longestSeconds, expectedSeconds);
    return {
      phase: 'Scheduled',
      reason: 'NoOpening',
      message,
      warning: true,
      requeueAt: secondsAfter(now, 86_400),
    };
  }
  if (isBefore(now, start.at)) return waitFor(snapshot, calendar, start, now);
  const wait = inTheWay(snapshot, expectedSeconds, now);
  if (wait !== undefined)
    return { ...turn(wait), startsAt: start.at, ...turnAgain(snapshot, expectedSeconds, now) };
  const { windowsProblem } = snapshot;
  return windowsProblem === undefined
    ? begun(snapshot, start, calendar)
    : waitForWindows(windowsProblem, now);
};

/**
 * Escalates to a replacement while the node is out of service for something less: as soon as it
 * could begin, the machine is replaced without its node coming back in between.
 */
export const escalateStrategy: MachineStep = (snapshot, now) => {
  if (!isOutgrown(snapshot)) return undefined;
  const fresh = withoutHistory(snapshot);
  const verdict = unpaused(fresh, now) ?? approval(fresh, now) ?? begin(fresh, now);
  if (verdict?.asksForWindows) return verdict;
  if (verdict?.begins === undefined) return undefined;
  return {
    ...verdict,
    reason: 'NewEvent',
    message: `Continuing as ${verdict.begins.strategy}: another event has been announced`,
  };
};

/** Returns the effect of the windows on work in progress: undefined if it may go on. */
export function closing(
  snapshot: MachineSnapshot,
  now: Temporal.Instant,
): { readonly atEnd: 'Pause' | 'Release'; readonly opens?: Temporal.Instant } | undefined {
  if (
    snapshot.request.history.becauseOfDeadline ||
    isUrgent(snapshot, now) ||
    isLostAlready(snapshot, now)
  )
    return undefined;
  const calendar = calendarFor(snapshot);
  const atEnd = atEndOf(calendar);
  if (atEnd === 'Continue' || openNow(calendar, now) !== undefined) return undefined;
  const [next] = nextSpans(calendar, now, 1);
  return { atEnd, ...(next && { opens: next.from }) };
}

/** Returns when work in progress has to be looked at because its window ends. */
export function closesAt(
  snapshot: MachineSnapshot,
  now: Temporal.Instant,
): Temporal.Instant | undefined {
  const calendar = calendarFor(snapshot);
  return calendar.windows.length === 0 || atEndOf(calendar) === 'Continue'
    ? undefined
    : openNow(calendar, now)?.to;
}
