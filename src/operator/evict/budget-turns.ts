import type { Clock } from '../../support/clock.ts';

/** An eviction without an answer for so long, in milliseconds, is one that the API server tries again after 500 ms, or one in a slow webhook. */
const restsAfterMs = 250;

/**
 * When each eviction of a budget is sent: when the one before it has its answer, or has waited for one for `restsAfterMs`. All at once would
 * only trip over each other: the API server tries again after 500 ms when somebody else has written the budget's status meanwhile
 * (kubernetes#102361). Nothing is sent here that the budget has not been seen to allow beside all that are under way.
 */
export class BudgetTurns {
  readonly #clock: Clock;
  /** By budget: the last turn that has been given away, until the next may have one. */
  readonly #lastTurns = new Map<string, Promise<void>>();
  /** By budget: everything that waits for its turn or for its answer. */
  readonly #underWay = new Map<string, Set<Promise<void>>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Sends it when it has its turn. `send` resolves with the answer, and never rejects. */
  takeTurn(budget: string, send: () => Promise<void>): void {
    const before = this.#lastTurns.get(budget);
    const run = before === undefined ? send() : before.then(send);
    const turn = (before ?? Promise.resolve()).then(() => this.#answeredOrResting(run));
    const underWay = this.#underWay.get(budget) ?? new Set();
    this.#underWay.set(budget, underWay.add(run));
    this.#lastTurns.set(budget, turn);
    void Promise.all([run, turn]).then(() => {
      underWay.delete(run);
      if (underWay.size === 0) this.#underWay.delete(budget);
      if (this.#lastTurns.get(budget) === turn) this.#lastTurns.delete(budget);
    });
  }

  /** Sends it when everything that is under way now for these budgets has its answer; it keeps nothing waiting. */
  waitForAll(budgets: readonly string[], send: () => Promise<void>): void {
    const before = budgets.flatMap(budget => [...(this.#underWay.get(budget) ?? [])]);
    void (before.length === 0 ? send() : Promise.all(before).then(send));
  }

  #answeredOrResting(run: Promise<void>): Promise<void> {
    return new Promise(resolve => {
      const cancel = this.#clock.after(restsAfterMs, resolve);
      void run.then(cancel).then(resolve);
    });
  }
}
