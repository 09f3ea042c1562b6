import { isBefore, timeText } from '@drydock/apimachinery';
import type { EventKind } from '../../event-kind.ts';
import { conditionOf } from '../../node/node.ts';
import { sparedAt, takesMachine } from '../aftermath.ts';
import { isPending, type MachineEvent } from '../event.ts';
import type { MachineDecision, MachineSnapshot, MachineStep } from '../snapshot.ts';
import { drainedForWrite } from '../writes.ts';
import { coveredEvents, strategyOf } from './strategy.ts';
import { deleteChild } from './withdraw.ts';

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
