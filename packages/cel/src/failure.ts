/**
 * An error at run time, such as a missing key. Thrown within one call of `evaluate` only; `&&`,
 * `||`, `all` and `exists` may absorb it.
 */
export class EvalError extends Error {}

/** The budget of steps is exceeded. Nothing absorbs this error. */
export class CostExceeded extends Error {}

/** Throws the error for a function or an operator with types that it does not accept. */
export function overload(): never {
  throw new EvalError('no such overload');
}

export function fail(message: string): never {
  throw new EvalError(message);
}

/**
 * Counts the cost of an evaluation: a step for each evaluated part, and more for work that grows
 * with the size of a value.
 */
export class CostMeter {
  readonly #budget: number;
  #left: number;

  constructor(budget: number) {
    this.#budget = budget;
    this.#left = budget;
  }

  /** Cost so far. */
  get spent(): number {
    return this.#budget - this.#left;
  }

  charge(cost: number): void {
    this.#left -= cost;
    if (this.#left < 0) throw new CostExceeded('operation cancelled: actual cost limit exceeded');
  }

  /**
   * Charges for text, which is copied and compared many characters at a time. Upstream: cel-go,
   * common/cost.go, StringTraversalCostFactor.
   */
  chargeText(length: number): void {
    this.charge(length / 10);
  }
}
