/**
 * An index of the nodes that wait for budgets, so that a budget that allows more requeues those and
 * no others.
 */
export class BudgetWaiters {
  readonly #byBudget = new Map<string, Set<string>>();
  readonly #byNode = new Map<string, readonly string[]>();
  /** Nodes to which this version of the budget was offered. */
  readonly #offered = new Map<string, { readonly version: string; readonly nodes: Set<string> }>();

  /** Sets the budgets that the node waits for from now on. */
  set(nodeName: string, budgets: readonly string[]): void {
    for (const budget of this.#byNode.get(nodeName) ?? [])
      if (!budgets.includes(budget)) this.#leave(budget, nodeName);
    for (const budget of budgets) {
      const nodes = this.#byBudget.get(budget);
      if (nodes === undefined) this.#byBudget.set(budget, new Set([nodeName]));
      else nodes.add(nodeName);
    }
    if (budgets.length === 0) this.#byNode.delete(nodeName);
    else this.#byNode.set(nodeName, budgets);
  }

  budgetsOf(nodeName: string): readonly string[] {
    return this.#byNode.get(nodeName) ?? [];
  }

  nodesOf(budget: string): readonly string[] {
    return [...(this.#byBudget.get(budget) ?? [])];
  }

  /**
   * Returns up to `most` nodes that wait for the budget and to which this version was not offered,
   * best rank first.
   */
  offer(
    budget: string,
    version: string,
    most: number,
    rank: (nodeName: string) => number,
  ): readonly string[] {
    const known = this.#offered.get(budget);
    const offered = known?.version === version ? known.nodes : new Set<string>();
    if (known?.version !== version) this.#offered.set(budget, { version, nodes: offered });
    const chosen = this.nodesOf(budget)
      .filter(nodeName => !offered.has(nodeName))
      .toSorted((one, other) => rank(one) - rank(other) || (one < other ? -1 : 1))
      .slice(0, most);
    for (const nodeName of chosen) offered.add(nodeName);
    return chosen;
  }

  #leave(budget: string, nodeName: string): void {
    const nodes = this.#byBudget.get(budget);
    nodes?.delete(nodeName);
    if (nodes?.size !== 0) return;
    this.#byBudget.delete(budget);
    this.#offered.delete(budget);
  }
}
