import type { PlanWork } from '../../core/drain/filters.ts';
import { isAtWork } from '../../core/plan/in-flight.ts';
import type { Plan } from '../../core/plan/plan.ts';
import { labelOf } from '../../core/short-hash.ts';
import type { Change } from '../ports.ts';
import type { PlanCache } from './plan-cache.ts';

/** What the loop of the nodes has to know of plans: whose work has not ended yet. */

const nodesAtWork = ({ inFlight }: Plan): readonly string[] => inFlight.flatMap(slot => (isAtWork(slot) ? [slot.node] : []));

/** Of the cache of plans. */
type Plans = Pick<PlanCache, 'arePlansKnown' | 'workNamespace'> & { readonly plans: Pick<PlanCache['plans'], 'values'> };

/** The plans whose work on the node has not ended. */
export const planWorkOn = ({ plans, arePlansKnown, workNamespace }: Plans, nodeName: string): PlanWork => {
  const working = [...plans.values()].filter(({ inFlight }) => inFlight.some(slot => slot.node === nodeName && isAtWork(slot)));
  return { namespace: workNamespace, plans: arePlansKnown ? new Set(working.map(({ name }) => labelOf(name))) : undefined };
};

/** Nodes on which the work of the plan has just ended: whoever waits for that looks again. */
export const nodesDone = (change: Change<Plan>): readonly string[] => {
  if (change.type === 'added') return [];
  if (change.type === 'removed') return nodesAtWork(change.object);
  const still = new Set(nodesAtWork(change.object));
  return nodesAtWork(change.before).filter(name => !still.has(name));
};
