import type { Marks } from '../node/marks.ts';
import { type Node, taintId } from '../node/node.ts';
import type { MaintenanceRequest } from '../request/request.ts';

const carries = (node: Node, { taints }: Marks): boolean =>
  taints.length > 0 && taints.every(wanted => node.taints.some(taint => taintId(taint) === taintId(wanted)));

/** The operator before us has put these marks on the node, and left no record of what was there. */
export const markedByPredecessor = (node: Node, request: MaintenanceRequest): boolean =>
  request.claim !== 'ours' && carries(node, request.adapter.marks('Drain'));

/** The node is held by now, by us or by the operator before us: until it is released on purpose, it stays so. */
export const isHeldAlready = (node: Node, request: MaintenanceRequest): boolean =>
  node.holdRecord !== undefined || markedByPredecessor(node, request);

/** The node carries all that the request puts on it, as far as it has been seen. */
export const carriesMarks = (node: Node, { adapter, stage }: Pick<MaintenanceRequest, 'adapter' | 'stage'>): boolean => {
  const { unschedulable, taints, labels } = adapter.marks(stage);
  return (
    (!unschedulable || node.unschedulable) &&
    taints.every(wanted => node.taints.some(taint => taintId(taint) === taintId(wanted))) &&
    Object.entries(labels).every(([key, value]) => node.labels[key] === value)
  );
};
