import type { EventKind } from '../event-kind.ts';
import { isReady } from '../node/node.ts';
import { isBefore, secondsAfter } from '../time.ts';
import { type MachineEvent, occurrenceOf } from './event.ts';
import type { MachineHistory } from './request.ts';
import type { MachineSnapshot } from './snapshot.ts';

/** What is left when an event is over: "Completed" says of a reboot that the danger has passed, and of a retirement that the harm is done. */

/** `passed`: the machine goes on. `taken`: the cloud has stopped the machine, or has it back. */
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

/** Whether the machine is gone, or stopped, once an event of this kind has happened. */
export const takesMachine = ({ kind }: Pick<MachineEvent, 'kind'>): boolean => aftermaths[kind] === 'taken';

/** Whether it has been dealt with. Statuses of before have the id of the first occurrence alone. */
export const isHandled = ({ handled }: Pick<MachineHistory, 'handled'>, event: MachineEvent): boolean =>
  handled.has(occurrenceOf(event)) || (event.occurrence === undefined && handled.has(event.id));

/** Seconds that a node gets to be missed: clouds call a reboot or a stop completed before the kubelet's silence is noticed. */
const settleSeconds = 60;

/** The events by which the cloud has taken the machine, by its own word, and that nothing was done about in an earlier life of the request. */
export const takenBy = ({ request }: MachineSnapshot): readonly MachineEvent[] =>
  request.events.filter(event => event.state === 'Completed' && takesMachine(event) && !isHandled(request.history, event));

/** When a node that is Ready is believed to have survived the end of its events. */
export const sparedAt = ({ request }: MachineSnapshot, now: Temporal.Instant): Temporal.Instant =>
  secondsAfter(request.history.eventsOverAt ?? now, settleSeconds);

/**
 * What has become of a machine all of whose events are over: taken, where its node is not Ready (any more); settling, as long as that may still show; spared
 * after that: somebody has started it again, or it was never taken. Undefined where none of the events takes a machine.
 */
export const fateOf = (snapshot: MachineSnapshot, now: Temporal.Instant): 'taken' | 'settling' | 'spared' | undefined => {
  const { node } = snapshot;
  if (takenBy(snapshot).length === 0) return undefined;
  if (node === undefined || !isReady(node)) return 'taken';
  return isBefore(now, sparedAt(snapshot, now)) ? 'settling' : 'spared';
};
