import type { Marks } from '../node/marks.ts';
import { type Node, taintId } from '../node/node.ts';
import type { MaintenanceRequest } from '../request/request.ts';

function carries(node: Node, { taints }: Marks): boolean {
  return (
    taints.length > 0 &&
    taints.every(wanted => node.taints.some(taint => taintId(taint) === taintId(wanted)))
  );
}

/**
 * Reports whether the previous operator has put these marks on the node, without a record of the
 * state before.
 */
export function markedByPredecessor(node: Node, request: MaintenanceRequest): boolean {
  return request.claim !== 'ours' && carries(node, request.adapter.marks('Drain'));
}

/**
 * Reports whether the node is held, by this operator or by the previous one: the hold stays until
 * it is released on purpose.
 */
export function isHeldAlready(node: Node, request: MaintenanceRequest): boolean {
  return node.holdRecord !== undefined || markedByPredecessor(node, request);
}

/**
 * Reports whether the node carries all marks that the request puts on it, according to the informer
 * cache.
 */
export function carriesMarks(
  node: Node,
  { adapter, level }: Pick<MaintenanceRequest, 'adapter' | 'level'>,
): boolean {
  const { unschedulable, taints, labels } = adapter.marks(level);
  return (
    (!unschedulable || node.unschedulable) &&
    taints.every(wanted => node.taints.some(taint => taintId(taint) === taintId(wanted))) &&
    Object.entries(labels).every(([key, value]) => node.labels[key] === value)
  );
}
