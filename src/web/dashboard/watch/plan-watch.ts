import type { PlanAdapter } from '../../../core/plan/adapter.ts';
import { type Plan, plansPath } from '../../../core/plan/plan.ts';
import type { Change } from '../../../operator/ports.ts';
import type { PlanView } from '../scene.ts';
import { planView } from '../views/plan-views.ts';
import { ViewStore } from '../views/view-store.ts';
import type { Collections } from './collections.ts';

/** How plans are read. */
export type PlanClient = Pick<PlanAdapter, 'readPlan'>;

/** The plans of the cluster. */
export class PlanWatch {
  readonly plans = new ViewStore<PlanView>();
  readonly #plans = new Map<string, Plan>();

  /** A plan that is there at this moment: the very one, and no successor of its name. */
  find(name: string, uid: string): Plan | undefined {
    const plan = this.#plans.get(name);
    return plan?.uid === uid ? plan : undefined;
  }

  /** Until the signal is aborted. A cluster may lack the kind. */
  run(collections: Collections, { readPlan }: PlanClient, signal: AbortSignal): Promise<void> {
    const told = (change: Change<Plan>): void => this.#told(change);
    const collection = { path: plansPath };
    return collections.follow({ what: 'maintenance plans', collection, project: readPlan, told, mayLack: true }, signal);
  }

  #told({ type, object }: Change<Plan>): void {
    if (type === 'removed') {
      this.#plans.delete(object.key);
      this.plans.drop(object.key);
      return;
    }
    this.#plans.set(object.key, object);
    this.plans.put(planView(object));
  }
}
