import { isBefore, readTime, secondsAfter } from '@drydock/apimachinery';
import { deleteChildWrite } from '../maintenance/decide.ts';
import type { MaintenanceRequest } from '../request/request.ts';
import type { Write } from '../write.ts';
import type { InFlight, NodeState } from './in-flight.ts';
import { deletions, waitForPods, workPodsOn } from './pods/work-pods.ts';
import type { PlanNode, PlanSnapshot, WaitReason } from './snapshot.ts';
import {
  end,
  type NodeStateFn,
  type NodeStepResult,
  type NodeView,
  type PlanDirective,
  transition,
  viewOfNode,
} from './states/common.ts';
import { holding, starting } from './states/hold.ts';
import { soaking, verifying } from './states/proof.ts';
import { releasing } from './states/release.ts';
import { rebooting, working } from './states/work.ts';
import { isEnding } from './stop.ts';
import type { PlanView } from './view.ts';
import { childNameOf, deletePodWrite, holdNameOf } from './writes.ts';

/**
 * Handling of a node in flight whose Node object does not exist any more, or whose name belongs to
 * another Node.
 */

/**
 * Reports whether a container of the pod of this attempt has run, or may have: a pod that is gone
 * as well proves nothing, unless its creation was refused.
 */
function mayHaveRun({ slot: { node, pod: name, podUid }, snapshot }: NodeView): boolean {
  const pod = name === undefined ? undefined : snapshot.pods.get(name);
  if (pod !== undefined && (podUid === undefined || pod.uid === podUid)) return pod.ran;
  return podUid !== undefined || (name !== undefined && !snapshot.refusals.has(node));
}

/** Reports whether something may have been done to the node, beyond holding and draining it. */
function hasBegun(view: NodeView): boolean {
  const { work, state, ranAttempt } = view.slot;
  if (work.kind === 'none' || state === 'Starting' || state === 'Holding') return false;
  return (
    state !== 'Working' || work.kind === 'external' || ranAttempt !== undefined || mayHaveRun(view)
  );
}

/**
 * Reports whether the node was proven, and has been quiet for the required time: it disappeared
 * only after that.
 */
function isProven(
  { slot: { outcome, soakSince }, snapshot: { plan } }: NodeView,
  now: Temporal.Instant,
): boolean {
  const seconds = outcome?.verdict === 'Done' ? plan.soakAfterReleaseSeconds : 0;
  return (
    seconds === 0 || (soakSince !== undefined && !isBefore(now, secondsAfter(soakSince, seconds)))
  );
}

/**
 * Returns how the work takes the machine away for a while, and for how long at most: it boots, or
 * an external tool installs it again. Undefined: the work does not.
 */
function absenceOf({
  slot: one,
  snapshot: { plan },
}: NodeView): { readonly reason: string; readonly seconds: number } | undefined {
  const { work, state, bootIdBefore, podUid } = one;
  const { timeoutSeconds: seconds } = work;
  if (work.kind === 'external' && state === 'Working') return { reason: state, seconds };
  // The tool has ended, and the required boot may be still to come.
  if (work.kind === 'external' && state === 'Verifying' && plan.rebooted === 'Required')
    return { reason: state, seconds: plan.provenWithinSeconds };
  const isDown = state === 'Rebooting' || (state === 'Working' && podUid !== undefined);
  return work.rebootsNode && bootIdBefore !== undefined && isDown
    ? { reason: 'Rebooting', seconds }
    : undefined;
}

/**
 * Waits for the node to register again. Where a cloud controller manages nodes, a machine that is
 * off while it reboots loses its Node object, as does one that is installed again; it registers
 * again under its name, and its turn goes on with that object. A machine that is known to be
 * another one does not count. Undefined: the wait is over, or there is none.
 */
function registersAgain(view: NodeView, now: Temporal.Instant): NodeStepResult | undefined {
  const { slot: one, snapshot } = view;
  const absence = absenceOf(view);
  if (absence === undefined) return undefined;
  const { reason, seconds } = absence;
  const other = snapshot.nodes.get(one.node)?.node;
  const until = secondsAfter(one.since, seconds);
  if (!isBefore(now, until)) return undefined;
  if (other === undefined) {
    const message =
      'its Node object does not exist any more: its machine may register again under its name';
    return { slot: one, waiting: { reason, message, node: one.node, until }, requeueAt: until };
  }
  if (
    one.providerId !== undefined &&
    other.providerId !== undefined &&
    one.providerId !== other.providerId
  )
    return undefined;
  const pod = one.pod === undefined ? undefined : snapshot.pods.get(one.pod);
  if (pod !== undefined) {
    const waiting = {
      reason,
      message: `pod ${pod.name} of its former Node object is being deleted`,
      node: one.node,
      until,
    };
    return {
      slot: one,
      waiting,
      requeueAt: until,
      ...(!pod.deleting && { writes: [deletePodWrite(pod)] }),
    };
  }
  const found = { ...one, uid: other.uid, heldAs: one.heldAs ?? one.uid };
  return reason === one.state ? { slot: found } : transition(found, 'Rebooting', now);
}

/**
 * Returns the step without a Node object; undefined if the state can go on without it, for example
 * because the machine is replaced, and its node with it.
 */
function withoutNode(view: NodeView, now: Temporal.Instant): NodeStepResult | undefined {
  const { slot: one } = view;
  if (one.work.kind === 'replace' && (one.state === 'Working' || one.state === 'Releasing'))
    return undefined;
  if (one.state === 'Releasing' && isProven(view, now)) return undefined;
  if (!hasBegun(view))
    return end(
      one,
      now,
      'Gone',
      `Node ${one.node} (${one.uid}) does not exist any more; nothing was done to it`,
    );
  const what = 'its work had begun, and nobody can tell what came of it';
  return (
    registersAgain(view, now) ??
    end(one, now, 'Failed', `Node ${one.node} (${one.uid}) does not exist any more: ${what}`)
  );
}

const states: Readonly<Record<NodeState, NodeStateFn>> = {
  Starting: starting,
  Holding: holding,
  Working: working,
  Rebooting: rebooting,
  Verifying: verifying,
  Soaking: soaking,
  Releasing: releasing,
};

/** Returns the step of one state of a node in flight. Only a verdict ever frees its slot. */
export function stepOf(
  snapshot: PlanSnapshot,
  one: InFlight,
  intent: PlanDirective,
  now: Temporal.Instant,
): NodeStepResult {
  const view = viewOfNode(snapshot, one, intent);
  const gone = view.node === undefined ? withoutNode(view, now) : undefined;
  return gone ?? states[one.state](view, now);
}

/**
 * Returns the step while the outcome of the last write about the node is unknown: the node and what
 * the status reports of it stay as they are.
 */
export function unansweredStep(
  { plan }: Pick<PlanSnapshot, 'plan'>,
  one: InFlight,
): NodeStepResult {
  const stored = (plan.status['waiting'] ?? []) as readonly {
    readonly reason: string;
    readonly message: string;
    readonly node?: string;
    readonly until?: string;
  }[];
  const storedWait = stored.find(({ node }) => node === one.node);
  const until = readTime(storedWait?.until);
  return {
    slot: one,
    ...(storedWait && {
      waiting: {
        reason: storedWait.reason,
        message: storedWait.message,
        node: one.node,
        ...(until && { until }),
      },
    }),
  };
}

/**
 * Returns the next step of one node in flight: through every state that neither waits nor acts, to
 * the first one that does. Each state that is written costs the plan a request, and all its other
 * nodes the time of it.
 */
export function advance(
  snapshot: PlanSnapshot,
  one: InFlight,
  intent: PlanDirective,
  now: Temporal.Instant,
): NodeStepResult {
  const step = stepOf(snapshot, one, intent, now);
  const { slot: next, writes, waiting, hooks } = step;
  // States follow each other in their order, and attempts are bounded, so the recursion ends.
  const isPassed =
    next !== undefined &&
    next !== one &&
    writes === undefined &&
    waiting === undefined &&
    hooks === undefined;
  return isPassed ? advance(snapshot, next, intent, now) : step;
}

/**
 * Stray Maintenances of a plan, which hold a node for no purpose, and what has to end before they
 * are deleted.
 */
export type Strays = {
  readonly writes: readonly Write[];
  /** Nodes that are kept until the pods of the work on them have ended. */
  readonly waiting: readonly WaitReason[];
};

/**
 * Reports whether a Maintenance that does not belong to a node in flight is still needed: its node
 * has a failure that counts and is held for it, or has a turn to come.
 */
function isOwned(
  { snapshot: { plan }, verdicts, open, selected }: PlanView,
  { node }: PlanNode,
): boolean {
  // Which nodes are due is unknown: nothing is released.
  if (plan.problem !== undefined) return true;
  const verdict = verdicts.get(node.uid);
  if (verdict?.verdict === 'Failed') return verdict.held;
  const isBlocked = typeof selected.get(node.name)?.due === 'object' && !plan.skips.has(node.name);
  return !isEnding(plan) && (open.has(node.uid) || isBlocked);
}

function isStray(view: PlanView, child: MaintenanceRequest): boolean {
  const { plan, nodes } = view.snapshot;
  const one = nodes.get(child.nodeName);
  if (one === undefined) return true;
  // A node whose machine has registered again is held by the Maintenance that it began with.
  const isOfNode =
    childNameOf(plan, one.node.uid) === child.name ||
    view.verdicts.get(one.node.uid)?.held === true;
  return !isOfNode || !isOwned(view, one);
}

/**
 * Deletes the Maintenances that hold a node for no purpose: the node is gone, or has come back as
 * another one, or the reason for its hold does not count any more and it has no turn to come. A
 * slot may have been freed while nothing on its node could end the pods of the work: they end
 * first, also where the node is gone, because it may register again under its name.
 */
export function straysOf(view: PlanView): Strays {
  const { plan, children } = view.snapshot;
  const used = new Set(plan.inFlight.map(one => holdNameOf(plan, one)));
  const writes: Write[] = [];
  const waiting: WaitReason[] = [];
  for (const child of children.values()) {
    if (child.plan !== plan.name || child.deleting || used.has(child.name) || !isStray(view, child))
      continue;
    const running = workPodsOn(view.snapshot, child.nodeName);
    const [pod] = running;
    writes.push(...(pod === undefined ? [deleteChildWrite(child)] : deletions(running)));
    if (pod !== undefined)
      waiting.push(waitForPods(running, child.nodeName, 'the node is released'));
  }
  return { writes, waiting };
}
