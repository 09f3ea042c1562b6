import type { FilterContext } from '../drain/filters.ts';
import { vmPodsOf } from '../vm/vm-pod.ts';
import type { NodeSnapshot } from './snapshot.ts';

/** Returns the facts beside a pod of this node that are needed to judge the pod. */
export function filterContextOf(
  {
    nodeName,
    pods = [],
    vms,
    daemonSets,
    planWork,
  }: Pick<NodeSnapshot, 'nodeName' | 'pods' | 'vms' | 'daemonSets' | 'planWork'>,
  now: Temporal.Instant,
): FilterContext {
  return { now, daemonSets, vmPods: vmPodsOf(nodeName, pods, vms), planWork };
}
