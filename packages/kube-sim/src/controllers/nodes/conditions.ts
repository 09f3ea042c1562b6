import type { JsonObject } from '@drydock/apimachinery';
import { at, objects, part, type Stored, text } from '../../object.ts';

/** Conditions and taints of nodes, as the node lifecycle controller reads and writes them. */

export const notReady = 'node.kubernetes.io/not-ready';
export const unreachable = 'node.kubernetes.io/unreachable';
export const outOfService = 'node.kubernetes.io/out-of-service';

export function conditionOfNode(node: Stored, type: string): JsonObject | undefined {
  return objects(at(node, 'status', 'conditions')).find(one => one['type'] === type);
}

/** Returns `True`, `False` or `Unknown`; empty when the node has never reported it. */
export function readiness(node: Stored): string {
  return text(conditionOfNode(node, 'Ready'), 'status');
}

export function taintsOf(node: Stored): readonly JsonObject[] {
  return objects(at(node, 'spec', 'taints'));
}

export function hasTaint(node: Stored, key: string, effect?: string): boolean {
  return taintsOf(node).some(
    taint =>
      text(taint, 'key') === key && (effect === undefined || text(taint, 'effect') === effect),
  );
}

/** Returns the node with other taints; without the member when there are none. */
export function withTaints(node: Stored, taints: readonly JsonObject[]): JsonObject {
  const { taints: _before, ...rest } = part(node, 'spec');
  return { ...node, spec: { ...rest, ...(taints.length > 0 && { taints: [...taints] }) } };
}
