import { taintsIn } from '../hold/hold-record.ts';
import { conditionOf, isKeepingPods, isReady, type Node, removalTaint, taintId, unreadyTaint } from '../node/node.ts';

/** In service means that pods can run on it: its kubelet is there, and no taint of a boot, an autoscaler or a fencing keeps them away. */

/** Its kubelet is there, and it stays. */
export const isUp = (node: Node): boolean => !node.deleting && isReady(node);

/** What of it shows that it was not well between two looks: another start, another time of being Ready. No clock is compared. */
export const livesOf = (node: Node): string => `${node.bootId ?? ''}/${conditionOf(node, 'Ready')?.lastTransitionTime ?? ''}`;

/** What of it keeps pods away beside cordons, as the rest of a sentence about it; undefined where it is well, and stays. */
export const unsoundness = (node: Node): string | undefined => {
  if (!isUp(node)) return 'is not Ready';
  const taint = removalTaint(node) ?? unreadyTaint(node);
  return taint && `has the taint ${taintId(taint)}, with which no pod can run on it`;
};

/** A cordon is told by its own word. */
const ofCordon = 'node.kubernetes.io/unschedulable:NoSchedule';

/** The taints that keep pods from it and are no marks of a hold. */
export const foreignTaints = ({ taints, holdRecord }: Node): readonly string[] => {
  const ours = new Set([ofCordon, ...taintsIn(holdRecord)]);
  return taints.flatMap(taint => (isKeepingPods(taint) && !ours.has(taintId(taint)) ? [taintId(taint)] : []));
};

/** It is well, pods can run on it, and it stays. */
export const isHealthy = (node: Node): boolean => unsoundness(node) === undefined;
