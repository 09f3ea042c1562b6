import { type EventState, isPending, type MachineEvent } from '../event.ts';
import { defaultStrategy, type Strategy } from '../request.ts';
import type { MachinePicture, MachineStep } from '../snapshot.ts';

/** Which strategy it is, whether it can be followed, and which events it answers. */

/** Why the machine cannot be replaced in this way; undefined when it can. */
const obstacle = ({ request, machine, supply }: MachinePicture, strategy: Strategy): string | undefined => {
  if (strategy === 'Drain' || strategy === 'Notify') return undefined;
  if (machine === undefined) {
    return request.nodeOnly ? `node ${request.nodeName ?? request.machineName} has no Machine that could be replaced` : undefined;
  }
  const what = `Machine ${machine.namespace}/${machine.name}`;
  if (machine.controlPlane && supply?.set.controlPlane !== true) {
    return `${what} belongs to the control plane, and no active ControlPlaneMachineSet or KubeadmControlPlane would replace it`;
  }
  if (strategy === 'Replace') {
    // Who asks for it by name accepts that nothing takes its place.
    return supply === undefined && request.strategy !== 'Replace' ? `${what} belongs to no set: nothing would replace it` : undefined;
  }
  if (machine.controlPlane) return `${what} belongs to the control plane: its controller knows the order, use strategy Replace`;
  if (supply === undefined) return `${what} belongs to no MachineSet that could be made larger, use strategy Replace`;
  if (machine.api === 'capi' && supply.set.topologyOwned) {
    return `${supply.set.kind} ${supply.set.name} takes its replicas from the topology of its Cluster, use strategy Replace`;
  }
  return undefined;
};

/** The strategy in force. A default that cannot be followed becomes Drain: the node is empty at least when the cloud comes. */
export const strategyOf = (picture: MachinePicture): { readonly strategy: Strategy; readonly obstacle?: string } => {
  const { request } = picture;
  const chosen = request.history.strategy ?? request.strategy;
  const pending = request.events.filter(isPending);
  const strategy = chosen ?? defaultStrategy(pending.length > 0 ? pending : request.events);
  if (request.history.strategy !== undefined) return { strategy };
  const found = obstacle(picture, strategy);
  if (found === undefined) return { strategy };
  return chosen === undefined ? { strategy: 'Drain' } : { strategy, obstacle: found };
};

/** A strategy that somebody has chosen and that cannot be followed is not replaced by a guess. */
export const possible: MachineStep = picture => {
  const { obstacle } = strategyOf(picture);
  return obstacle === undefined ? undefined : { phase: 'Pending', reason: 'StrategyNotPossible', message: obstacle, warning: true };
};

/** The same, as if nothing had been begun. */
export const anew = (picture: MachinePicture): MachinePicture => {
  const { startedAt: _started, strategy: _strategy, ...history } = picture.request.history;
  return { ...picture, request: { ...picture.request, history } };
};

/** Something was announced meanwhile that calls for another machine, and the node is only kept out of service. */
export const isOutgrown = (picture: MachinePicture): boolean => {
  const { events, history } = picture.request;
  return history.strategy === 'Drain' && events.some(isPending) && strategyOf(anew(picture)).strategy === 'Replace';
};

/** The events that what was begun is an answer to: a node is not held for as long as a retirement is due in some weeks. */
export const answered = (picture: MachinePicture): readonly MachineEvent[] => {
  const { events } = picture.request;
  return isOutgrown(picture) ? events.filter(event => !isPending(event) || defaultStrategy([event]) !== 'Replace') : events;
};

/** How those events have ended; undefined as long as one is pending, or where nothing was announced at all. */
export const ended = (picture: MachinePicture): EventState | undefined => {
  const events = answered(picture);
  if (picture.request.events.length === 0 || events.some(isPending)) return undefined;
  return events.every(({ state }) => state === 'Cancelled') ? 'Cancelled' : 'Completed';
};
