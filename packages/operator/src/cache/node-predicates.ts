import { hasLifecycleConditions } from '@drydock/core/hold';
import { conditionOf, type Node } from '@drydock/core/node';
import { isControlPlane } from '@drydock/core/quorum';

/**
 * Predicates on the parts of a node that matter to its maintenances and to those of other nodes.
 */

/** Returns the parts of a node that matter: heartbeats change nodes all the time. */
export function fingerprint(node: Node): string {
  return JSON.stringify([
    node.unschedulable,
    node.taints,
    node.labels,
    node.conditions.map(({ type, status, reason }) => [type, status, reason]),
    node.holdRecord,
    node.deleting,
    node.uid,
    node.bootId,
    node.providerId,
    node.annotations,
  ]);
}

/**
 * Reports whether the node carries state of ours: a hold, or a condition that a hold has left
 * behind.
 */
export function isOwnedNode(node: Node | undefined): boolean {
  return node !== undefined && (node.holdRecord !== undefined || hasLifecycleConditions(node));
}

/** Returns the parts of a node that matter to the quorum. */
export function quorumFingerprint(node: Node | undefined): string {
  return node === undefined || !isControlPlane(node)
    ? ''
    : `${conditionOf(node, 'Ready')?.status ?? ''} ${node.holdRecord === undefined}`;
}
