import { isBefore, secondsAfter, timeText } from '@drydock/apimachinery';
import type { Plan, StarvedNode } from '../plan.ts';
import type { PlanNode, WaitReason } from '../snapshot.ts';

/**
 * Nodes that limits hold back while others of the plan begin: a node that has waited too long
 * reserves the limits.
 */

/**
 * Number of nodes that are remembered: the one that has waited longest is enough, and the next ones
 * follow.
 */
const maxPassedOver = 20;

function starvedAt({ since }: StarvedNode, plan: Plan): Temporal.Instant {
  return secondsAfter(since, plan.starvedAfterSeconds ?? 0);
}

/** Returns the nodes that have waited too long, by uid. */
export function starvedOf(plan: Plan, now: Temporal.Instant): ReadonlyMap<string, StarvedNode> {
  return plan.starvedAfterSeconds === undefined
    ? new Map()
    : new Map(
        plan.passedOver
          .filter(one => !isBefore(now, starvedAt(one, plan)))
          .map(one => [one.uid, one]),
      );
}

/**
 * Returns the nodes that are still to begin, with the times that they keep, and the nodes in
 * `refused`, which limits have held back while another node begins.
 */
export function passedOverOf(
  plan: Plan,
  candidates: readonly PlanNode[],
  refused: readonly PlanNode[],
  now: Temporal.Instant,
): readonly StarvedNode[] {
  if (plan.starvedAfterSeconds === undefined) return [];
  const open = new Set(candidates.map(({ node }) => node.uid));
  const kept = plan.passedOver.filter(({ uid }) => open.has(uid));
  const known = new Set(kept.map(({ uid }) => uid));
  const fresh = refused
    .filter(({ node }) => !known.has(node.uid))
    .map(({ node }) => ({ node: node.name, uid: node.uid, since: now }));
  return [...kept, ...fresh].slice(0, maxPassedOver);
}

/** Returns the reason for others: none begins before the starved node. */
export function reserved(
  { node, since }: StarvedNode,
  { reason, message }: WaitReason,
): WaitReason {
  return {
    reason: 'Starved',
    message: `${node} has been passed over since ${timeText(since)}: no other node begins before it, and it waits for ${reason}: ${message}`,
    node,
  };
}
