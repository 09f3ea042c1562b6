import { isBefore, joinLimited, secondsAfter, timeText } from '@drydock/apimachinery';
import { isDrained, levelWrite } from '../../maintenance/decide.ts';
import { conditionOf, isReady } from '../../node/node.ts';
import { isUrgent, takenBy, takesMachine } from '../aftermath.ts';
import { isPending, type MachineEvent } from '../event.ts';
import { hookName, type Machine } from '../machine.ts';
import { type MachinePhase, type MachineRequest, nodeNameOf, takesAtOnce } from '../request.ts';
import type {
  MachineDecision,
  MachineSnapshot,
  MachineStep,
  ReplacementSet,
  UnreadyMachine,
} from '../snapshot.ts';
import {
  childDrainWrite,
  createChildWrite,
  deleteMachineWrite,
  flagWrite,
  hookWrite,
  scaleWrite,
} from '../writes.ts';
import { closesAt, closing, deadlineFor, isTakenAlready } from './begin.ts';
import { areOver, ended, markOf, revertScale, strategyOf, withdraw } from './strategy.ts';

/**
 * The work itself: one more machine, the node empty, the machine gone. Each step reads its progress
 * from the objects.
 */

function surging(
  message: string,
  writes: NonNullable<MachineDecision['writes']> = [],
): MachineDecision {
  return {
    phase: 'Surging',
    reason: 'Replacement',
    message,
    writes,
  };
}

function hasReadyNode({ node }: MachineSnapshot): boolean {
  return node !== undefined && isReady(node);
}

/**
 * Seconds that the operator's clock may be ahead of the clocks of a machine's creation time, and of
 * a node's transition times.
 */
const clockTolerance = 30;

/**
 * Reports whether the machine had failed, or its node was not Ready, before the work began: its
 * replacement is a separate matter, and the work does not wait for it. The work does wait for a
 * machine that was created since, and if the clocks leave it open.
 */
function isUnreadyBefore(
  { machine, since }: UnreadyMachine,
  { history: { startedAt } }: MachineRequest,
): boolean {
  const isEarlier = (moment: Temporal.Instant | undefined): boolean =>
    moment !== undefined &&
    startedAt !== undefined &&
    isBefore(secondsAfter(moment, clockTolerance), startedAt);
  return isEarlier(machine.createdAt) && (machine.phase === 'Failed' || isEarlier(since));
}

function isComplete({ set, ready, unready }: ReplacementSet, request: MachineRequest): boolean {
  return ready + unready.filter(one => isUnreadyBefore(one, request)).length >= set.replicas;
}

function readyText({ set, ready, unready }: ReplacementSet, request: MachineRequest): string {
  const named = (before: boolean): string =>
    joinLimited(
      unready
        .filter(one => isUnreadyBefore(one, request) === before)
        .map(({ machine }) => machine.name)
        .toSorted(),
      3,
    );
  const [others, before] = [named(false), named(true)];
  const awaited = others === '' ? '' : `; not Ready: ${others}`;
  const besides = before === '' ? '' : `; not Ready before, and not waited for: ${before}`;
  return `${set.kind} ${set.name} has ${ready} of ${set.replicas} machines with a node that is Ready${awaited}${besides}`;
}

/**
 * Reports the same without regard to the machine that is to be replaced: its cloud may have stopped
 * it already.
 */
function isCompleteBeside(
  machine: Machine,
  replacement: ReplacementSet,
  snapshot: MachineSnapshot,
): boolean {
  const others = {
    ...replacement,
    unready: replacement.unready.filter(one => one.machine.uid !== machine.uid),
  };
  const own = hasReadyNode(snapshot) ? 0 : 1;
  return isComplete({ ...others, ready: replacement.ready + own }, snapshot.request);
}

function isHooked({ preDrainHooks }: Machine): boolean {
  return preDrainHooks.some(({ name }) => name === hookName);
}

/**
 * Surges by scale: Cluster API counts a machine that is being deleted, so its set has to be scaled
 * up by one.
 */
function surgeByScale(
  snapshot: MachineSnapshot,
  replacement: ReplacementSet,
): MachineDecision | undefined {
  const { request, machine, surged } = snapshot;
  if (machine === undefined || machine.deleting || request.deletionIssued) return undefined;
  if (!isHooked(machine))
    return surging(
      'Marking the machine as the next to be deleted, and keeping it until its replacement is ready',
      [hookWrite(machine, true, markOf(request))],
    );
  const [set] = surged;
  if (set === undefined)
    return surging(`Adding a machine to ${replacement.set.kind} ${replacement.set.name}`, [
      scaleWrite(replacement.set, request, 1),
    ]);
  return isCompleteBeside(machine, replacement, snapshot)
    ? undefined
    : surging(`Waiting for the machine that was added: ${readyText(replacement, request)}`);
}

/**
 * Surges by hook: OpenShift does not count such a machine, and creates another as soon as one is
 * deleted; the hook keeps the old one meanwhile.
 */
function surgeByHook(
  snapshot: MachineSnapshot,
  replacement: ReplacementSet,
): MachineDecision | undefined {
  const { request, machine } = snapshot;
  if (machine === undefined) return undefined;
  const hooked = isHooked(machine);
  if (!machine.deleting) {
    if (!hooked)
      return surging('Keeping the machine until its replacement is ready', [
        hookWrite(machine, true),
      ]);
    if (!request.deletionIssued)
      return {
        ...surging('Deleting the machine; its set creates another'),
        own: flagWrite(request),
      };
    return surging('Deleting the machine; its set creates another', [
      deleteMachineWrite(machine, request),
    ]);
  }
  if (!hooked || isComplete(replacement, request)) return undefined;
  return surging(`Waiting for the replacement: ${readyText(replacement, request)}`);
}

/** Pauses work in progress before it changes a machine that has been paused meanwhile. */
function pausedAt(
  phase: MachinePhase,
  { pause, machine }: MachineSnapshot,
): MachineDecision | undefined {
  return pause === undefined || machine === undefined
    ? undefined
    : { phase, ...pause, warning: true };
}

/** Adds one machine before the node is drained. */
export const surge: MachineStep = (snapshot, now) => {
  const { machine, replacement } = snapshot;
  if (
    strategyOf(snapshot).strategy !== 'ReplaceWithSurge' ||
    machine === undefined ||
    replacement === undefined
  )
    return undefined;
  // Its pods have to leave within minutes, with or without another machine.
  if (snapshot.pause !== undefined)
    return isUrgent(snapshot, now) ? undefined : pausedAt('Surging', snapshot);
  return machine.api === 'capi'
    ? surgeByScale(snapshot, replacement)
    : surgeByHook(snapshot, replacement);
};

/**
 * Seconds past its deadline after which a machine that its cloud takes back and whose node is
 * silent counts as lost.
 */
const lostAfter = 30;

/**
 * Reports whether the cloud has taken the machine, according to a trusted source, and its node is
 * silent: no kubelet terminates its pods, so a drain would wait for ever. An unknown node proves
 * nothing about that.
 */
function isLost(snapshot: MachineSnapshot, now: Temporal.Instant): boolean {
  const { node, request, urgentSources } = snapshot;
  if (node === undefined || isReady(node)) return false;
  // A stop or a retirement may be announced without any right: for those the kubelet has to be
  // silent too, and the cluster ends the pods of such a node itself, after five minutes.
  const isSilent = conditionOf(node, 'Ready')?.status !== 'False';
  const counts = (event: MachineEvent): boolean =>
    urgentSources.has(event.source) && (isSilent || takesAtOnce(event));
  if (areOver(snapshot)) return isTakenAlready(snapshot, now) && takenBy(snapshot).some(counts);
  const taking = request.events.filter(
    event => isPending(event) && takesMachine(event) && counts(event),
  );
  const deadline = taking.length === 0 ? undefined : deadlineFor(snapshot);
  return deadline !== undefined && isBefore(secondsAfter(deadline, lostAfter), now);
}

function childText(snapshot: MachineSnapshot): string {
  const { child } = snapshot;
  const message = child?.status['message'];
  return typeof message === 'string' && message !== ''
    ? `${child?.name}: ${message}`
    : `${child?.name} is waiting to begin`;
}

function paused(snapshot: MachineSnapshot, now: Temporal.Instant): MachineDecision | undefined {
  const stop = closing(snapshot, now);
  if (stop === undefined) return undefined;
  const { child } = snapshot;
  const next =
    stop.opens === undefined ? 'no opening is known' : `continues at ${timeText(stop.opens)}`;
  const requeueAt = stop.opens === undefined ? {} : { requeueAt: stop.opens };
  if (stop.atEnd === 'Pause') {
    const writes =
      child !== undefined && !child.deleting && child.level === 'Drain'
        ? [levelWrite(child, 'Cordon')]
        : [];
    return {
      phase: 'Draining',
      reason: 'WindowClosed',
      message: `Paused: the window has closed; ${next}`,
      writes,
      ...requeueAt,
    };
  }
  const back = withdraw(snapshot);
  const message = `Released: the window has closed; ${next}`;
  return (
    back ?? { phase: 'Scheduled', reason: 'WindowClosed', message, restarts: true, ...requeueAt }
  );
}

/** Reports whether its own Maintenance has drained the node, with the wanted drain policy. */
function isEmptied({ child, childChanged }: MachineSnapshot): boolean {
  return child !== undefined && !childChanged && isDrained(child);
}

/**
 * Returns the decision for a foreign Maintenance: one of another node, or of another owner, proves
 * nothing here.
 */
function stranger({ stranger: other, request }: MachineSnapshot): MachineDecision | undefined {
  return (
    other && {
      phase: 'Draining',
      reason: 'MaintenanceNotOurs',
      message: `Maintenance ${other.name} has the name that this maintenance needs, but is of node ${other.nodeName}${other.part === undefined ? '' : ` and belongs to ${other.part.of}`}, not to ${request.key}: delete it`,
      warning: true,
    }
  );
}

/** Seconds until a node is looked up again. */
const lookAgainAfter = 1;

/**
 * Looks up the node: the watch of the nodes may lag behind that of the machines. A node that the
 * machine names, or that would have its providerID, counts as existing until the API server has
 * denied it.
 */
function unseen(
  { request, machine, nodeIsGone }: MachineSnapshot,
  now: Temporal.Instant,
): MachineDecision | undefined {
  if (machine === undefined || machine.deleting || nodeIsGone) return undefined;
  const name = nodeNameOf(request, machine);
  const { providerId } = machine;
  if (name === undefined && providerId === undefined) return undefined;
  const what =
    name === undefined
      ? `a node with the providerID of Machine ${machine.name}`
      : `node ${name} of Machine ${machine.name}`;
  const message = `Waiting: reading ${what} from the API server`;
  const unseenNode = name === undefined ? { providerId: providerId ?? '' } : { name };
  return {
    phase: 'Draining',
    reason: 'NodeUnknown',
    message,
    unseenNode,
    requeueAt: secondsAfter(now, lookAgainAfter),
  };
}

/**
 * Holds and drains the node, by a Maintenance of its own: with the same budgets, quorum and
 * blockers as everywhere.
 */
export const drain: MachineStep = (snapshot, now) => {
  const { request, machine, child, node } = snapshot;
  const nodeName = nodeNameOf(request, machine);
  if (isLost(snapshot, now)) return undefined;
  // A machine that never became a node, or whose node is gone, has nothing to drain.
  if (nodeName === undefined) return unseen(snapshot, now);
  const isReplaced = strategyOf(snapshot).strategy !== 'Drain';
  // A node may outlive the machine that was replaced: once drained and released, it is not taken
  // again.
  if (
    isReplaced &&
    machine === undefined &&
    child === undefined &&
    request.history.drainedAt !== undefined
  )
    return undefined;
  // Its event is over in either way: only the release of the node is left.
  if (!isReplaced && ended(snapshot) !== undefined) return undefined;
  if (node === undefined) return unseen(snapshot, now);
  const alien = stranger(snapshot);
  if (alien !== undefined) return alien;
  if (isEmptied(snapshot)) return undefined;
  const stop = paused(snapshot, now);
  if (stop !== undefined) return stop;
  const requeueAt = closesAt(snapshot, now);
  const common = { phase: 'Draining', reason: 'Drain', ...(requeueAt && { requeueAt }) } as const;
  if (child === undefined) {
    return {
      ...common,
      message: `Node ${nodeName} is being taken out of service`,
      writes: [createChildWrite(snapshot, nodeName, now)],
    };
  }
  if (snapshot.childChanged && !child.deleting)
    return {
      ...common,
      message: `Restoring the drain policy of ${child.name}`,
      writes: [childDrainWrite(child, request)],
    };
  if (child.level === 'Cordon' && !child.deleting)
    return { ...common, message: 'The drain continues', writes: [levelWrite(child, 'Drain')] };
  return { ...common, message: childText(snapshot) };
};

function replacing(
  message: string,
  writes: NonNullable<MachineDecision['writes']> = [],
): MachineDecision {
  return {
    phase: 'Replacing',
    reason: 'MachineDeletion',
    message,
    writes,
  };
}

/**
 * Releases the surge of Cluster API, whose set deletes a machine that is being deleted first when
 * it is scaled down. So the machine is deleted while the hook keeps it, then the set is scaled down
 * by the added one, and then the hook is removed: whatever else is being deleted, exactly this
 * machine goes. The flag is stored first: from then on the work only goes forward.
 */
function letGoByScale(snapshot: MachineSnapshot): MachineDecision | undefined {
  const { request, surged, machine } = snapshot;
  const [set] = surged;
  if (set === undefined) return undefined;
  // Its set has created another one already.
  if (machine === undefined) return revertScale(snapshot, set);
  if (!request.deletionIssued)
    return { ...replacing('Deleting the machine'), own: flagWrite(request) };
  if (!machine.deleting)
    return replacing('Deleting the machine', [deleteMachineWrite(machine, request)]);
  return replacing(`${set.kind} ${set.name} gets its replica count back`, [
    scaleWrite(set, request, -1),
  ]);
}

function letGoByDeletion({ request, machine }: MachineSnapshot): MachineDecision | undefined {
  if (machine === undefined) return undefined;
  if (!machine.deleting) {
    if (!request.deletionIssued)
      return { ...replacing('Deleting the machine'), own: flagWrite(request) };
    return replacing('Deleting the machine', [deleteMachineWrite(machine, request)]);
  }
  return isHooked(machine)
    ? replacing('Removing the pre-drain hook of the machine', [hookWrite(machine, false)])
    : undefined;
}

function goneText({ machine }: MachineSnapshot): string {
  const others = machine?.preDrainHooks.map(({ name, owner }) => `${name} (${owner})`).join(', ');
  const hooks = others === undefined || others === '' ? '' : `; hooks of others: ${others}`;
  return `Waiting until Machine ${machine?.name ?? ''} is gone${machine?.statusMessage === undefined ? '' : `: ${machine.statusMessage.slice(0, 500)}`}${hooks}`;
}

/**
 * Keeps the machine while the operator runs on it. The operator leaves a node as soon as another
 * one can run it: such a machine is the last that may run it.
 */
function keptByOperator(snapshot: MachineSnapshot): MachineDecision | undefined {
  const { machine, node, operatorPod } = snapshot;
  const isGoing = machine === undefined || (machine.deleting && !isHooked(machine));
  if (operatorPod === undefined || isGoing) return undefined;
  const message = `Pod ${operatorPod} of the operator runs on node ${node?.name ?? ''}: machine ${machine.name} is kept until another node runs it. ${childText(snapshot)}`;
  return { phase: 'Draining', reason: 'OperatorStays', message, warning: true };
}

/**
 * Deletes the machine; the strategy is done when the set has as many Ready machines as required.
 */
export const replace: MachineStep = snapshot => {
  const { request, machine, replacement } = snapshot;
  const { strategy } = strategyOf(snapshot);
  if (strategy !== 'Replace' && strategy !== 'ReplaceWithSurge') return undefined;
  const wait = pausedAt('Replacing', snapshot) ?? keptByOperator(snapshot);
  if (wait !== undefined) return wait;
  const byScale = strategy === 'ReplaceWithSurge' && (machine ?? replacement?.set)?.api === 'capi';
  const going = (byScale ? letGoByScale(snapshot) : undefined) ?? letGoByDeletion(snapshot);
  if (going !== undefined) return going;
  if (machine !== undefined) return replacing(goneText(snapshot));
  if (replacement === undefined || isComplete(replacement, request)) return undefined;
  return {
    phase: 'Replacing',
    reason: 'Replacement',
    message: `The machine is gone; waiting for its replacement: ${readyText(replacement, request)}`,
  };
};
