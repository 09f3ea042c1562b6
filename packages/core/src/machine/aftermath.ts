import { isBefore, secondsAfter } from '@drydock/apimachinery';
import type { EventKind } from '../event-kind.ts';
import { conditionOf, isReady, type Node, transitionTimeOf } from '../node/node.ts';
import { deadlineOf, isPending, type MachineEvent, occurrenceOf } from './event.ts';
import { type MachineHistory, takesAtOnce } from './request.ts';
import type { MachineSnapshot } from './snapshot.ts';

/**
 * State after the end of an event: "Completed" means for a reboot that the danger has passed, and
 * for a retirement that the machine is lost.
 */

/**
 * Effects by kind. `passed`: the machine goes on. `taken`: the cloud has stopped the machine, or
 * has taken it back.
 */
const aftermaths: Readonly<Record<EventKind, 'passed' | 'taken'>> = {
  reboot: 'passed',
  redeploy: 'passed',
  freeze: 'passed',
  maintenance: 'passed',
  rebalance: 'passed',
  stop: 'taken',
  retirement: 'taken',
  termination: 'taken',
  preemption: 'taken',
};

/** Reports whether the machine is gone, or stopped, once an event of this kind has happened. */
export function takesMachine({ kind }: Pick<MachineEvent, 'kind'>): boolean {
  return aftermaths[kind] === 'taken';
}

/**
 * Reports whether the event has been handled. Statuses of older versions contain the id of the
 * first occurrence alone.
 */
export function isHandled(
  { handled }: Pick<MachineHistory, 'handled'>,
  event: MachineEvent,
): boolean {
  return (
    handled.has(occurrenceOf(event)) || (event.occurrence === undefined && handled.has(event.id))
  );
}

/**
 * Seconds until the absence of a node is noticed: clouds report a reboot or a stop as completed
 * before the kubelet's silence is noticed.
 */
const settleSeconds = 60;

/**
 * Returns the events by which the cloud reports to have taken the machine, and that were not
 * handled in an earlier life of the request.
 */
export function takenBy({ request }: MachineSnapshot): readonly MachineEvent[] {
  return request.events.filter(
    event =>
      event.state === 'Completed' && takesMachine(event) && !isHandled(request.history, event),
  );
}

/** Returns when a node that is Ready counts as having survived the end of its events. */
export function sparedAt({ request }: MachineSnapshot, now: Temporal.Instant): Temporal.Instant {
  return secondsAfter(request.history.eventsEndedAt ?? now, settleSeconds);
}

/**
 * Reports whether the node failed only after it had counted as having survived: a request that
 * does not end with its events outlives them, and that failure is none of theirs.
 */
function hasSurvived(snapshot: MachineSnapshot, node: Node, now: Temporal.Instant): boolean {
  const ready = conditionOf(node, 'Ready');
  const since = ready && transitionTimeOf(ready);
  return (
    snapshot.request.independent && since !== undefined && isBefore(sparedAt(snapshot, now), since)
  );
}

/**
 * Returns the fate of a machine all of whose events are over: taken, if its node is not Ready (any
 * more); settling, as long as that may still change; spared after that: the machine was started
 * again, or never taken. Undefined if none of the events takes a machine.
 */
export function fateOf(
  snapshot: MachineSnapshot,
  now: Temporal.Instant,
): 'taken' | 'settling' | 'spared' | undefined {
  const { node } = snapshot;
  if (takenBy(snapshot).length === 0) return undefined;
  if (node === undefined) return 'taken';
  if (!isReady(node)) return hasSurvived(snapshot, node, now) ? 'spared' : 'taken';
  return isBefore(now, sparedAt(snapshot, now)) ? 'settling' : 'spared';
}

/**
 * A machine that its cloud takes away within minutes: calendars, approvals and limits would not
 * keep it.
 */

/** Seconds of notice up to which it is urgent: any wait would only cost time that is left. */
const urgentWithin = 600;

/**
 * Seconds after its deadline for which it stays urgent: after that the machine is gone, or the
 * announcement was never true.
 */
const urgentUntil = 600;

/**
 * Returns events of such a kind from trusted sources: the agent of the node, or the cloud itself if
 * it is queried. Events of all other sources, including a node's own labels, wait for approval,
 * windows and limits like the rest.
 */
function taken({ request, urgentSources }: MachineSnapshot): readonly MachineEvent[] {
  return request.events.filter(
    event => isPending(event) && takesAtOnce(event) && urgentSources.has(event.source),
  );
}

/** Reports whether the cloud is taking the machine now, without a deadline. */
function isBeingTaken(snapshot: MachineSnapshot): boolean {
  return taken(snapshot).some(
    ({ state, deadline }) => state === 'Active' && deadline === undefined,
  );
}

/** Returns the deadline that is urgent at this moment. */
export function urgentDeadline(
  snapshot: MachineSnapshot,
  now: Temporal.Instant,
): Temporal.Instant | undefined {
  const deadline = deadlineOf(taken(snapshot));
  if (deadline === undefined || isBefore(secondsAfter(now, urgentWithin), deadline))
    return undefined;
  return isBefore(deadline, secondsAfter(now, -urgentUntil)) ? undefined : deadline;
}

/**
 * Reports whether the cloud takes the machine so soon that calendars, approvals and limits would
 * only cost time.
 */
export function isUrgent(snapshot: MachineSnapshot, now: Temporal.Instant): boolean {
  return isBeingTaken(snapshot) || urgentDeadline(snapshot, now) !== undefined;
}
