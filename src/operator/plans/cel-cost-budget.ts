import { isBefore, secondsAfter } from '../../core/time.ts';

/** As much as five expressions at the limit of one: half a second of the process, at most. An ordinary one costs some fifty steps a node. */
const perPass = 5_000_000;

/** A plan whose expressions have cost more is not evaluated again for so long: nobody else waits for it. */
const restSeconds = 60;

/** What the expressions of one plan may cost together, each time that all its nodes are looked at. */
export class CelCostBudget {
  /** What an evaluation takes its steps from. */
  left = perPass;
  #restsUntil: Temporal.Instant | undefined;

  /** Why nothing more is evaluated, for people; undefined as long as there are steps left. */
  get refusal(): string | undefined {
    return this.left > 0 ? undefined : `the expressions of this plan cost more than ${perPass} steps for all nodes`;
  }

  /** When it may cost something again. */
  get restsUntil(): Temporal.Instant | undefined {
    return this.#restsUntil;
  }

  /** The nodes are looked at once more. */
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
