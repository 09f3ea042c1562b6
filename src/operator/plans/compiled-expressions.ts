import type { Plan } from '../../core/plan/plan.ts';
import { type PlanExpressions, planExpressions } from './expressions.ts';

/** The expressions of plans, compiled once a generation, whatever becomes of the status. */
export class CompiledExpressions {
  /** By uid. */
  readonly #known = new Map<string, { readonly generation: number; readonly expressions: PlanExpressions }>();

  /** Those of this plan. `plans`: how many there are; those that are gone take theirs with them. */
  of(plan: Plan, plans: number): PlanExpressions {
    const { uid, generation } = plan;
    const known = this.#known.get(uid);
    if (known?.generation === generation) return known.expressions;
    if (this.#known.size > 2 * plans) this.#known.clear();
    const expressions = planExpressions(plan);
    this.#known.set(uid, { generation, expressions });
    return expressions;
  }
}
