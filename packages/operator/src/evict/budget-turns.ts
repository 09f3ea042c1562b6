import type { Clock } from '@drydock/utils';
import { Semaphore } from '@drydock/utils';

/**
 * Milliseconds without a response after which the next eviction is sent: the API server retries
 * after 500 ms, or a webhook is slow.
 */
const restsAfterMs = 250;

/**
 * Number of evictions that are handed over to the API at once, of all budgets: more than it has
 * places for. A call that waits there takes several kB, its time limit runs, and it cannot be
 * cancelled any more.
 */
const evictionsAtOnce = 32;

/**
 * Function that sends an eviction or a deletion, and resolves after its response. It never rejects.
 */
type Send = () => Promise<void>;

/**
 * An eviction, until its response. A waiting eviction consists of nothing else: there are thousands
 * when many nodes are drained at once.
 */
type Turn = { readonly send: Send; readonly answered: (() => void)[] };

/** Evictions of one budget, first come, first served. */
type Line = {
  readonly waiting: Set<Turn>;
  readonly underWay: Set<Turn>;
  /** Turn that the others wait for. */
  holder?: Turn | undefined;
};

/**
 * A queue for the evictions of each budget: one is sent when the previous one has its response, or
 * has waited for it for `restsAfterMs`. If all were sent at once they would only collide: the API
 * server retries after 500 ms when another eviction has written the budget's status meanwhile
 * (kubernetes#102361). Only evictions are sent here that the budget allows beside all in-flight
 * ones.
 */
export class BudgetTurns {
  readonly #clock: Clock;
  readonly #semaphore = new Semaphore(evictionsAtOnce);
  /** Lines by budget. */
  readonly #lines = new Map<string, Line>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Sends the eviction when it has its turn. */
  takeTurn(budget: string, send: Send): void {
    const line = this.#lines.get(budget) ?? { waiting: new Set(), underWay: new Set() };
    this.#lines.set(budget, line);
    line.waiting.add({ send, answered: [] });
    this.#next(budget, line);
  }

  /**
   * Sends it when all evictions of these budgets that wait or are in flight now have their
   * responses; it does not make others wait.
   */
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

  /** Sends the first waiting eviction, unless another one still holds the line. */
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
    void this.#semaphore
      .run(() => this.#send(turn, pass))
      .then(() => this.#answered(budget, line, turn, pass));
  }

  /**
   * Sends the eviction and starts its rest at that moment: while it waits for a place, it does not
   * load the API server.
   */
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
