import type { Plan } from '@drydock/core/plan';
import { type PlanExpressions, planExpressions } from './expressions.ts';

/** A cache of the expressions of plans, compiled once a generation, regardless of the status. */
export class CompiledExpressions {
  /** Compiled expressions by uid. */
  readonly #known = new Map<
    string,
    { readonly generation: number; readonly expressions: PlanExpressions }
  >();

  /**
   * Returns the expressions of this plan. `plans`: the number of plans; expressions of removed
   * plans are dropped eventually.
   */
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
