import { isObject } from '@drydock/apimachinery';
import type { Plan } from '@drydock/core/plan';
import type { Overview } from '../ports.ts';

/** Metrics of plans, among all metrics. */
export type PlansOverview = Pick<Overview, 'planPhases' | 'planNodes' | 'planDeadlines'>;

/** States of nodes, and the field of the status that counts them. */
const states = [
  ['Due', 'due'],
  ['Blocked', 'blocked'],
  ['InFlight', 'inFlight'],
  ['Done', 'done'],
  ['Failed', 'failed'],
  ['Skipped', 'skipped'],
  ['DueAgain', 'dueAgain'],
] as const;

function phaseOf({ name, status: { phase } }: Plan): PlansOverview['planPhases'][number] {
  return {
    plan: name,
    phase: typeof phase === 'string' ? phase : 'Pending',
  };
}

function nodesOf({ name, status: { nodes } }: Plan): PlansOverview['planNodes'] {
  return isObject(nodes)
    ? states.map(([state, field]) => ({ plan: name, state, count: Number(nodes[field] ?? 0) }))
    : [];
}

/** Returns the deadline of a plan; nothing for a plan that is over. */
function deadlineOf({ name, status: { conditions, phase } }: Plan): PlansOverview['planDeadlines'] {
  const isEnding = phase === 'Complete' || phase === 'Aborted' || phase === 'Deleting';
  const all =
    !isEnding && Array.isArray(conditions)
      ? (conditions as readonly unknown[]).filter(isObject)
      : [];
  const predicted = all.find(({ type }) => type === 'Predicted');
  return predicted === undefined ? [] : [{ plan: name, isMissed: predicted['status'] === 'False' }];
}

/** Returns phases, nodes by state, and deadlines from the statuses. */
export function overviewOf(plans: readonly Plan[]): PlansOverview {
  return {
    planPhases: plans.map(phaseOf),
    planNodes: plans.flatMap(nodesOf),
    planDeadlines: plans.flatMap(deadlineOf),
  };
}
