import { type EventState, isPending, type MachineEvent } from '../event.ts';
import { defaultStrategy, type MachineStrategy } from '../request.ts';
import type { MachineSnapshot, MachineStep } from '../snapshot.ts';

/** Which strategy it is, whether it can be followed, and which events it answers. */

/** Why the machine cannot be replaced in this way; undefined when it can. */
const obstacle = ({ request, machine, replacement, unidentified }: MachineSnapshot, strategy: MachineStrategy): string | undefined => {
  if (strategy === 'Drain' || strategy === 'Notify') return undefined;
  if (machine === undefined) {
    const why = unidentified === undefined ? '' : ` (${unidentified})`;
    return request.nodeOnly ? `node ${request.nodeName ?? request.machineName} has no Machine that could be replaced${why}` : undefined;
  }
  const what = `Machine ${machine.namespace}/${machine.name}`;
  if (machine.controlPlane && replacement?.set.controlPlane !== true) {
    return `${what} belongs to the control plane, and no active ControlPlaneMachineSet or KubeadmControlPlane would replace it`;
  }
  if (strategy === 'Replace') {
    // Who asks for it by name accepts that nothing takes its place.
    return replacement === undefined && request.strategy !== 'Replace' ? `${what} belongs to no set: nothing would replace it` : undefined;
  }
  if (machine.controlPlane) return `${what} belongs to the control plane: its controller knows the order, use strategy Replace`;
  if (replacement === undefined) return `${what} belongs to no MachineSet that could be made larger, use strategy Replace`;
  if (machine.api === 'capi' && replacement.set.topologyOwned) {
    return `${replacement.set.kind} ${replacement.set.name} takes its replicas from the topology of its Cluster, use strategy Replace`;
  }
  return undefined;
};

/** The strategy in force. A default that cannot be followed becomes Drain: the node is empty at least when the cloud comes. */
export const strategyOf = (snapshot: MachineSnapshot): { readonly strategy: MachineStrategy; readonly obstacle?: string } => {
  const { request } = snapshot;
  const chosen = request.history.strategy ?? request.strategy;
  const pending = request.events.filter(isPending);
  const events = pending.length > 0 ? pending : request.events;
  const strategy = chosen ?? defaultStrategy(request.independent ? [] : events);
  if (request.history.strategy !== undefined) return { strategy };
  const found = obstacle(snapshot, strategy);
  if (found === undefined) return { strategy };
  return chosen === undefined ? { strategy: 'Drain' } : { strategy, obstacle: found };
};

/** A strategy that somebody has chosen and that cannot be followed is not replaced by a guess. */
export const validateStrategy: MachineStep = snapshot => {
  const { obstacle } = strategyOf(snapshot);
  return obstacle === undefined ? undefined : { phase: 'Pending', reason: 'StrategyNotPossible', message: obstacle, warning: true };
};

/** The same, as if nothing had been begun. */
export const withoutHistory = (snapshot: MachineSnapshot): MachineSnapshot => {
  const { startedAt: _started, strategy: _strategy, ...history } = snapshot.request.history;
  return { ...snapshot, request: { ...snapshot.request, history } };
};

/** Something was announced meanwhile that calls for another machine, and the node is only kept out of service. */
export const isOutgrown = (snapshot: MachineSnapshot): boolean => {
  const { events, history } = snapshot.request;
  return history.strategy === 'Drain' && events.some(isPending) && strategyOf(withoutHistory(snapshot)).strategy === 'Replace';
};

/** The events that what was begun is an answer to: a node is not held for as long as a retirement is due in some weeks. */
export const coveredEvents = (snapshot: MachineSnapshot): readonly MachineEvent[] => {
  const { events } = snapshot.request;
  return isOutgrown(snapshot) ? events.filter(event => !isPending(event) || defaultStrategy([event]) !== 'Replace') : events;
};

/** How those events have ended; undefined as long as one is pending, or where the request is not an answer to any. */
export const ended = (snapshot: MachineSnapshot): EventState | undefined => {
  const events = coveredEvents(snapshot);
  if (snapshot.request.independent || events.some(isPending)) return undefined;
  return events.every(({ state }) => state === 'Cancelled') ? 'Cancelled' : 'Completed';
};
