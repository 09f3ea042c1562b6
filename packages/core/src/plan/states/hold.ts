import { isBefore, joinLimited, secondsAfter } from '@drydock/apimachinery';
import { isDrained, levelWrite } from '../../maintenance/decide.ts';
import type { MaintenanceRequest } from '../../request/request.ts';
import { type InFlight, isAtWork, maxTaints } from '../in-flight.ts';
import { foreignTaints, stopWaiting } from '../stop.ts';
import { createChildWrite } from '../writes.ts';
import {
  beforeWork,
  end,
  hooksOf,
  missingHoldReason,
  type NodeStateFn,
  type NodeStepResult,
  type NodeView,
  requeuesOf,
  restored,
  transition,
} from './common.ts';
import { beginReplacement, closedWindow, pausesAtEnd } from './replace.ts';

/** Creates the Maintenance that holds the node, after the slot is stored. */
export const starting: NodeStateFn = (view, now) => {
  const { slot: one, child, snapshot } = view;
  const { work } = snapshot.plan;
  const stopped = beforeWork(view, now, 'The plan was given up before anything was done');
  if (stopped !== undefined) return stopped;
  const { stop } = view.intent;
  const closed = child === undefined ? closedWindow(view, now) : undefined;
  if (closed !== undefined)
    return end(one, now, 'Requeued', `It comes again later: ${closed.message}`);
  if (stop?.kind === 'Paused')
    return { slot: one, waiting: stopWaiting(stop, 'the node', one.node) };
  const hooks = hooksOf(view, 'BeforeNode', now);
  if (hooks !== undefined) return hooks;
  if (work.kind === 'replace') return beginReplacement(view, work, now);
  if (child === undefined) {
    return {
      slot: one,
      writes: [createChildWrite(snapshot, one)],
      waiting: { reason: 'Holding', message: 'its Maintenance is being created', node: one.node },
    };
  }
  // The hold of an earlier turn, which is not needed any more.
  if (child.deleting)
    return {
      slot: one,
      waiting: {
        reason: 'Holding',
        message: 'its Maintenance of before is being deleted',
        node: one.node,
      },
    };
  if (child.plan !== snapshot.plan.name || child.nodeName !== one.node) {
    return end(
      one,
      now,
      'Failed',
      `Maintenance ${child.name} exists and is not part of this plan: delete or rename it`,
    );
  }
  return transition(one, 'Holding', now);
};

function stuck({ slot: one, snapshot }: NodeView): Temporal.Instant | undefined {
  const { drainStuck } = snapshot.plan;
  return drainStuck && secondsAfter(one.since, drainStuck.afterSeconds);
}

/** A blocker in the form in which the status of a Maintenance contains it. */
type ListedBlocker = {
  readonly reason: string;
  readonly pod?: { readonly namespace: string; readonly name: string };
  readonly budgets?: readonly string[];
  readonly message: string;
};

/**
 * Returns what blocks its drain, by the names in its Maintenance: they cannot be found any more
 * when the Maintenance is gone.
 */
function blockersOf({ status }: MaintenanceRequest): string {
  const listed = (
    Array.isArray(status['blockers']) ? status['blockers'] : []
  ) as readonly ListedBlocker[];
  const texts = listed.map(({ reason, pod, budgets = [], message }) => {
    const by = budgets.length > 0 ? ` (budget ${budgets.join(', ')})` : '';
    return `${pod === undefined ? reason : `pod ${pod.namespace}/${pod.name}`}${by}: ${message}`;
  });
  return texts.length === 0 ? '' : `; ${joinLimited(texts, maxBlockers)}`;
}
const maxBlockers = 3;

function saidOf(child: MaintenanceRequest | undefined): string {
  return child === undefined || typeof child.status['message'] !== 'string'
    ? 'its drain has not begun'
    : `${child.status['message']}${blockersOf(child)}`;
}

/**
 * Reasons for which its drain has failed. The text of its Maintenance about the hold does not apply
 * any more: the node is released.
 */
const failures: Readonly<Record<NonNullable<MaintenanceRequest['history']['failure']>, string>> = {
  DeadlineExceeded: 'it was not complete within its time limit',
  Released: 'its Maintenance was given back',
  LeaseLost: 'somebody else has taken the lease of the node',
  NodeNotFound: 'its Maintenance did not find the node',
};

function failedDrain(child: MaintenanceRequest): string {
  const { failure } = child.history;
  const why = failure === undefined ? 'no reason is known' : failures[failure];
  return `Its drain has failed, and the node is released: ${why}${blockersOf(child)}`;
}

function drainEnds(view: NodeView, now: Temporal.Instant): NodeStepResult {
  const { slot: one, child, snapshot } = view;
  const { name, drainStuck } = snapshot.plan;
  const why = saidOf(child);
  const at = stuck(view);
  const way = `drydock plan skip ${name} ${one.node} releases it, and spec.onFailure.drainStuck does so after a while`;
  if (at === undefined)
    return {
      slot: one,
      waiting: { reason: 'Draining', message: `${why} (${way})`, node: one.node },
    };
  if (isBefore(now, at))
    return {
      slot: one,
      waiting: { reason: 'Draining', message: why, node: one.node, until: at },
      requeueAt: at,
    };
  if (requeuesOf(view) < (drainStuck?.times ?? 0))
    return end(
      one,
      now,
      'Requeued',
      `Its drain was stuck; the node is released and retried later: ${why}`,
      { stuck: true },
    );
  return end(one, now, 'Failed', `Its drain is stuck, and the node is released: ${why}`);
}

/** Resumes the paused drain when the window is open again. */
function resumed(view: NodeView): NodeStepResult | undefined {
  const { slot: one, child } = view;
  if (child?.level !== 'Cordon' || !pausesAtEnd(view)) return undefined;
  return {
    slot: one,
    writes: [levelWrite(child, 'Drain')],
    waiting: { reason: 'Draining', message: 'its window is open again', node: one.node },
  };
}

/**
 * Applies the end of a window before the work began: `atEnd` has the same meaning for the node of a
 * plan as for a drain.
 */
function windowEnd(view: NodeView, now: Temporal.Instant): NodeStepResult | undefined {
  const { slot: one, child } = view;
  const closed = closedWindow(view, now);
  if (closed === undefined) return resumed(view);
  const { atEnd, message, until } = closed;
  if (atEnd === 'Release')
    return end(one, now, 'Requeued', `It is released and comes again later: ${message}`);
  const waiting = { reason: 'Window', message: `paused: ${message}`, node: one.node, until };
  const writes =
    child?.level === 'Drain' && !isDrained(child) ? [levelWrite(child, 'Cordon')] : undefined;
  return { slot: one, waiting, requeueAt: until, ...(writes && { writes }) };
}

/**
 * Reports whether the other plan's work, proof or soak time would be confused by work of this plan
 * on the node.
 */
function isAtIt(other: InFlight): boolean {
  return (
    isAtWork(other) ||
    other.state === 'Verifying' ||
    other.state === 'Soaking' ||
    other.soakSince !== undefined
  );
}

/**
 * Returns the plan that works on this node, or watches the result: both works share the hold, one
 * after the other.
 */
function workedOnBy({ snapshot, slot: one }: NodeView): string | undefined {
  return snapshot.others.find(({ inFlight }) =>
    inFlight.some(other => other.node === one.node && isAtIt(other)),
  )?.name;
}

/** Drains the node. Nothing on it has been changed yet: any failure releases it. */
export const holding: NodeStateFn = (view, now) => {
  const { slot: one, child, node } = view;
  const stopped = beforeWork(view, now, 'The plan was given up before the work began');
  if (stopped !== undefined) return stopped;
  if (child === undefined || child.deleting) {
    return end(one, now, 'Failed', 'Somebody has deleted its Maintenance before the work began');
  }
  if (child.history.state === 'Failed') return end(one, now, 'Failed', failedDrain(child));
  const closed = windowEnd(view, now);
  if (closed !== undefined) return closed;
  const changed = restored(view);
  if (changed !== undefined) return changed;
  if (!isDrained(child)) return drainEnds(view, now);
  const lack = missingHoldReason(view);
  if (lack !== undefined)
    return { slot: one, waiting: { reason: 'HoldLost', message: lack, node: one.node } };
  const other = workedOnBy(view);
  if (other !== undefined)
    return {
      slot: one,
      waiting: {
        reason: 'OtherPlanWorks',
        message: `plan ${other} works on it, or watches what came of its work`,
        node: one.node,
      },
    };
  const bootId = node?.node.bootId;
  const taints = node === undefined ? [] : foreignTaints(node.node);
  return transition(one, 'Working', now, {
    attempt: 1,
    ...(bootId !== undefined && { bootIdBefore: bootId }),
    ...(taints.length <= maxTaints && { taintsBefore: taints }),
  });
};
