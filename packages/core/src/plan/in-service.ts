import { taintsIn } from '../hold/hold-record.ts';
import {
  conditionOf,
  isKeepingPods,
  isReady,
  type Node,
  removalTaint,
  taintId,
  unreadyTaint,
} from '../node/node.ts';

/**
 * A node is in service if pods can run on it: its kubelet reports, and no taint of a boot, an
 * autoscaler or a fencing agent keeps pods away.
 */

/** Reports whether its kubelet reports Ready and the node is not being deleted. */
export function isUp(node: Node): boolean {
  return !node.deleting && isReady(node);
}

/**
 * Returns a mark that changes if the node was unhealthy between two looks: another start, another
 * time of becoming Ready. No clocks are compared.
 */
export function livesOf(node: Node): string {
  return `${node.bootId ?? ''}/${conditionOf(node, 'Ready')?.lastTransitionTime ?? ''}`;
}

/**
 * Returns what keeps pods away beside cordons, as the rest of a sentence; undefined if the node is
 * healthy and not being deleted.
 */
export function unsoundness(node: Node): string | undefined {
  if (!isUp(node)) return 'is not Ready';
  const taint = removalTaint(node) ?? unreadyTaint(node);
  return taint && `has the taint ${taintId(taint)}, with which no pod can run on it`;
}

/** Taint of a cordon, which is reported as a cordon. */
const ofCordon = 'node.kubernetes.io/unschedulable:NoSchedule';

/** Returns the taints that keep pods from the node and do not belong to a hold. */
export function foreignTaints({ taints, holdRecord }: Node): readonly string[] {
  const ours = new Set([ofCordon, ...taintsIn(holdRecord)]);
  return taints.flatMap(taint =>
    isKeepingPods(taint) && !ours.has(taintId(taint)) ? [taintId(taint)] : [],
  );
}

/** Reports whether the node is healthy, pods can run on it, and it is not being deleted. */
export function isHealthy(node: Node): boolean {
  return unsoundness(node) === undefined;
}
