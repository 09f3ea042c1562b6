import { isBefore, isUid, timeText } from '@drydock/apimachinery';
import type { EventKind } from '../../event-kind.ts';
import { deleteChildWrite } from '../../maintenance/decide.ts';
import { conditionOf } from '../../node/node.ts';
import type { Write } from '../../write.ts';
import { sparedAt, takesMachine } from '../aftermath.ts';
import { type EventState, isPending, type MachineEvent } from '../event.ts';
import { hookName, type Machine, type MachineSet } from '../machine.ts';
import { defaultStrategy, type MachineRequest, type MachineStrategy } from '../request.ts';
import type { MachineDecision, MachineSnapshot, MachineStep } from '../snapshot.ts';
import { drainedForWrite, hookWrite, markWrite, scaleWrite } from '../writes.ts';

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
function coveredEvents(snapshot: MachineSnapshot): readonly MachineEvent[] {
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

/** Withdrawal of the work that has been done for a request. */

/** Returns the mark of this request: a mark of another owner stays. */
export function markOf(request: MachineRequest): string {
  return request.uid;
}

function releasing(message: string, writes: readonly Write[] = []): MachineDecision {
  return {
    phase: 'Releasing',
    reason: 'Ending',
    message,
    writes,
  };
}

/**
 * Reports whether Drydock wrote a mark: it is the uid of a machine maintenance, which may be
 * deleted by now. Marks of any other form are those of people.
 */
function isSurgeMark(
  mark: string | undefined,
  request: MachineRequest,
  { surges }: MachineSet,
): mark is string {
  return mark !== undefined && (mark === markOf(request) || surges.has(mark) || isUid(mark));
}

function youngestFirst(one: Machine, other: Machine): number {
  return Temporal.Instant.compare(other.createdAt, one.createdAt);
}

/**
 * Returns the machine that is deleted when the set shrinks by one: a marked one, or the youngest
 * that has to be marked first. Each surge of a set keeps one machine marked until it shrinks the
 * set, and the controller may delete any of them. Undefined if the set has fewer machines than it
 * wants: then none is deleted.
 */
function nextInLine(
  snapshot: MachineSnapshot,
  set: MachineSet,
): { readonly machine: Machine; readonly isMarked: boolean } | undefined {
  const { request, machine, replacement } = snapshot;
  const members = replacement?.set.key === set.key ? replacement.members : [];
  if (members.length < set.replicas) return undefined;
  const others = members
    .filter(({ deleting, key }) => !deleting && key !== machine?.key)
    .toSorted(youngestFirst);
  const marked = others.filter(({ deleteMark }) => isSurgeMark(deleteMark, request, set));
  const own = marked.find(({ deleteMark }) => deleteMark === markOf(request));
  const young = others.find(({ deleteMark }) => deleteMark === undefined);
  if (own === undefined && young !== undefined && marked.length < set.surges.size)
    return { machine: young, isMarked: false };
  const [first] = own === undefined ? marked : [own];
  return first && { machine: first, isMarked: true };
}

/**
 * Restores the number of machines. The added machine is the one to be deleted for it: it is marked
 * as the next, and the mark of the machine that was to be replaced is removed. The mark is written
 * again, unchanged, before the number: if the machine has changed since the snapshot, because
 * another surge was reverted meanwhile, the set does not shrink, for its controller would pick any
 * machine.
 */
export function revertScale(snapshot: MachineSnapshot, set: MachineSet): MachineDecision {
  const { request, machine } = snapshot;
  const mark = markOf(request);
  const message = `${set.kind} ${set.name} gets its replica count back`;
  // The machine is deleted in any case, and counts until it is gone: the set takes it, and no
  // other.
  if (machine?.deleting) return releasing(message, [scaleWrite(set, request, -1)]);
  if (machine?.deleteMark === mark)
    return releasing('Keeping the machine', [markWrite(machine, null)]);
  const next = nextInLine(snapshot, set);
  if (next === undefined) return releasing(message, [scaleWrite(set, request, -1)]);
  if (!next.isMarked)
    return releasing('Deleting the machine that was added', [markWrite(next.machine, mark)]);
  return releasing(message, [
    markWrite(next.machine, next.machine.deleteMark ?? mark),
    scaleWrite(set, request, -1),
  ]);
}

/** Withdraws the rest of the work; undefined if nothing is left. */
export function withdraw(snapshot: MachineSnapshot): MachineDecision | undefined {
  const { request, machine, surged, child } = snapshot;
  const [set] = surged;
  if (set !== undefined) return revertScale(snapshot, set);
  if (machine !== undefined && machine.deleteMark === markOf(request) && !machine.deleting) {
    return releasing('Keeping the machine', [markWrite(machine, null)]);
  }
  if (machine?.preDrainHooks.some(({ name }) => name === hookName)) {
    return releasing('Removing the pre-drain hook of the machine; its own controllers continue', [
      hookWrite(machine, false),
    ]);
  }
  return deleteChild(child);
}

/** Releases the node; undefined when it is released. */
function deleteChild(child: MachineSnapshot['child']): MachineDecision | undefined {
  if (child === undefined) return undefined;
  return releasing('The node is being released', child.deleting ? [] : [deleteChildWrite(child)]);
}

/** Steps after the node is empty. */

/** Returns why the node may not be released yet; undefined if it may. */
function notFit({ node, request }: MachineSnapshot): string | undefined {
  if (node === undefined) return undefined;
  const ready = conditionOf(node, 'Ready');
  if (ready?.status !== 'True')
    return `node ${node.name} is not Ready${ready?.message === undefined || ready.message === '' ? '' : `: ${ready.message}`}`;
  const failing = request.gates.find(type => conditionOf(node, type)?.status !== 'True');
  return failing === undefined
    ? undefined
    : `condition ${failing} of node ${node.name} is not True`;
}

/**
 * Notes the drained events for the agent of the node, which may report to its cloud that it need
 * not wait any longer. One report is enough for all machines of an event, so an event is noted only
 * when every machine of it that is known here is drained.
 */
function tellAgent(
  { notice, others, request }: MachineSnapshot,
  pending: readonly MachineEvent[],
): NonNullable<MachineDecision['writes']> {
  const isShared = (id: string): boolean =>
    others.some(({ key, undrained }) => key !== request.key && undrained.has(id));
  const ids = pending
    .filter(({ source, id }) => source.startsWith('agent/') && !isShared(id))
    .map(({ id }) => id);
  const isTold = notice === undefined || ids.every(id => notice.drainedFor.includes(id));
  return isTold ? [] : [drainedForWrite(notice, ids)];
}

const restarting: ReadonlySet<EventKind> = new Set(['reboot', 'redeploy']);

/**
 * Returns when a node may be released although no reboot was observed: not every completed reboot
 * was one.
 */
function settlesAt(snapshot: MachineSnapshot, now: Temporal.Instant): Temporal.Instant {
  const { request, node } = snapshot;
  const { bootId } = request.history;
  const restarts = request.events.some(
    event => event.state === 'Completed' && (restarting.has(event.kind) || takesMachine(event)),
  );
  const isSame = bootId !== undefined && node?.bootId === bootId;
  return restarts && isSame ? sparedAt(snapshot, now) : now;
}

/**
 * Keeps the node out of service during the cloud's own work, until that is over and the node is fit
 * again.
 */
export const waitThrough: MachineStep = (snapshot, now) => {
  const { request, node } = snapshot;
  if (strategyOf(snapshot).strategy !== 'Drain' || node === undefined) return undefined;
  const pending = coveredEvents(snapshot).filter(isPending);
  if (pending.length > 0 || request.independent) {
    const what = pending
      .map(({ code, kind, state }) => `${code ?? kind} (${state.toLowerCase()})`)
      .join(', ');
    const until = request.independent
      ? 'until this object is deleted'
      : `until the cloud reports the end of ${what}`;
    const message = `The node is drained and held ${until}`;
    return {
      phase: 'Drained',
      reason: 'EventPending',
      message,
      writes: tellAgent(snapshot, pending),
    };
  }
  const settled = settlesAt(snapshot, now);
  if (isBefore(now, settled)) {
    const message = `The event is over, and node ${node.name} has not rebooted yet: the node is released at ${timeText(settled)} at the latest`;
    return { phase: 'Drained', reason: 'Settling', message, requeueAt: settled };
  }
  const unfit = notFit(snapshot);
  return unfit === undefined
    ? undefined
    : { phase: 'Drained', reason: 'NodeNotFit', message: `The event is over; ${unfit}` };
};

/** Releases the node, or deletes the rest of its maintenance. */
export const release: MachineStep = ({ child }) => deleteChild(child);

function successText(snapshot: MachineSnapshot): string {
  const { request, node } = snapshot;
  if (strategyOf(snapshot).strategy !== 'Drain')
    return `Machine ${request.machineName} has been replaced`;
  if (node === undefined) return 'The node is gone';
  const { bootId } = request.history;
  const rebooted = bootId !== undefined && node.bootId !== undefined && bootId !== node.bootId;
  return `The event is over and the node is back${rebooted ? ', rebooted' : ''}`;
}

export const succeed: MachineStep = snapshot => ({
  phase: 'Succeeded',
  reason: 'Succeeded',
  message: successText(snapshot),
});
