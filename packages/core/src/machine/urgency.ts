import { isBefore, secondsAfter } from '@drydock/apimachinery';
import { deadlineOf, isPending, type MachineEvent } from './event.ts';
import { takesAtOnce } from './request.ts';
import type { MachineSnapshot } from './snapshot.ts';

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
