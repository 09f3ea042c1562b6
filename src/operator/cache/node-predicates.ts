import { hasLifecycleConditions } from '../../core/hold/conditions.ts';
import { conditionOf, type Node } from '../../core/node/node.ts';
import { isControlPlane } from '../../core/quorum/quorum.ts';

/** What of a node matters to its maintenances and to those of others. */

/** Nodes change all the time by their heartbeats; only this much of them matters. */
export const fingerprint = (node: Node): string =>
  JSON.stringify([
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

/** Something of ours is on it: a hold, or a word that one has left behind. */
export const isOwnedNode = (node: Node | undefined): boolean =>
  node !== undefined && (node.holdRecord !== undefined || hasLifecycleConditions(node));

/** What a node means to the quorum. */
export const quorumFingerprint = (node: Node | undefined): string =>
  node === undefined || !isControlPlane(node) ? '' : `${conditionOf(node, 'Ready')?.status ?? ''} ${node.holdRecord === undefined}`;
