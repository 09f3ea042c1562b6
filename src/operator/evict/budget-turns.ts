import type { Clock } from '../../support/clock.ts';
import { Semaphore } from '../../support/semaphore.ts';

/** An eviction without an answer for so long, in milliseconds, is one that the API server tries again after 500 ms, or one in a slow webhook. */
const restsAfterMs = 250;

/**
 * Evictions that are handed over to the API at once, of all budgets: more than it has places for. A call that waits there takes several kB, its time limit runs, and it
 * cannot be called back any more.
 */
const evictionsAtOnce = 32;

/** Sends an eviction or a deletion, and resolves with its answer. It never rejects. */
type Send = () => Promise<void>;

/** One eviction, until its answer is here. What waits for its turn is nothing but this: thousands do when many nodes are drained at once. */
type Turn = { readonly send: Send; readonly answered: (() => void)[] };

/** The evictions of one budget, first come, first served. */
type Line = {
  readonly waiting: Set<Turn>;
  readonly underWay: Set<Turn>;
  /** Keeps the others waiting. */
  holder?: Turn | undefined;
};

/**
 * When each eviction of a budget is sent: when the one before it has its answer, or has waited for one for `restsAfterMs`. All at once would
 * only trip over each other: the API server tries again after 500 ms when somebody else has written the budget's status meanwhile
 * (kubernetes#102361). Nothing is sent here that the budget has not been seen to allow beside all that are under way.
 */
export class BudgetTurns {
  readonly #clock: Clock;
  readonly #semaphore = new Semaphore(evictionsAtOnce);
  /** By budget. */
  readonly #lines = new Map<string, Line>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Sends it when it has its turn. */
  takeTurn(budget: string, send: Send): void {
    const line = this.#lines.get(budget) ?? { waiting: new Set(), underWay: new Set() };
    this.#lines.set(budget, line);
    line.waiting.add({ send, answered: [] });
    this.#next(budget, line);
  }

  /** Sends it when everything that waits or is under way now for these budgets has its answer; it keeps nothing waiting. */
  waitForAll(budgets: readonly string[], send: Send): void {
    const before = new Set(budgets.flatMap(budget => this.#turnsOf(budget)));
    const sendOnceNoneIsLeft = (): void => void (before.size === 0 && this.#semaphore.run(send));
    for (const turn of before) {
      turn.answered.push(() => {
        before.delete(turn);
        sendOnceNoneIsLeft();
      });
    }
    sendOnceNoneIsLeft();
  }

  #turnsOf(budget: string): readonly Turn[] {
    const line = this.#lines.get(budget);
    return line === undefined ? [] : [...line.underWay, ...line.waiting];
  }

  /** The first that waits has its turn, unless another one still keeps it waiting. */
  #next(budget: string, line: Line): void {
    const [turn] = line.waiting;
    if (line.holder !== undefined || turn === undefined) return;
    line.waiting.delete(turn);
    line.underWay.add(turn);
    line.holder = turn;
    const pass = (): void => {
      if (line.holder !== turn) return;
      line.holder = undefined;
      this.#next(budget, line);
    };
    void this.#semaphore.run(() => this.#send(turn, pass)).then(() => this.#answered(budget, line, turn, pass));
  }

  /** It rests from when it is sent: for a place it waits without keeping anything of the API server's busy. */
  async #send({ send }: Turn, pass: () => void): Promise<void> {
    const cancel = this.#clock.after(restsAfterMs, pass);
    await send();
    cancel();
  }

  #answered(budget: string, line: Line, turn: Turn, pass: () => void): void {
    line.underWay.delete(turn);
    for (const answered of turn.answered) answered();
    pass();
    if (line.underWay.size + line.waiting.size === 0) this.#lines.delete(budget);
  }
}
