import { isBefore, secondsAfter, timeText } from '../../time.ts';
import { fateOf, isHandled, sparedAt } from '../aftermath.ts';
import { type EventState, isPending } from '../event.ts';
import { isOver, type MachineRequest, nodeNameOf } from '../request.ts';
import type { MachineDecision, MachineSnapshot, MachineStep } from '../snapshot.ts';
import { announce, deleteRequestWrite, machineMaintenanceFinalizer, ownWrite, reasonOf } from '../writes.ts';
import { ended, isOutgrown, strategyOf } from './strategy.ts';
import { withdraw } from './withdraw.ts';

/** The beginning and the end of the object itself. */

const hasFinalizer = ({ finalizers }: MachineRequest): boolean => finalizers.includes(machineMaintenanceFinalizer);

/** Nothing is done before the finalizer is stored: from then on nothing that was begun can be forgotten. */
export const claim: MachineStep = ({ request }) => {
  if (request.deleting || hasFinalizer(request)) return undefined;
  const finalizers = [...request.finalizers, machineMaintenanceFinalizer];
  const told = announce(request, 'Normal', 'EventAnnounced', reasonOf(request));
  const own = ownWrite(request, 'claim', { metadata: { finalizers } }, [told]);
  return { phase: 'Pending', reason: 'NotClaimed', message: 'Waiting to be claimed', own };
};

/** A request that is deleted leaves nothing behind; a machine that is being replaced already goes on without us. */
export const cleanUp: MachineStep = snapshot => {
  const { request } = snapshot;
  if (!request.deleting) return undefined;
  const rest = withdraw(snapshot);
  if (rest !== undefined) return rest;
  const common = { phase: 'Releasing', reason: 'Ending', message: 'Releasing the node and the machine' } as const;
  if (!hasFinalizer(request)) return common;
  const finalizers = request.finalizers.filter(finalizer => finalizer !== machineMaintenanceFinalizer);
  const told = announce(request, 'Normal', 'MaintenanceEnded', 'The node and the machine are released');
  return { ...common, own: ownWrite(request, 'let go', { metadata: { finalizers } }, [told]) };
};

/** Whether a machine is there cannot be known while its API is away: nothing is concluded from that. */
export const requireMachineApi: MachineStep = ({ request, machineApi }) => {
  if (machineApi || request.nodeOnly) return undefined;
  const message = 'This cluster serves no machine API (machine.openshift.io, cluster.x-k8s.io) at the moment, or Drydock may not read it';
  return { phase: request.history.phase ?? 'Pending', reason: 'NoMachineApi', message, warning: true };
};

/**
 * Nothing is done to a machine whose node is another's, by a name alone: Machines of other clusters name nodes that are called like ours. One that is going already is
 * gone in any case, and its name may be its successor's.
 */
export const identified: MachineStep = snapshot => {
  const { request, machine, unidentified } = snapshot;
  if (unidentified === undefined || machine === undefined || machine.deleting) return undefined;
  if (strategyOf(snapshot).strategy === 'Notify') return undefined;
  const message = `Nothing proves which node the machine is: ${unidentified}. Correct spec.providerID or status.nodeRef of the Machine`;
  return { phase: request.history.phase ?? 'Pending', reason: 'NodeNotIdentified', message, warning: true };
};

const isNew = ({ events, history }: MachineRequest): boolean => events.some(event => isPending(event) && !isHandled(history, event));

const newEvent: MachineDecision = { phase: 'Pending', reason: 'NewEvent', message: 'Another event has been announced', restarts: true };

/** What was begun is over, and something else is announced already. */
export const restart: MachineStep = snapshot => (isOutgrown(snapshot) ? newEvent : undefined);

/** What is over is kept for a while, and taken away then unless its event is still announced: it would come back at once. */
export const retention: MachineStep = ({ request, machine }, now) => {
  const { phase, completedAt } = request.history;
  if (phase === undefined || !isOver(phase)) return undefined;
  if (isNew(request)) return newEvent;
  const kept: MachineDecision = { phase, reason: phase, message: '' };
  if (completedAt === undefined) return kept;
  const until = secondsAfter(completedAt, request.keepSeconds);
  if (isBefore(now, until)) return { ...kept, requeueAt: until };
  if (machine !== undefined && request.events.some(isPending)) return kept;
  return { ...kept, own: deleteRequestWrite(request, 'clean up') };
};

const isReplaced = (snapshot: MachineSnapshot): boolean => {
  const { strategy } = strategyOf(snapshot);
  return strategy === 'Replace' || strategy === 'ReplaceWithSurge';
};

/**
 * An end that is none: the cloud has taken the machine, which is replaced all the same, or it is not yet known whether it has. Undefined where the events have simply
 * ended.
 */
const harmDone = (snapshot: MachineSnapshot, state: EventState, now: Temporal.Instant): 'proceed' | MachineDecision | undefined => {
  const { request, machine, node } = snapshot;
  if (state !== 'Completed' || machine === undefined || !isReplaced(snapshot)) return undefined;
  const fate = fateOf(snapshot, now);
  if (fate === 'taken') return 'proceed';
  if (fate !== 'settling') return undefined;
  const requeueAt = sparedAt(snapshot, now);
  const message = `The cloud reports that it has taken the machine, and node ${node?.name} is still Ready: whether it stays so is looked at until ${timeText(requeueAt)}`;
  return { phase: request.history.phase ?? 'Pending', reason: 'Settling', message, requeueAt };
};

/** The event has ended before anything was begun for it, or the machine is gone: there is nothing to do any more. */
export const cancelObsolete: MachineStep = (snapshot, now) => {
  const { request, machine, node } = snapshot;
  if (request.history.startedAt !== undefined) return undefined;
  if (machine === undefined && !request.nodeOnly) {
    const message = `Machine ${request.machineName} does not exist (any more)`;
    return request.deletionIssued
      ? { phase: 'Succeeded', reason: 'MachineGone', message: `Machine ${request.machineName} is gone` }
      : { phase: 'Cancelled', reason: 'MachineGone', message };
  }
  if (request.nodeOnly && node === undefined) {
    return { phase: 'Cancelled', reason: 'NodeGone', message: `Node ${request.nodeName ?? request.machineName} does not exist (any more)` };
  }
  const state = ended(snapshot);
  if (state === undefined) return undefined;
  const harm = harmDone(snapshot, state, now);
  if (harm !== undefined) return harm === 'proceed' ? undefined : harm;
  const message = state === 'Cancelled' ? 'The cloud has cancelled its event' : 'The event was over before anything had to be done';
  return { phase: 'Cancelled', reason: state === 'Cancelled' ? 'EventCancelled' : 'EventCompleted', message };
};

/** Somebody only wants to know. */
export const notify: MachineStep = snapshot => {
  if (strategyOf(snapshot).strategy !== 'Notify') return undefined;
  const state = ended(snapshot);
  if (state !== undefined) return { phase: 'Succeeded', reason: `Event${state}`, message: 'The event is over' };
  return { phase: 'Notified', reason: 'EventPending', message: 'Announced; strategy Notify takes no action' };
};

/** A machine that is only to be drained, and has no node, has nothing to drain: one may join at any time before the event. */
export const joined: MachineStep = snapshot => {
  const { request, machine, node } = snapshot;
  if (request.history.startedAt !== undefined || machine === undefined || node !== undefined) return undefined;
  if (strategyOf(snapshot).strategy !== 'Drain' || nodeNameOf(request, machine) !== undefined) return undefined;
  const message = `No node has the providerID of Machine ${machine.name}, and its status names none: there is nothing to drain until one joins`;
  return { phase: 'Scheduled', reason: 'NoNode', message };
};

/** The event was cancelled while the work was under way: what can still be taken back is taken back. */
export const cancelOnEventEnd: MachineStep = (snapshot, now) => {
  const { request, machine } = snapshot;
  const state = ended(snapshot);
  const committed = request.deletionIssued || machine === undefined || machine.deleting;
  const { strategy } = strategyOf(snapshot);
  // Not by the phase: calling it off is Releasing too, and has to go on until nothing is left.
  const drained = request.history.drainedAt !== undefined;
  // A node that the cloud is done with has to be fit before it is released: that is asked later.
  if (state === undefined || (strategy === 'Drain' ? state === 'Completed' || drained : committed)) return undefined;
  const harm = harmDone(snapshot, state, now);
  if (harm !== undefined) return harm === 'proceed' ? undefined : harm;
  const reason = state === 'Cancelled' ? 'EventCancelled' : 'EventCompleted';
  const over = { phase: 'Cancelled', reason, message: 'The event is over; everything has been released' } as const;
  return withdraw(snapshot) ?? restart(snapshot, now) ?? over;
};
