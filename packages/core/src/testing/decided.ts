import { decidePlan } from '../plan/decide.ts';
import type { Plan } from '../plan/plan.ts';
import type { PlanDecision, PlanNode } from '../plan/snapshot.ts';
import { at } from './make.ts';
import { makePlan, makePlanNode, makePlanSnapshot, makeReadyNode } from './make-plan.ts';

/** What is decided about small plans, for tests. */

const now = at(0);

/** So many nodes, n1 and on. */
export function nodesOf(many: number, over: Partial<PlanNode> = {}): readonly PlanNode[] {
  return Array.from({ length: many }, (_, index) =>
    makePlanNode(makeReadyNode(`n${index + 1}`), over),
  );
}

type Given = Parameters<typeof makePlanSnapshot>[0];

/** What is decided about a plan at the moment 0. */
export function decided(over: Given = {}, plan: Partial<Plan> = {}): PlanDecision {
  return decidePlan(makePlanSnapshot({ nodes: nodesOf(3), ...over, plan: makePlan(plan) }), now);
}

/** The nodes that are begun with. */
export function begun(over: Given = {}, plan: Partial<Plan> = {}): readonly string[] {
  const before = new Set((plan.inFlight ?? []).map(({ node }) => node));
  return decided(over, plan).inFlight.flatMap(({ node }) => (before.has(node) ? [] : node));
}

/** The phase, and what the plan waits for. */
export function words({ phase, waiting }: PlanDecision): string {
  return [phase, ...waiting.map(({ reason }) => reason)].join(' ');
}
