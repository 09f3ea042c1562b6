import { isDrained } from '../../maintenance/decide.ts';
import type { MaintenanceRequest } from '../../request/request.ts';
import type { Write } from '../../write.ts';
import { isRetried } from '../contest.ts';
import type { InFlight, NodeState, Outcome, Verdict } from '../in-flight.ts';
import { type HookStep, ofNode, runHooks } from '../pods/run-hooks.ts';
import type { PlanNode, PlanSnapshot, WaitReason } from '../snapshot.ts';
import { type Stop, stopOfHooks } from '../stop.ts';
import { childDrainWrite, holdNameOf } from '../writes.ts';

/** A node in flight at this moment. */
export type NodeView = {
  readonly snapshot: PlanSnapshot;
  readonly slot: InFlight;
  /** Node; missing: there is no node of this name and uid (any more). */
  readonly node?: PlanNode;
  readonly child?: MaintenanceRequest;
  readonly intent: PlanDirective;
};

/** Directive of the plan as a whole for its nodes in flight. */
export type PlanDirective = {
  /** True if nodes whose work has not begun are given up. */
  readonly withdrawn: boolean;
  /** Reason why nothing new begins. Work that has begun is followed to its end. */
  readonly stop?: Stop | undefined;
};

/** Result of a node in this pass. Without an entry the slot is free. */
export type NodeStepResult = {
  readonly slot?: InFlight;
  readonly writes?: readonly Write[];
  readonly waiting?: WaitReason;
  readonly hooks?: HookStep;
  readonly requeueAt?: Temporal.Instant;
};

/** Function for one state of a node in flight. */
export type NodeStateFn = (view: NodeView, now: Temporal.Instant) => NodeStepResult;

export function viewOfNode(snapshot: PlanSnapshot, one: InFlight, intent: PlanDirective): NodeView {
  const node = snapshot.nodes.get(one.node);
  const child = snapshot.children.get(holdNameOf(snapshot.plan, one));
  return {
    snapshot,
    slot: one,
    intent,
    ...(node?.node.uid === one.uid && { node }),
    ...(child && { child }),
  };
}

/**
 * Returns how often this node has been released already in this run because its drain was stuck. A
 * failure that is set aside resets the count.
 */
export function requeuesOf({ snapshot: { slices, plan }, slot: one }: NodeView): number {
  const last = slices.flatMap(({ verdicts }) => verdicts).find(({ uid }) => uid === one.uid);
  return last === undefined ||
    (last.verdict === 'Failed' && isRetried(last.completedAt, plan, one.node))
    ? 0
    : last.requeues;
}

/** Runs the hooks of this moment of the node; undefined when they have all ended. */
export function hooksOf(
  { snapshot, slot: one, intent }: NodeView,
  at: 'BeforeNode' | 'AfterNode',
  now: Temporal.Instant,
): NodeStepResult | undefined {
  const stop = stopOfHooks(intent.stop, snapshot);
  const step = runHooks(
    snapshot,
    { at, scope: ofNode(one), stage: one.stage, node: one.node, stop },
    now,
  );
  return step.done
    ? undefined
    : {
        slot: one,
        hooks: step,
        ...(step.waiting && { waiting: step.waiting }),
        ...(step.requeueAt && { requeueAt: step.requeueAt }),
      };
}

/** Records when the work and its reboot began and ended; another attempt resets these times. */
function withTimes(one: InFlight, state: NodeState, now: Temporal.Instant): InFlight {
  if (state === 'Rebooting') return { ...one, rebootStartedAt: now };
  if (state === 'Verifying') return { ...one, workEndedAt: now };
  if (state !== 'Working') return one;
  const { rebootStartedAt: _reboot, workEndedAt: _end, ...rest } = one;
  return { ...rest, workStartedAt: now };
}

/** Moves the node to another state. */
export function transition(
  one: InFlight,
  state: NodeState,
  now: Temporal.Instant,
  more: Partial<InFlight> = {},
): NodeStepResult {
  const { soakSince: _soakSince, soakMark: _soakMark, soakBrokenAt: _soakBrokenAt, ...rest } = one;
  return { slot: { ...withTimes(rest, state, now), state, since: now, ...more } };
}

/**
 * Ends the turn of the node with a verdict. A changed node is not released without a proof, unless
 * the plan demands it.
 */
export function end(
  one: InFlight,
  now: Temporal.Instant,
  verdict: Verdict,
  message: string,
  { held = false, ...more }: Partial<Pick<Outcome, 'held' | 'stuck'>> = {},
): NodeStepResult {
  const outcome: Outcome = { verdict, state: one.state, message, held, ...more };
  return transition(one, 'Releasing', now, { outcome });
}

/** Reports whether its Maintenance exists and stays: without one nothing holds the node. */
export function hasHold({ child }: NodeView): boolean {
  return child !== undefined && !child.deleting;
}

/**
 * Reports whether its work is by pods of which none has run a container: nothing on the node is
 * changed.
 */
function isUntouched({ slot: one }: NodeView): boolean {
  return (
    one.state === 'Working' &&
    one.ranAttempt === undefined &&
    (one.work.kind === 'job' || one.work.kind === 'reboot')
  );
}

/** Reports whether a failed node stays held, if the plan demands it and something holds it. */
export function staysHeld(view: NodeView): boolean {
  return view.snapshot.plan.onFailure === 'Hold' && hasHold(view);
}

/** Fails the node after the work began; if no container of its pod has run, it can be released. */
export function fail(view: NodeView, now: Temporal.Instant, message: string): NodeStepResult {
  return end(view.slot, now, 'Failed', message, { held: !isUntouched(view) && staysHeld(view) });
}

/**
 * Reports whether the plan has been edited to other work since the node began: nothing of that work
 * is done in this slot.
 */
export function isOutdated({ slot: one, snapshot }: NodeView): boolean {
  return one.revision !== snapshot.plan.run?.revision;
}

/**
 * Reports whether the Maintenance is as the plan wrote it: the status of a changed one is not about
 * the plan's drain.
 */
function isAsWritten({ child, snapshot }: NodeView): boolean {
  return (
    child !== undefined && child.level === 'Drain' && !snapshot.changedChildren.has(child.name)
  );
}

/**
 * Restores the Maintenance to what the plan wrote, and waits for that drain; undefined if it is
 * unchanged.
 */
export function restored(view: NodeView): NodeStepResult | undefined {
  const { slot: one, child, snapshot } = view;
  if (child === undefined || child.deleting || isAsWritten(view)) return undefined;
  const waiting = {
    reason: 'MaintenanceChanged',
    message: `Maintenance ${child.name} is put back to the drain of the plan`,
    node: one.node,
  };
  return { slot: one, writes: [childDrainWrite(snapshot, child)], waiting };
}

/**
 * Returns why no work may begin on the node now: it is not held as required. Undefined if it is.
 */
export function missingHoldReason(view: NodeView): string | undefined {
  const { child, node } = view;
  if (child === undefined || !isAsWritten(view) || !isDrained(child))
    return 'the node is drained again first';
  if (node?.node.holdRecord === undefined || !node.node.unschedulable)
    return 'the node is not cordoned (any more): it is held again first';
  return undefined;
}

/**
 * Releases the node for a later turn. A halted plan begins no work: a node that waits would be out
 * of service for nothing, until a person comes.
 */
function requeueSlot(
  { slot: one }: NodeView,
  halted: string,
  now: Temporal.Instant,
): NodeStepResult {
  return end(
    one,
    now,
    'Requeued',
    `The plan was halted before the work began, it is released and comes again later: ${halted}`,
  );
}

/** Returns why the plan would not begin with the node any more. It comes again if that changes. */
function notAsked({
  slot: one,
  node,
  snapshot: { plan, unfinished },
}: NodeView): string | undefined {
  if (one.ranAttempt !== undefined) return undefined;
  const reason = plan.skips.get(one.node);
  if (reason !== undefined)
    return reason === '' ? 'Somebody has it skipped' : `Somebody has it skipped (${reason})`;
  if (node === undefined) return undefined;
  if (!node.selected) return 'The plan does not select it any more';
  return node.due === false && !(plan.undo === true && unfinished.has(one.uid))
    ? 'It is not due any more'
    : undefined;
}

/**
 * Applies a stop to a node whose work has not begun: it is given up, or postponed; the same for a
 * node that the plan would not begin with any more. Undefined: it goes on, as nodes in flight of a
 * paused plan do.
 */
export function beforeWork(
  view: NodeView,
  now: Temporal.Instant,
  withdrawn: string,
): NodeStepResult | undefined {
  const { slot: one, intent } = view;
  if (intent.withdrawn) return end(one, now, 'Skipped', withdrawn);
  if (isOutdated(view))
    return end(one, now, 'Skipped', 'The plan was edited before the work began');
  const { halted } = intent.stop ?? {};
  if (halted !== undefined) return requeueSlot(view, halted, now);
  const unasked = notAsked(view);
  return unasked === undefined
    ? undefined
    : end(one, now, 'Requeued', `${unasked} before its work began: it is released`);
}

/**
 * Reports whether the boot of the node differs from the one before the work, and from any that came
 * before a container of its pod had run.
 */
export function isRebooted({ slot: one, node }: NodeView): boolean {
  return (
    node?.node.bootId !== undefined &&
    one.bootIdBefore !== undefined &&
    node.node.bootId !== one.bootIdBefore &&
    node.node.bootId !== one.idleBootId
  );
}
