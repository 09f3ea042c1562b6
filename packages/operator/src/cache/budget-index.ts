import { sameJson } from '@drydock/apimachinery';
import type { Budget } from '@drydock/core/drain';
import { budgetsOf } from '@drydock/core/drain';
import type { Pod } from '@drydock/core/pod';
import type { Cache } from './cache.ts';

type IndexedPod = { readonly edition: number; readonly keys: readonly string[] };

/**
 * An index of the budgets that guard each pod. It is read at every pass of a node, and changes only
 * when a selector does.
 */
export class BudgetIndex {
  readonly #budgets: Cache<Budget>;
  readonly #known = new WeakMap<Pod, IndexedPod>();
  #edition = 0;

  constructor(budgets: Cache<Budget>) {
    this.#budgets = budgets;
  }

  /** Records that a budget was added, removed or changed; `before` is the previous version. */
  changed(before: Budget | undefined, after: Budget): void {
    if (
      before === undefined ||
      this.#budgets.get(after.key) === undefined ||
      !sameJson(before.selector, after.selector)
    )
      this.#edition += 1;
  }

  /** Returns the budgets of these pods, each once. */
  over(pods: readonly Pod[]): readonly Budget[] {
    const keys = new Set(pods.flatMap(pod => this.#keysOf(pod)));
    return [...keys].flatMap(key => this.#budgets.get(key) ?? []);
  }

  #keysOf(pod: Pod): readonly string[] {
    const known = this.#known.get(pod);
    if (known?.edition === this.#edition) return known.keys;
    const keys = budgetsOf(pod, this.#budgets.in(pod.namespace)).map(({ key }) => key);
    this.#known.set(pod, { edition: this.#edition, keys });
    return keys;
  }
}
