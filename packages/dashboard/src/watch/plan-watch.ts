import { matches, timeText } from '@drydock/apimachinery';
import type { Node } from '@drydock/core/node';
import type { PlanAdapter } from '@drydock/core/plan';
import { type Plan, plansPath } from '@drydock/core/plan';
import type { Change } from '@drydock/kube-client';
import type { Clock } from '@drydock/utils';
import type { PlanSummary } from '../scene.ts';
import { planView } from '../views/plan-views.ts';
import { ViewStore } from '../views/view-store.ts';
import type { Collections } from './collections.ts';
import { RunHistories } from './run-histories.ts';

/** Reader of plans. */
export type PlanClient = Pick<PlanAdapter, 'readPlan'>;

/** The plans of the cluster. */
export class PlanWatch {
  readonly plans = new ViewStore<PlanSummary>();
  readonly #plans = new Map<string, Plan>();
  readonly #histories = new RunHistories();
  readonly #clock: Pick<Clock, 'now'>;
  readonly #selectionChanged: () => void;

  /**
   * Creates the watch; `selectionChanged` is called when nodes may belong to another plan than
   * before.
   */
  constructor(clock: Pick<Clock, 'now'>, selectionChanged: () => void) {
    this.#clock = clock;
    this.#selectionChanged = selectionChanged;
  }

  /** Returns the plan that selects a node and is not over; of several, the first by name. */
  planOf({ labels }: Pick<Node, 'labels'>): string | undefined {
    const names = [...this.#plans.values()].flatMap(({ name, nodeSelector }) =>
      !this.#isOver(name) && matches(nodeSelector, labels) ? [name] : [],
    );
    return names.sort()[0];
  }

  /** Returns a plan that exists now: exactly this one, and no successor with its name. */
  find(name: string, uid: string): Plan | undefined {
    const plan = this.#plans.get(name);
    return plan?.uid === uid ? plan : undefined;
  }

  /** Watches until the signal is aborted. A cluster may lack the kind. */
  run(collections: Collections, { readPlan }: PlanClient, signal: AbortSignal): Promise<void> {
    const told = (change: Change<Plan>): void => this.#told(change);
    const collection = { path: plansPath };
    return collections.follow(
      { what: 'maintenance plans', collection, project: readPlan, told, mayLack: true },
      signal,
    );
  }

  #told({ type, object }: Change<Plan>): void {
    const before = this.#selectionOf(object.key);
    if (type === 'removed') {
      this.#plans.delete(object.key);
      this.plans.drop(object.key);
      this.#histories.forget(object);
    } else {
      this.#plans.set(object.key, object);
      this.plans.put(planView(object, this.#histories.follow(object, timeText(this.#clock.now()))));
    }
    if (this.#selectionOf(object.key) !== before) this.#selectionChanged();
  }

  #isOver(name: string): boolean {
    const phase = this.plans.get(name)?.phase;
    return phase === 'Complete' || phase === 'Aborted';
  }

  /** Returns the selection of a plan, for comparison with the one before. */
  #selectionOf(name: string): string {
    return this.#isOver(name) ? '' : JSON.stringify(this.#plans.get(name)?.nodeSelector ?? '');
  }
}
