import { type EventState, isPending, type MachineEvent } from '../event.ts';
import { defaultStrategy, type MachineStrategy } from '../request.ts';
import type { MachineSnapshot, MachineStep } from '../snapshot.ts';

/** The strategy, whether it is possible, and which events it covers. */

/** Returns why the machine cannot be replaced in this way; undefined if it can. */
function obstacle(
  { request, machine, replacement, unidentified }: MachineSnapshot,
  strategy: MachineStrategy,
): string | undefined {
  if (strategy === 'Drain' || strategy === 'Notify') return undefined;
  if (machine === undefined) {
    const why = unidentified === undefined ? '' : ` (${unidentified})`;
    return request.nodeOnly
      ? `node ${request.nodeName ?? request.machineName} has no Machine that could be replaced${why}`
      : undefined;
  }
  const what = `Machine ${machine.namespace}/${machine.name}`;
  if (machine.controlPlane && replacement?.set.controlPlane !== true) {
    return `${what} belongs to the control plane, and no active ControlPlaneMachineSet or KubeadmControlPlane would replace it`;
  }
  if (strategy === 'Replace') {
    // A user who sets the strategy explicitly accepts that nothing replaces it.
    return replacement === undefined && request.strategy !== 'Replace'
      ? `${what} belongs to no set: nothing would replace it`
      : undefined;
  }
  if (machine.controlPlane)
    return `${what} belongs to the control plane: its controller knows the order, use strategy Replace`;
  if (replacement === undefined)
    return `${what} belongs to no MachineSet that could be made larger, use strategy Replace`;
  if (machine.api === 'capi' && replacement.set.topologyOwned) {
    return `${replacement.set.kind} ${replacement.set.name} takes its replicas from the topology of its Cluster, use strategy Replace`;
  }
  return undefined;
}

/**
 * Returns the strategy in force. A default that is not possible becomes Drain: at least the node is
 * empty when the cloud begins.
 */
export function strategyOf(snapshot: MachineSnapshot): {
  readonly strategy: MachineStrategy;
  readonly obstacle?: string;
} {
  const { request } = snapshot;
  const chosen = request.history.strategy ?? request.strategy;
  const pending = request.events.filter(isPending);
  const events = pending.length > 0 ? pending : request.events;
  const strategy = chosen ?? defaultStrategy(request.independent ? [] : events);
  if (request.history.strategy !== undefined) return { strategy };
  const found = obstacle(snapshot, strategy);
  if (found === undefined) return { strategy };
  return chosen === undefined ? { strategy: 'Drain' } : { strategy, obstacle: found };
}

/** Reports whether the strategy in force replaces the machine. */
export function isReplaced(snapshot: MachineSnapshot): boolean {
  const { strategy } = strategyOf(snapshot);
  return strategy === 'Replace' || strategy === 'ReplaceWithSurge';
}

/**
 * Rejects a strategy that a user has chosen and that is not possible: it is not replaced by a
 * guess.
 */
export const validateStrategy: MachineStep = snapshot => {
  const { obstacle } = strategyOf(snapshot);
  return obstacle === undefined
    ? undefined
    : { phase: 'Pending', reason: 'StrategyNotPossible', message: obstacle, warning: true };
};

/** Returns the snapshot as if nothing had begun. */
export function withoutHistory(snapshot: MachineSnapshot): MachineSnapshot {
  const { startedAt: _started, strategy: _strategy, ...history } = snapshot.request.history;
  return { ...snapshot, request: { ...snapshot.request, history } };
}

/**
 * Reports whether an event that was announced meanwhile demands another machine, while the node is
 * only kept out of service.
 */
export function isOutgrown(snapshot: MachineSnapshot): boolean {
  const { events, history } = snapshot.request;
  return (
    history.strategy === 'Drain' &&
    events.some(isPending) &&
    strategyOf(withoutHistory(snapshot)).strategy === 'Replace'
  );
}

/**
 * Returns the events that the present work covers: a node is not held until a retirement that is
 * due in some weeks.
 */
export function coveredEvents(snapshot: MachineSnapshot): readonly MachineEvent[] {
  const { events } = snapshot.request;
  return isOutgrown(snapshot)
    ? events.filter(event => !isPending(event) || defaultStrategy([event]) !== 'Replace')
    : events;
}

/** Reports whether none of those events is pending, also of a request that outlives them. */
export function areOver(snapshot: MachineSnapshot): boolean {
  return !coveredEvents(snapshot).some(isPending);
}

/**
 * Returns how those events have ended; undefined as long as one is pending, or if the request does
 * not respond to any.
 */
export function ended(snapshot: MachineSnapshot): EventState | undefined {
  if (snapshot.request.independent || !areOver(snapshot)) return undefined;
  const isCancelled = coveredEvents(snapshot).every(({ state }) => state === 'Cancelled');
  return isCancelled ? 'Cancelled' : 'Completed';
}
