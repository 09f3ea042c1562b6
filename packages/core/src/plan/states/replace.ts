import { isBefore, secondsAfter, timeText } from '@drydock/apimachinery';
import type { MachinePhase, MachineRequest } from '../../machine/request.ts';
import { deleteRequestWrite } from '../../machine/writes.ts';
import { atEndOf, nextSpans, openNow } from '../../window/calendar.ts';
import type { AtEnd } from '../../window/spans.ts';
import type { Work } from '../plan.ts';
import { createReplacementWrite } from '../replacement.ts';
import { calendarFor } from '../start/forecast.ts';
import { childNameOf } from '../writes.ts';
import { beforeWork, end, type NodeStepResult, type NodeView, transition } from './common.ts';

/**
 * A node whose machine is replaced: its MachineMaintenance holds, drains and deletes, and reports
 * when another machine exists.
 */

type Replace = Extract<Work, { kind: 'replace' }>;

/**
 * Phases in which its machine has not been touched, and its node is drained at most: all of it can
 * be undone.
 */
const reversiblePhases: readonly (MachinePhase | undefined)[] = [
  undefined,
  'Pending',
  'AwaitingApproval',
  'Scheduled',
  'Surging',
  'Draining',
];

function isReversible({ history, deletionIssued }: MachineRequest): boolean {
  return !deletionIssued && reversiblePhases.includes(history.phase);
}

function requestOf({ snapshot, slot: one }: NodeView): MachineRequest | undefined {
  return snapshot.replacements.get(childNameOf(snapshot.plan, one.uid));
}

/**
 * Reports whether an object of this name is about something else, or was changed to another machine
 * by a user.
 */
function isForeign(request: MachineRequest, { slot: one, node, snapshot }: NodeView): boolean {
  if (request.nodeName !== one.node || request.plan !== snapshot.plan.name) return true;
  const machine = node?.machine;
  return (
    machine !== undefined &&
    (request.instance !== machine.instance || request.machineName !== machine.name)
  );
}

function foreignText({ key }: MachineRequest): string {
  return `MachineMaintenance ${key} exists and is not part of this plan: delete or rename it`;
}

/** Creates the MachineMaintenance, after the slot is stored. */
export function beginReplacement(
  view: NodeView,
  work: Replace,
  now: Temporal.Instant,
): NodeStepResult {
  const { slot: one, node, snapshot } = view;
  const request = requestOf(view);
  const waiting = {
    reason: 'Holding',
    message: 'its MachineMaintenance is being created',
    node: one.node,
  };
  if (request === undefined) {
    const machine = node?.machine;
    if (machine === undefined) {
      return end(
        one,
        now,
        'Failed',
        `Nothing would replace node ${one.node}: ${node?.noMachine ?? 'no Machine is known'}`,
      );
    }
    return { slot: one, waiting, writes: [createReplacementWrite(snapshot, work, one, machine)] };
  }
  if (isForeign(request, view)) return end(one, now, 'Failed', foreignText(request));
  // The request of an earlier attempt that a user has cancelled.
  if (request.history.phase === 'Cancelled' || request.deleting) {
    return {
      slot: one,
      waiting,
      ...(!request.deleting && {
        writes: [deleteRequestWrite(request, 'delete the machine maintenance')],
      }),
    };
  }
  return transition(one, 'Working', now, { attempt: 1 });
}

function late(view: NodeView, now: Temporal.Instant, what: string): NodeStepResult {
  const { slot: one } = view;
  const { timeoutSeconds } = one.work;
  const until = secondsAfter(one.since, timeoutSeconds);
  if (isBefore(now, until))
    return {
      slot: one,
      waiting: { reason: 'Replacing', message: what, node: one.node, until: until },
      requeueAt: until,
    };
  return end(
    one,
    now,
    'Failed',
    `Its machine has not been replaced within ${timeoutSeconds} s, and is still being: ${what}`,
    {
      held: true,
    },
  );
}

/**
 * Follows the replacement of the machine and its node: done when as many machines are Ready as
 * required, and this node is gone.
 */
export function replacing(view: NodeView, now: Temporal.Instant): NodeStepResult {
  const { slot: one, node } = view;
  const request = requestOf(view);
  if (request === undefined || request.deleting) {
    if (node === undefined)
      return end(
        one,
        now,
        'Failed',
        `Node ${one.node} (${one.uid}) and its MachineMaintenance do not exist any more: nobody can tell whether its machine was replaced`,
      );
    return end(
      one,
      now,
      'Failed',
      'Somebody has deleted its MachineMaintenance before the machine was replaced',
    );
  }
  if (isForeign(request, view))
    return end(one, now, 'Failed', foreignText(request), { held: true });
  if (isReversible(request)) {
    const stopped = beforeWork(view, now, 'The plan was given up before its machine was replaced');
    if (stopped !== undefined) return stopped;
  }
  const { phase } = request.history;
  const why =
    typeof request.status['message'] === 'string'
      ? request.status['message']
      : 'its MachineMaintenance has not begun';
  if (request.status['waitingFor'] === 'StrategyNotPossible')
    return end(one, now, 'Failed', `It cannot be replaced: ${why}`);
  if (phase === 'Cancelled')
    return end(one, now, 'Failed', `Its MachineMaintenance was cancelled: ${why}`);
  if (phase !== 'Succeeded') return late(view, now, why);
  return node === undefined
    ? end(one, now, 'Done', 'Done')
    : late(view, now, 'its machine is replaced, and its Node object is still there');
}

/** Deletes a MachineMaintenance that has not touched its machine. */
export function withdrawReplacement(view: NodeView): NodeStepResult | undefined {
  const request = requestOf(view);
  const isLeft = request !== undefined && !isForeign(request, view) && isReversible(request);
  if (!isLeft) return undefined;
  const waiting = {
    reason: 'Releasing',
    message: 'its MachineMaintenance is being deleted',
    node: view.slot.node,
  };
  return {
    slot: view.slot,
    waiting,
    ...(!request.deleting && {
      writes: [deleteRequestWrite(request, 'delete the machine maintenance')],
    }),
  };
}

/**
 * The end of a window for a node that the plan has begun with: no work begins outside of a window
 * whose `atEnd` forbids it.
 */

/** Seconds until the next look at windows, if no opening is known. */
const lookAgainAfter = 3600;

export type ClosedWindow = {
  readonly atEnd: Exclude<AtEnd, 'Continue'>;
  /** Text for people: since when, and until when. */
  readonly message: string;
  /** Time at which it goes on, or of the next look. */
  readonly until: Temporal.Instant;
};

/** Reports whether windows of the node pause drains at their end. */
export function pausesAtEnd({ snapshot, node }: NodeView): boolean {
  return node !== undefined && atEndOf(calendarFor({ snapshot }, [node.node])) === 'Pause';
}

/**
 * Returns the windows of the node that have closed since it began, and whether nodes whose work has
 * not begun wait or are released. Undefined: it goes on.
 */
export function closedWindow(
  { snapshot, node }: NodeView,
  now: Temporal.Instant,
): ClosedWindow | undefined {
  if (node === undefined) return undefined;
  const calendar = calendarFor({ snapshot }, [node.node]);
  const atEnd = atEndOf(calendar);
  if (atEnd === 'Continue' || openNow(calendar, now) !== undefined) return undefined;
  const [next] = nextSpans(calendar, now, 1);
  const goesOn =
    next === undefined
      ? 'no opening is known'
      : `the next opening begins at ${timeText(next.from)}`;
  const message = `the window has closed before the work began (${calendar.names.join(', ')}): ${goesOn}`;
  return { atEnd, message, until: next?.from ?? secondsAfter(now, lookAgainAfter) };
}
