import { isBefore, secondsAfter } from '../time.ts';
import { deadlineOf, isPending, type MachineEvent } from './event.ts';
import { takesAtOnce } from './request.ts';
import type { MachineSnapshot } from './snapshot.ts';

/** A machine that its cloud takes away within minutes: calendars, approvals and limits would not keep it. */

/** A notice of seconds or minutes: waiting for anything would only cost what is left. In seconds. */
const urgentWithin = 600;

/** A deadline that has passed for longer than this presses nobody any more: the machine is gone, or the announcement was never true. In seconds. */
const urgentUntil = 600;

/**
 * What is announced of such a kind by somebody whose word on it counts: the agent of the node, or the cloud itself when it is asked. Everybody else, a node's own
 * labels among them, is heard, and waits for approval, windows and limits like the rest.
 */
const taken = ({ request, urgentSources }: MachineSnapshot): readonly MachineEvent[] =>
  request.events.filter(event => isPending(event) && takesAtOnce(event) && urgentSources.has(event.source));

/** Whether the cloud is taking the machine now, and does not say by when. */
const isBeingTaken = (snapshot: MachineSnapshot): boolean =>
  taken(snapshot).some(({ state, deadline }) => state === 'Active' && deadline === undefined);

/** The deadline that presses at this moment. */
export const urgentDeadline = (snapshot: MachineSnapshot, now: Temporal.Instant): Temporal.Instant | undefined => {
  const deadline = deadlineOf(taken(snapshot));
  if (deadline === undefined || isBefore(secondsAfter(now, urgentWithin), deadline)) return undefined;
  return isBefore(deadline, secondsAfter(now, -urgentUntil)) ? undefined : deadline;
};

/** Whether the cloud takes the machine so soon that calendars, approvals and limits would only cost what is left. */
export const isUrgent = (snapshot: MachineSnapshot, now: Temporal.Instant): boolean =>
  isBeingTaken(snapshot) || urgentDeadline(snapshot, now) !== undefined;
