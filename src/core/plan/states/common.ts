import { isReady, type Node } from '../../hold/node.ts';
import type { Write } from '../../maintenance/decision.ts';
import type { MaintenanceRequest } from '../../request/request.ts';
import type { InFlight, NodeState, Outcome, VerdictWord } from '../in-flight.ts';
import { type HookStep, ofNode, runHooks } from '../pods/run-hooks.ts';
import type { PlanNode, PlanSnapshot, Waiting } from '../snapshot.ts';
import { childNameOf } from '../writes.ts';

/** One node in flight at this moment. */
export type NodeView = {
  readonly snapshot: PlanSnapshot;
  readonly one: InFlight;
  /** Missing: there is no node of this name and uid (any more). */
  readonly node?: PlanNode;
  readonly child?: MaintenanceRequest;
  readonly intent: PlanIntent;
};

/** What the plan as a whole asks of its nodes in flight. */
export type PlanIntent = {
  /** It gives up what has not begun to change a node. */
  readonly withdrawn: boolean;
  /** Why nothing more is begun: no work, and no Maintenance. Work that has begun goes on. */
  readonly halted?: string | undefined;
};

/** What becomes of it in this pass. Without an entry the slot is free. */
export type Step = {
  readonly one?: InFlight;
  readonly writes?: readonly Write[];
  readonly waiting?: Waiting;
  readonly hooks?: HookStep;
  readonly again?: Temporal.Instant;
};

/** One state of a node in flight. */
export type State = (view: NodeView, now: Temporal.Instant) => Step;

export const viewOfNode = (snapshot: PlanSnapshot, one: InFlight, intent: PlanIntent): NodeView => {
  const node = snapshot.nodes.get(one.node);
  const child = snapshot.children.get(childNameOf(snapshot.plan, one.uid));
  return { snapshot, one, intent, ...(node?.node.uid === one.uid && { node }), ...(child && { child }) };
};

/** It is well, and it stays. */
export const isSound = (node: Node): boolean => !node.deleting && isReady(node);

/** How often this node has been given back already in this run, because its drain was stuck. */
export const requeuesOf = ({ snapshot, one }: NodeView): number =>
  snapshot.slices.flatMap(({ verdicts }) => verdicts).find(({ uid }) => uid === one.uid)?.requeues ?? 0;

/** The hooks of this moment of the node; undefined when they have all ended. */
export const hooksOf = ({ snapshot, one }: NodeView, at: 'BeforeNode' | 'AfterNode', now: Temporal.Instant): Step | undefined => {
  const step = runHooks(snapshot, { at, of: ofNode(one), stage: one.stage, node: one.node }, now);
  return step.done
    ? undefined
    : { one, hooks: step, ...(step.waiting && { waiting: step.waiting }), ...(step.again && { again: step.again }) };
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
export const become = (one: InFlight, state: NodeState, now: Temporal.Instant, more: Partial<InFlight> = {}): Step => {
  const { soakSince: _soakSince, ...rest } = one;
  return { one: { ...withTimes(rest, state, now), state, since: now, ...more } };
};

/** It has come to a verdict. Nothing that was changed is given back unproven, unless the plan says so. */
export const end = (one: InFlight, now: Temporal.Instant, verdict: VerdictWord, message: string, held = false): Step => {
  const outcome: Outcome = { verdict, step: one.state, message, held };
  return become(one, 'Releasing', now, { outcome });
};

/** Its Maintenance is there and stays: without one nothing holds the node. */
export const hasHold = ({ child }: NodeView): boolean => child !== undefined && !child.deleting;

/** It has failed after the work began. */
export const fail = (view: NodeView, now: Temporal.Instant, message: string): Step =>
  end(view.one, now, 'Failed', message, view.snapshot.plan.onFailure === 'Hold' && hasHold(view));

/** The plan has been edited to other work since the node was begun with: nothing of that work is done in this slot. */
export const isOutdated = ({ one, snapshot }: NodeView): boolean => one.revision !== snapshot.plan.run?.revision;

/** Why nothing may be begun on the node now: it is not held as it has to be. Undefined where it is. */
export const holdLack = ({ child, node }: NodeView): string | undefined => {
  if (child?.history.state !== 'Drained') return 'the node is drained again first';
  if (node?.node.holdRecord === undefined || !node.node.unschedulable) return 'the node is not cordoned (any more): it is held again first';
  return undefined;
};

/** A halted plan begins no work: a node without any would be out of service for nothing, for as long as nobody comes. */
export const putOff = ({ one }: NodeView, halted: string, now: Temporal.Instant): Step =>
  end(one, now, 'Requeued', `The plan was halted before the work began, it is released and comes again later: ${halted}`);

/** The boot of the node is another than before the work. */
export const isRebooted = ({ one, node }: NodeView): boolean =>
  node?.node.bootId !== undefined && one.bootIdBefore !== undefined && node.node.bootId !== one.bootIdBefore;
