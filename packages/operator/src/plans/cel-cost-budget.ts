import { isBefore, secondsAfter } from '@drydock/apimachinery';

/**
 * Steps that the expressions may cost per pass: as much as five expressions at the limit of one,
 * half a second of the process at most. An ordinary expression costs about fifty steps a node.
 */
const perPass = 5_000_000;

/**
 * Seconds for which a plan whose expressions have cost more is not evaluated again: no other plan
 * waits for it.
 */
const restSeconds = 60;

/** A budget for the expressions of one plan together, for each pass over all its nodes. */
export class CelCostBudget {
  /** Steps that are left for evaluations. */
  left = perPass;
  #restsUntil: Temporal.Instant | undefined;

  /** Reason why nothing more is evaluated, for people; undefined as long as steps are left. */
  get refusal(): string | undefined {
    return this.left > 0
      ? undefined
      : `the expressions of this plan cost more than ${perPass} steps for all nodes`;
  }

  /** Time at which evaluations may cost something again. */
  get restsUntil(): Temporal.Instant | undefined {
    return this.#restsUntil;
  }

  /** Begins another pass over the nodes. */
  begin(now: Temporal.Instant): void {
    if (this.left > 0) {
      this.left = perPass;
      return;
    }
    this.#restsUntil ??= secondsAfter(now, restSeconds);
    if (isBefore(now, this.#restsUntil)) return;
    this.#restsUntil = undefined;
    this.left = perPass;
  }
}
