import type { JsonObject } from '@drydock/apimachinery';
import type { Write } from '@drydock/core';
import type { Plan } from '@drydock/core/plan';
import { pathOfPlan } from '@drydock/core/plan';

/**
 * Returns the write that patches the status of a plan, provided that the plan has not changed since
 * it was read.
 */
export function statusWrite(
  plan: Plan,
  what: string,
  status: JsonObject,
  said: Write['events'],
): Write {
  return {
    description: `report ${what}`,
    method: 'PATCH',
    style: 'merge',
    path: `${pathOfPlan(plan)}/status`,
    body: { metadata: { resourceVersion: plan.resourceVersion }, status },
    cache: 'plans',
    events: said,
  };
}
