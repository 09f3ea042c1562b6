/** What fails at run time, as a missing key does. Thrown inside of one call of `evaluate` only; `&&`, `||`, `all` and `exists` may forgive it. */
export class EvalError extends Error {}

/** The budget of steps is used up. Nothing forgives that. */
export class CostExceeded extends Error {}

/** A function or an operator was applied to types that it does not take. */
export const overload = (): never => {
  throw new EvalError('no such overload');
};

export const fail = (message: string): never => {
  throw new EvalError(message);
};

/** Counts what an evaluation costs: a step for each part that is computed, and more for work that grows with the size of a value. */
export class CostMeter {
  readonly #budget: number;
  #left: number;

  constructor(budget: number) {
    this.#budget = budget;
    this.#left = budget;
  }

  /** What it has cost so far. */
  get spent(): number {
    return this.#budget - this.#left;
  }

  charge(cost: number): void {
    this.#left -= cost;
    if (this.#left < 0) throw new CostExceeded('operation cancelled: actual cost limit exceeded');
  }

  /** For text, which is copied and compared many characters at a time. Upstream: cel-go, common/cost.go, StringTraversalCostFactor. */
  chargeText(length: number): void {
    this.charge(length / 10);
  }
}
