import { conditionOf } from '../../hold/node.ts';
import { isBefore, secondsAfter, timeText } from '../../time.ts';
import { hookName, type Machine } from '../machine.ts';
import type { MachineRequest } from '../request.ts';
import type { MachinePicture, MachineStep, Supply, Verdict } from '../snapshot.ts';
import { isTakenAway } from '../urgency.ts';
import { childDrainWrite, createChildWrite, deleteMachineWrite, flagWrite, hookWrite, scaleWrite, stageWrite } from '../writes.ts';
import { closesAt, closing, deadlineFor } from './begin.ts';
import { ended, strategyOf } from './strategy.ts';
import { countBack, markOf, withdraw } from './withdraw.ts';

/** The work itself: a machine more, the node empty, the machine gone. Each step sees from the objects how far it is. */

const surging = (message: string, writes: NonNullable<Verdict['writes']> = []): Verdict => ({
  phase: 'Surging',
  reason: 'Replacement',
  message,
  writes,
});

/**
 * Machines that were there before the work began and have failed by themselves: their sets do not replace them, and they are not what the work waits for.
 * One that was made since and has failed is.
 */
const failedBefore = ({ failed }: Supply, { history: { startedAt } }: MachineRequest): number =>
  failed.filter(({ createdAt }) => startedAt !== undefined && isBefore(createdAt, startedAt)).length;

const isComplete = (supply: Supply, request: MachineRequest): boolean =>
  supply.ready + failedBefore(supply, request) >= supply.set.replicas;

const readyText = (supply: Supply, request: MachineRequest): string => {
  const { set, ready } = supply;
  const failed = failedBefore(supply, request);
  const besides = failed === 0 ? '' : `; ${failed} had failed before`;
  return `${set.kind} ${set.name} has ${ready} of ${set.replicas} machines with a node that is Ready${besides}`;
};

const isHooked = ({ preDrainHooks }: Machine): boolean => preDrainHooks.some(({ name }) => name === hookName);

/** Cluster API counts a machine that is being deleted, so its set has to be made larger by one. */
const surgeByScale = (picture: MachinePicture, supply: Supply): Verdict | undefined => {
  const { request, machine, surged } = picture;
  if (machine === undefined || machine.deleting || request.deletionIssued) return undefined;
  if (!isHooked(machine)) return surging('The machine is marked and kept whole', [hookWrite(machine, true, markOf(request))]);
  const [set] = surged;
  if (set === undefined)
    return surging(`A machine is added to ${supply.set.kind} ${supply.set.name}`, [scaleWrite(supply.set, request, 1)]);
  return isComplete(supply, request) ? undefined : surging(`Waits for the machine that was added: ${readyText(supply, request)}`);
};

/** OpenShift does not count it, and makes another as soon as one is deleted; the hook keeps the old one whole meanwhile. */
const surgeByHook = (picture: MachinePicture, supply: Supply): Verdict | undefined => {
  const { request, machine } = picture;
  if (machine === undefined) return undefined;
  const hooked = isHooked(machine);
  if (!machine.deleting) {
    if (!hooked) return surging('The machine is kept whole until its replacement is ready', [hookWrite(machine, true)]);
    if (!request.deletionIssued) return { ...surging('The machine is to be replaced'), own: flagWrite(request) };
    return surging('The machine is deleted; its set makes another', [deleteMachineWrite(machine, request)]);
  }
  if (!hooked || isComplete(supply, request)) return undefined;
  return surging(`Waits for the replacement: ${readyText(supply, request)}`);
};

/** One machine more before the node is emptied. */
export const surge: MachineStep = picture => {
  const { machine, supply } = picture;
  if (strategyOf(picture).strategy !== 'ReplaceWithSurge' || machine === undefined || supply === undefined) return undefined;
  return machine.api === 'capi' ? surgeByScale(picture, supply) : surgeByHook(picture, supply);
};

/** Seconds past its deadline after which a machine that its cloud wanted back and whose node is silent counts as lost. */
const lostAfter = 30;

const isReady = ({ node }: MachinePicture): boolean => node !== undefined && conditionOf(node, 'Ready')?.status === 'True';

const isLost = (picture: MachinePicture, now: Temporal.Instant): boolean => {
  const deadline = deadlineFor(picture);
  return isTakenAway(picture) && deadline !== undefined && !isReady(picture) && isBefore(secondsAfter(deadline, lostAfter), now);
};

const childText = (picture: MachinePicture): string => {
  const { child } = picture;
  const message = child?.status['message'];
  return typeof message === 'string' && message !== '' ? `${child?.name}: ${message}` : `${child?.name} waits to begin`;
};

const paused = (picture: MachinePicture, now: Temporal.Instant): Verdict | undefined => {
  const stop = closing(picture, now);
  if (stop === undefined) return undefined;
  const { child } = picture;
  const next = stop.opens === undefined ? 'no opening is in sight' : `goes on at ${timeText(stop.opens)}`;
  const again = stop.opens === undefined ? {} : { again: stop.opens };
  if (stop.atEnd === 'Pause') {
    const writes = child !== undefined && !child.deleting && child.stage === 'Drain' ? [stageWrite(child, 'Cordon')] : [];
    return { phase: 'Draining', reason: 'WindowClosed', message: `Paused, because the window has closed: ${next}`, writes, ...again };
  }
  const back = withdraw(picture);
  const message = `Given back, because the window has closed: ${next}`;
  return back ?? { phase: 'Scheduled', reason: 'WindowClosed', message, restarts: true, ...again };
};

/** Its own Maintenance says so, of the drain that it is told. */
const isDrained = ({ child, childChanged }: MachinePicture): boolean =>
  child?.history.state === 'Drained' &&
  child.stage === 'Drain' &&
  !childChanged &&
  Number(child.status['observedGeneration'] ?? 0) >= child.generation;

/** What another Maintenance says of another node, or for somebody else, moves nothing on here. */
const stranger = ({ stranger: other, request }: MachinePicture): Verdict | undefined =>
  other && {
    phase: 'Draining',
    reason: 'MaintenanceNotOurs',
    message: `Maintenance ${other.name} has the name that is needed here, but is for node ${other.nodeName}${other.part === undefined ? '' : ` and ${other.part.of}`}, not for ${request.key}: delete it`,
    warning: true,
  };

/** The node is held and emptied, by a Maintenance of its own: its budgets, its quorum and its blockers are the same as everywhere. */
export const drain: MachineStep = (picture, now) => {
  const { request, machine, child, node } = picture;
  const nodeName = machine?.nodeName ?? request.nodeName ?? request.history.nodeName;
  // A machine that never became a node, or whose node is gone, has nothing to drain.
  if (nodeName === undefined || node === undefined || isLost(picture, now)) return undefined;
  const isReplaced = strategyOf(picture).strategy !== 'Drain';
  // A node may outlive the machine that was replaced: once emptied and given back, it is not taken again.
  if (isReplaced && machine === undefined && child === undefined && request.history.drainedAt !== undefined) return undefined;
  // Its event is over, one way or the other: what is left is to give the node back.
  if (!isReplaced && ended(picture) !== undefined) return undefined;
  const alien = stranger(picture);
  if (alien !== undefined) return alien;
  if (isDrained(picture)) return undefined;
  const stop = paused(picture, now);
  if (stop !== undefined) return stop;
  const again = closesAt(picture, now);
  const common = { phase: 'Draining', reason: 'Drain', ...(again && { again }) } as const;
  if (child === undefined) {
    return { ...common, message: `Node ${nodeName} is put into maintenance`, writes: [createChildWrite(picture, nodeName, now)] };
  }
  if (picture.childChanged && !child.deleting)
    return { ...common, message: `The drain of ${child.name} is put back`, writes: [childDrainWrite(child, request)] };
  if (child.stage === 'Cordon' && !child.deleting) return { ...common, message: 'The drain goes on', writes: [stageWrite(child, 'Drain')] };
  return { ...common, message: childText(picture) };
};

const replacing = (message: string, writes: NonNullable<Verdict['writes']> = []): Verdict => ({
  phase: 'Replacing',
  reason: 'MachineDeletion',
  message,
  writes,
});

/**
 * Cluster API's set takes a machine that is being deleted first when it is made smaller. So the machine is deleted, kept whole by the hook, then
 * the one that was added is counted off, and then the hook goes: whatever else is being deleted, exactly this machine goes. The flag is stored
 * first: from then on only forward.
 */
const letGoByScale = (picture: MachinePicture): Verdict | undefined => {
  const { request, surged, machine } = picture;
  const [set] = surged;
  if (set === undefined) return undefined;
  // Its set has made another by itself.
  if (machine === undefined) return countBack(picture, set);
  if (!request.deletionIssued) return { ...replacing('The machine is to go'), own: flagWrite(request) };
  if (!machine.deleting) return replacing('The machine is deleted', [deleteMachineWrite(machine, request)]);
  return replacing(`${set.kind} ${set.name} is counted back`, [scaleWrite(set, request, -1)]);
};

const letGoByDeletion = ({ request, machine }: MachinePicture): Verdict | undefined => {
  if (machine === undefined) return undefined;
  if (!machine.deleting) {
    if (!request.deletionIssued) return { ...replacing('The machine is to be deleted'), own: flagWrite(request) };
    return replacing('The machine is deleted', [deleteMachineWrite(machine, request)]);
  }
  return isHooked(machine) ? replacing('The machine is let go', [hookWrite(machine, false)]) : undefined;
};

const goneText = ({ machine }: MachinePicture): string => {
  const others = machine?.preDrainHooks.map(({ name, owner }) => `${name} (${owner})`).join(', ');
  const hooks = others === undefined || others === '' ? '' : `; hooks of others: ${others}`;
  return `Waits until Machine ${machine?.name ?? ''} is gone${machine?.said === undefined ? '' : `: ${machine.said.slice(0, 500)}`}${hooks}`;
};

/** The machine goes, and the strategy is done when as many are there and Ready as there should be. */
export const replace: MachineStep = picture => {
  const { request, machine, supply } = picture;
  const { strategy } = strategyOf(picture);
  if (strategy !== 'Replace' && strategy !== 'ReplaceWithSurge') return undefined;
  const byScale = strategy === 'ReplaceWithSurge' && (machine ?? supply?.set)?.api === 'capi';
  const going = (byScale ? letGoByScale(picture) : undefined) ?? letGoByDeletion(picture);
  if (going !== undefined) return going;
  if (machine !== undefined) return replacing(goneText(picture));
  if (supply === undefined || isComplete(supply, request)) return undefined;
  return {
    phase: 'Replacing',
    reason: 'Replacement',
    message: `The machine is gone; waits for its replacement: ${readyText(supply, request)}`,
  };
};
