import { labelOf } from '@drydock/apimachinery';
import type { PlanWork } from '@drydock/core/drain';
import type { Plan } from '@drydock/core/plan';
import { isAtWork } from '@drydock/core/plan';
import type { Change } from '@drydock/kube-client';
import type { PlanCache } from './plan-cache.ts';

/**
 * Returns what the reconciler of the nodes needs of plans: the nodes on which their work has not
 * ended yet.
 */

function nodesAtWork({ inFlight }: Plan): readonly string[] {
  return inFlight.flatMap(slot => (isAtWork(slot) ? [slot.node] : []));
}

/** Needed part of the cache of plans. */
type Plans = Pick<PlanCache, 'arePlansKnown' | 'workNamespace'> & {
  readonly plans: Pick<PlanCache['plans'], 'values'>;
};

/** Returns the plans whose work on the node has not ended. */
export function planWorkOn(
  { plans, arePlansKnown, workNamespace }: Plans,
  nodeName: string,
): PlanWork {
  const working = [...plans.values()].filter(({ inFlight }) =>
    inFlight.some(slot => slot.node === nodeName && isAtWork(slot)),
  );
  return {
    namespace: workNamespace,
    plans: arePlansKnown ? new Set(working.map(({ name }) => labelOf(name))) : undefined,
  };
}

/** Returns the nodes on which the work of the plan has just ended: they are requeued. */
export function nodesDone(change: Change<Plan>): readonly string[] {
  if (change.type === 'added') return [];
  if (change.type === 'removed') return nodesAtWork(change.object);
  const still = new Set(nodesAtWork(change.object));
  return nodesAtWork(change.before).filter(name => !still.has(name));
}
