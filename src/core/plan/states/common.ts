import { isDrained } from '../../maintenance/child.ts';
import type { MaintenanceRequest } from '../../request/request.ts';
import type { Write } from '../../write.ts';
import type { InFlight, NodeState, Outcome, Verdict } from '../in-flight.ts';
import { type HookStep, ofNode, runHooks } from '../pods/run-hooks.ts';
import { isRetried } from '../retries.ts';
import type { PlanNode, PlanSnapshot, Waiting } from '../snapshot.ts';
import { isForNow, type Stop } from '../stop.ts';
import { childDrainWrite, holdNameOf } from '../writes.ts';

/** One node in flight at this moment. */
export type NodeView = {
  readonly snapshot: PlanSnapshot;
  readonly slot: InFlight;
  /** Missing: there is no node of this name and uid (any more). */
  readonly node?: PlanNode;
  readonly child?: MaintenanceRequest;
  readonly intent: PlanDirective;
};

/** What the plan as a whole asks of its nodes in flight. */
export type PlanDirective = {
  /** It gives up what has not begun to change a node. */
  readonly withdrawn: boolean;
  /** Why nothing new is begun. Work that has begun is followed to its end. */
  readonly stop?: Stop | undefined;
};

/** What becomes of it in this pass. Without an entry the slot is free. */
export type NodeStepResult = {
  readonly slot?: InFlight;
  readonly writes?: readonly Write[];
  readonly waiting?: Waiting;
  readonly hooks?: HookStep;
  readonly requeueAt?: Temporal.Instant;
};

/** One state of a node in flight. */
export type NodeStateFn = (view: NodeView, now: Temporal.Instant) => NodeStepResult;

export const viewOfNode = (snapshot: PlanSnapshot, one: InFlight, intent: PlanDirective): NodeView => {
  const node = snapshot.nodes.get(one.node);
  const child = snapshot.children.get(holdNameOf(snapshot.plan, one));
  return { snapshot, slot: one, intent, ...(node?.node.uid === one.uid && { node }), ...(child && { child }) };
};

/** How often this node has been given back already in this run because its drain was stuck. A failure that is set aside begins the count anew. */
export const requeuesOf = ({ snapshot: { slices, plan }, slot: one }: NodeView): number => {
  const last = slices.flatMap(({ verdicts }) => verdicts).find(({ uid }) => uid === one.uid);
  return last === undefined || (last.verdict === 'Failed' && isRetried(last.completedAt, plan, one.node)) ? 0 : last.requeues;
};

/** The hooks of this moment of the node; undefined when they have all ended. */
export const hooksOf = (
  { snapshot, slot: one, intent }: NodeView,
  at: 'BeforeNode' | 'AfterNode',
  now: Temporal.Instant,
): NodeStepResult | undefined => {
  const stop = intent.stop !== undefined && isForNow(intent.stop) ? intent.stop : undefined;
  const step = runHooks(snapshot, { at, of: ofNode(one), stage: one.stage, node: one.node, stop }, now);
  return step.done
    ? undefined
    : { slot: one, hooks: step, ...(step.waiting && { waiting: step.waiting }), ...(step.requeueAt && { requeueAt: step.requeueAt }) };
};

/** When the work and its reboot began and ended is kept; with another attempt it begins anew. */
const withTimes = (one: InFlight, state: NodeState, now: Temporal.Instant): InFlight => {
  if (state === 'Rebooting') return { ...one, rebootStartedAt: now };
  if (state === 'Verifying') return { ...one, workEndedAt: now };
  if (state !== 'Working') return one;
  const { rebootStartedAt: _reboot, workEndedAt: _end, ...rest } = one;
  return { ...rest, workStartedAt: now };
};

/** It goes on to another state. */
export const transition = (one: InFlight, state: NodeState, now: Temporal.Instant, more: Partial<InFlight> = {}): NodeStepResult => {
  const { soakSince: _soakSince, soakMark: _soakMark, soakBrokenAt: _soakBrokenAt, ...rest } = one;
  return { slot: { ...withTimes(rest, state, now), state, since: now, ...more } };
};

/** It has come to a verdict. Nothing that was changed is given back unproven, unless the plan says so. */
export const end = (
  one: InFlight,
  now: Temporal.Instant,
  verdict: Verdict,
  message: string,
  { held = false, ...more }: Partial<Pick<Outcome, 'held' | 'stuck'>> = {},
): NodeStepResult => {
  const outcome: Outcome = { verdict, step: one.state, message, held, ...more };
  return transition(one, 'Releasing', now, { outcome });
};

/** Its Maintenance is there and stays: without one nothing holds the node. */
export const hasHold = ({ child }: NodeView): boolean => child !== undefined && !child.deleting;

/** Work by pods of which none has run a container: nothing on the node is changed. */
const isUntouched = ({ slot: one }: NodeView): boolean =>
  one.state === 'Working' && one.ranAttempt === undefined && (one.work.kind === 'job' || one.work.kind === 'reboot');

/** A failed node stays held, where the plan says so and something holds it. */
export const staysHeld = (view: NodeView): boolean => view.snapshot.plan.onFailure === 'Hold' && hasHold(view);

/** It has failed, after the work began; where no container of its pod has run, nothing keeps it from being given back. */
export const fail = (view: NodeView, now: Temporal.Instant, message: string): NodeStepResult =>
  end(view.slot, now, 'Failed', message, { held: !isUntouched(view) && staysHeld(view) });

/** The plan has been edited to other work since the node was begun with: nothing of that work is done in this slot. */
export const isOutdated = ({ slot: one, snapshot }: NodeView): boolean => one.revision !== snapshot.plan.run?.revision;

/** The Maintenance is what the plan wrote: whatever it says of its drain otherwise, it does not say of the plan's. */
const isAsWritten = ({ child, snapshot }: NodeView): boolean =>
  child !== undefined && child.stage === 'Drain' && !snapshot.changedChildren.has(child.name);

/** Puts the Maintenance back to what the plan wrote, and waits for it to be drained so; undefined where nobody has changed it. */
export const restored = (view: NodeView): NodeStepResult | undefined => {
  const { slot: one, child, snapshot } = view;
  if (child === undefined || child.deleting || isAsWritten(view)) return undefined;
  const waiting = { word: 'MaintenanceChanged', who: `Maintenance ${child.name} is put back to the drain of the plan`, node: one.node };
  return { slot: one, writes: [childDrainWrite(snapshot, child)], waiting };
};

/** Why nothing may be begun on the node now: it is not held as it has to be. Undefined where it is. */
export const missingHoldReason = (view: NodeView): string | undefined => {
  const { child, node } = view;
  if (child === undefined || !isAsWritten(view) || !isDrained(child)) return 'the node is drained again first';
  if (node?.node.holdRecord === undefined || !node.node.unschedulable) return 'the node is not cordoned (any more): it is held again first';
  return undefined;
};

/** A halted plan begins no work: a node without any would be out of service for nothing, for as long as nobody comes. */
const requeueSlot = ({ slot: one }: NodeView, halted: string, now: Temporal.Instant): NodeStepResult =>
  end(one, now, 'Requeued', `The plan was halted before the work began, it is released and comes again later: ${halted}`);

/** Why the plan would not begin with the node any more. It comes again should that change. */
const notAsked = ({ slot: one, node, snapshot: { plan, unfinished } }: NodeView): string | undefined => {
  if (one.ranAttempt !== undefined) return undefined;
  const reason = plan.skips.get(one.node);
  if (reason !== undefined) return reason === '' ? 'Somebody has it skipped' : `Somebody has it skipped (${reason})`;
  if (node === undefined) return undefined;
  if (!node.selected) return 'The plan does not select it any more';
  return node.due === false && !(plan.undo === true && unfinished.has(one.uid)) ? 'It is not due any more' : undefined;
};

/**
 * What a stop means for a node whose work has not begun: given up, or put off; and so for one that the plan would not begin with any more. Undefined: it goes on, as nodes
 * in flight of a paused plan do.
 */
export const beforeWork = (view: NodeView, now: Temporal.Instant, withdrawn: string): NodeStepResult | undefined => {
  const { slot: one, intent } = view;
  if (intent.withdrawn) return end(one, now, 'Skipped', withdrawn);
  if (isOutdated(view)) return end(one, now, 'Skipped', 'The plan was edited before the work began');
  const { halted } = intent.stop ?? {};
  if (halted !== undefined) return requeueSlot(view, halted, now);
  const unasked = notAsked(view);
  return unasked === undefined ? undefined : end(one, now, 'Requeued', `${unasked} before its work began: it is released`);
};

/** The boot of the node is another than before the work, and than any that came before a container of its pod had run. */
export const isRebooted = ({ slot: one, node }: NodeView): boolean =>
  node?.node.bootId !== undefined &&
  one.bootIdBefore !== undefined &&
  node.node.bootId !== one.bootIdBefore &&
  node.node.bootId !== one.idleBootId;
