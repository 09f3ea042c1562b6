import type { JsonObject } from '../../core/json.ts';
import type { Plan } from '../../core/plan/plan.ts';
import { pathOfPlan } from '../../core/plan/writes.ts';
import type { Write } from '../../core/write.ts';

/**
 * Returns the write that patches the status of a plan, provided that the plan has not changed since
 * it was read.
 */
export const statusWrite = (plan: Plan, what: string, status: JsonObject, said: Write['events']): Write => ({
  description: `report ${what}`,
  method: 'PATCH',
  style: 'merge',
  path: `${pathOfPlan(plan)}/status`,
  body: { metadata: { resourceVersion: plan.resourceVersion }, status },
  cache: 'plans',
  events: said,
});
