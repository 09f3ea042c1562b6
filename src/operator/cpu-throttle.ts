import type { Clock } from '../support/clock.ts';

/** Work rests for so many times as long as it took: it has a quarter of the time at most. */
const restsPerWork = 3;

/** Milliseconds. */
const maxRest = 1000;

/**
 * Leaves time for others: decisions about plans with many nodes take milliseconds each, and whatever happens may be a reason for all of them. Without rests they would
 * have the only thread to themselves while nodes are drained.
 */
export class CpuThrottle {
  readonly #clock: Clock;
  #spentMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Does the work, and remembers how long it took. */
  measured<T>(work: () => T): T {
    const began = this.#clock.now().epochMilliseconds;
    try {
      return work();
    } finally {
      this.#spentMs += Math.max(0, this.#clock.now().epochMilliseconds - began);
    }
  }

  /** Has the next work begin after the rest that is due; in this turn of the event loop when none is. */
  soon(begin: () => void): void {
    const rest = Math.min(restsPerWork * this.#spentMs, maxRest);
    this.#spentMs = 0;
    if (rest === 0) queueMicrotask(begin);
    else this.#clock.after(rest, begin);
  }
}
