import { deleteChildWrite } from '../maintenance/child.ts';
import type { MaintenanceRequest } from '../request/request.ts';
import type { Write } from '../write.ts';
import { deletions, waitForPods, workPodsOn } from './pods/work-pods.ts';
import type { PlanNode, WaitReason } from './snapshot.ts';
import { isEnding } from './stop.ts';
import type { PlanView } from './view.ts';
import { childNameOf, holdNameOf } from './writes.ts';

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
