import { isBefore, secondsAfter, timeText } from '@drydock/apimachinery';
import { fateOf, isHandled, sparedAt } from '../aftermath.ts';
import { type EventState, isPending } from '../event.ts';
import { isOver, type MachineRequest, nodeNameOf } from '../request.ts';
import type { MachineDecision, MachineSnapshot, MachineStep } from '../snapshot.ts';
import {
  announce,
  deleteRequestWrite,
  machineMaintenanceFinalizer,
  ownWrite,
  reasonOf,
} from '../writes.ts';
import { ended, isOutgrown, isReplaced, strategyOf, withdraw } from './strategy.ts';

/** Beginning and end of the object itself. */

function hasFinalizer({ finalizers }: MachineRequest): boolean {
  return finalizers.includes(machineMaintenanceFinalizer);
}

/**
 * Claims the request. Nothing is done before the finalizer is stored: from then on nothing that was
 * begun can be forgotten.
 */
export const claim: MachineStep = ({ request }) => {
  if (request.deleting || hasFinalizer(request)) return undefined;
  const finalizers = [...request.finalizers, machineMaintenanceFinalizer];
  const event = announce(request, 'Normal', 'EventAnnounced', reasonOf(request));
  const own = ownWrite(request, 'claim', { metadata: { finalizers } }, [event]);
  return { phase: 'Pending', reason: 'NotClaimed', message: 'Waiting to be claimed', own };
};

/**
 * Cleans up after a deleted request; a machine that is being replaced already goes on without us.
 */
export const cleanUp: MachineStep = snapshot => {
  const { request } = snapshot;
  if (!request.deleting) return undefined;
  const rest = withdraw(snapshot);
  if (rest !== undefined) return rest;
  const common = {
    phase: 'Releasing',
    reason: 'Ending',
    message: 'Releasing the node and the machine',
  } as const;
  if (!hasFinalizer(request)) return common;
  const finalizers = request.finalizers.filter(
    finalizer => finalizer !== machineMaintenanceFinalizer,
  );
  const event = announce(
    request,
    'Normal',
    'MaintenanceEnded',
    'The node and the machine are released',
  );
  return { ...common, own: ownWrite(request, 'let go', { metadata: { finalizers } }, [event]) };
};

/**
 * Waits for the machine API: while it is away, the existence of a machine cannot be known, and
 * nothing is concluded.
 */
export const requireMachineApi: MachineStep = ({ request, machineApi }) => {
  if (machineApi || request.nodeOnly) return undefined;
  const message =
    'This cluster serves no machine API (machine.openshift.io, cluster.x-k8s.io) at the moment, or Drydock may not read it';
  return {
    phase: request.history.phase ?? 'Pending',
    reason: 'NoMachineApi',
    message,
    warning: true,
  };
};

/**
 * Requires a proven node: nothing is done to a machine whose node is known by name alone, because
 * Machines of other clusters name nodes that have the same names as ours. A machine that is being
 * deleted already is gone in any case, and its name may be its successor's.
 */
export const identified: MachineStep = snapshot => {
  const { request, machine, unidentified } = snapshot;
  if (unidentified === undefined || machine === undefined || machine.deleting) return undefined;
  if (strategyOf(snapshot).strategy === 'Notify') return undefined;
  const message = `Nothing proves which node the machine is: ${unidentified}. Correct spec.providerID or status.nodeRef of the Machine`;
  return {
    phase: request.history.phase ?? 'Pending',
    reason: 'NodeNotIdentified',
    message,
    warning: true,
  };
};

function isNew({ events, history }: MachineRequest): boolean {
  return events.some(event => isPending(event) && !isHandled(history, event));
}

const newEvent: MachineDecision = {
  phase: 'Pending',
  reason: 'NewEvent',
  message: 'Another event has been announced',
  restarts: true,
};

/** Restarts when the work is over, and another event is announced already. */
export const restart: MachineStep = snapshot => (isOutgrown(snapshot) ? newEvent : undefined);

/**
 * Keeps a finished request for a while, and deletes it then unless its event is still announced:
 * the request would come back at once.
 */
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

/**
 * Returns the result for an end that is none: the cloud has taken the machine, which is replaced
 * all the same, or it is not yet known whether it has. Undefined if the events have simply ended.
 */
function harmDone(
  snapshot: MachineSnapshot,
  state: EventState,
  now: Temporal.Instant,
): 'proceed' | MachineDecision | undefined {
  const { request, machine, node } = snapshot;
  if (state !== 'Completed' || machine === undefined || !isReplaced(snapshot)) return undefined;
  const fate = fateOf(snapshot, now);
  if (fate === 'taken') return 'proceed';
  if (fate !== 'settling') return undefined;
  const requeueAt = sparedAt(snapshot, now);
  const message = `The cloud reports that it has taken the machine, and node ${node?.name} is still Ready: whether it stays so is looked at until ${timeText(requeueAt)}`;
  return { phase: request.history.phase ?? 'Pending', reason: 'Settling', message, requeueAt };
}

/**
 * Cancels a request whose event has ended before any work, or whose machine is gone: nothing is
 * left to do.
 */
export const cancelObsolete: MachineStep = (snapshot, now) => {
  const { request, machine, node } = snapshot;
  if (request.history.startedAt !== undefined) return undefined;
  if (machine === undefined && !request.nodeOnly) {
    const message = `Machine ${request.machineName} does not exist (any more)`;
    return request.deletionIssued
      ? {
          phase: 'Succeeded',
          reason: 'MachineGone',
          message: `Machine ${request.machineName} is gone`,
        }
      : { phase: 'Cancelled', reason: 'MachineGone', message };
  }
  if (request.nodeOnly && node === undefined) {
    return {
      phase: 'Cancelled',
      reason: 'NodeGone',
      message: `Node ${request.nodeName ?? request.machineName} does not exist (any more)`,
    };
  }
  const state = ended(snapshot);
  if (state === undefined) return undefined;
  const harm = harmDone(snapshot, state, now);
  if (harm !== undefined) return harm === 'proceed' ? undefined : harm;
  const message =
    state === 'Cancelled'
      ? 'The cloud has cancelled its event'
      : 'The event was over before anything had to be done';
  return {
    phase: 'Cancelled',
    reason: state === 'Cancelled' ? 'EventCancelled' : 'EventCompleted',
    message,
  };
};

/** Handles strategy Notify, which only reports. */
export const notify: MachineStep = snapshot => {
  if (strategyOf(snapshot).strategy !== 'Notify') return undefined;
  const state = ended(snapshot);
  if (state !== undefined)
    return { phase: 'Succeeded', reason: `Event${state}`, message: 'The event is over' };
  return {
    phase: 'Notified',
    reason: 'EventPending',
    message: 'Announced; strategy Notify takes no action',
  };
};

/**
 * Waits for a node: a machine that is only to be drained, and has no node, has nothing to drain.
 * One may join at any time before the event.
 */
export const joined: MachineStep = snapshot => {
  const { request, machine, node } = snapshot;
  if (request.history.startedAt !== undefined || machine === undefined || node !== undefined)
    return undefined;
  if (strategyOf(snapshot).strategy !== 'Drain' || nodeNameOf(request, machine) !== undefined)
    return undefined;
  const message = `No node has the providerID of Machine ${machine.name}, and its status names none: there is nothing to drain until one joins`;
  return { phase: 'Scheduled', reason: 'NoNode', message };
};

/** Undoes the work, as far as possible, if the event was cancelled meanwhile. */
export const cancelOnEventEnd: MachineStep = (snapshot, now) => {
  const { request, machine } = snapshot;
  const state = ended(snapshot);
  const committed = request.deletionIssued || machine === undefined || machine.deleting;
  const { strategy } = strategyOf(snapshot);
  // Not by the phase: a cancellation has the phase Releasing too, and has to go on until nothing is
  // left.
  const drained = request.history.drainedAt !== undefined;
  // A node that the cloud is done with has to be fit before it is released: that is checked later.
  if (state === undefined || (strategy === 'Drain' ? state === 'Completed' || drained : committed))
    return undefined;
  const harm = harmDone(snapshot, state, now);
  if (harm !== undefined) return harm === 'proceed' ? undefined : harm;
  const reason = state === 'Cancelled' ? 'EventCancelled' : 'EventCompleted';
  const over = {
    phase: 'Cancelled',
    reason,
    message: 'The event is over; everything has been released',
  } as const;
  return withdraw(snapshot) ?? restart(snapshot, now) ?? over;
};
