import type { Clock } from '@drydock/utils';

/**
 * Multiple of the working time that follows as a rest: work takes a quarter of the time at most.
 */
const restsPerWork = 3;

/** Longest rest in milliseconds. */
const maxRest = 1000;

/**
 * A throttle that leaves time for others: decisions about plans with many nodes take milliseconds
 * each, and any event may be a reason for all of them. Without rests they would occupy the only
 * thread while nodes are drained.
 */
export class CpuThrottle {
  readonly #clock: Clock;
  #spentMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Does the work, and records how long it took. */
  measured<T>(work: () => T): T {
    const began = this.#clock.now().epochMilliseconds;
    try {
      return work();
    } finally {
      this.#spentMs += Math.max(0, this.#clock.now().epochMilliseconds - began);
    }
  }

  /** Calls `begin` after the rest that is due; in this turn of the event loop if none is. */
  soon(begin: () => void): void {
    const rest = Math.min(restsPerWork * this.#spentMs, maxRest);
    this.#spentMs = 0;
    if (rest === 0) queueMicrotask(begin);
    else this.#clock.after(rest, begin);
  }
}
