import type { Plan } from '@drydock/core/plan';
import type { PlanExpressions } from './expressions.ts';
import type { PlanCache } from './plan-cache.ts';

/**
 * Returns what keeps the plan from any start: errors in expressions, and objects that the operator
 * has no right to read.
 */
export function planProblem(
  plan: Plan,
  expressions: PlanExpressions,
  { unread, image }: Pick<PlanCache, 'unread' | 'image'>,
): string | undefined {
  if (unread.length > 0)
    return `Drydock may not read ${unread.join(', ')}: install the rights of plans (drydock install --with plans)`;
  const { work, rehearse } = plan;
  if (rehearse !== undefined && rehearse.image === undefined && image === undefined) {
    return 'spec.rehearse: the image of the operator is not known, since it runs in no pod: name an image of Drydock in spec.rehearse.image';
  }
  if (work.kind === 'reboot' && work.image === undefined && image === undefined) {
    return 'spec.work.reboot: the image of the operator is not known, since it runs in no pod: name an image of Drydock in spec.work.reboot.image';
  }
  return expressions.problem ?? plan.problem;
}
