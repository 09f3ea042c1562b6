import type { FilterContext } from '../drain/filters.ts';
import { vmPodsOf } from '../vm/vm-pod.ts';
import type { NodeSnapshot } from './snapshot.ts';

/** What has to be known beside a pod of this node to judge it. */
export const filterContextOf = (
  { nodeName, pods = [], vms, daemonSets, planWork }: Pick<NodeSnapshot, 'nodeName' | 'pods' | 'vms' | 'daemonSets' | 'planWork'>,
  now: Temporal.Instant,
): FilterContext => ({ now, daemonSets, vmPods: vmPodsOf(nodeName, pods, vms), planWork });
