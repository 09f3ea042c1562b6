import type { Clock } from '@drydock/utils';
import { sleepBy } from '@drydock/utils';

/** The clock of one process: its timers die with it, and somebody may set it. */
export class MortalClock implements Clock {
  readonly #clock: Clock;
  readonly #isAlive: () => boolean;
  #ahead = 0;

  constructor(clock: Clock, isAlive: () => boolean) {
    this.#clock = clock;
    this.#isAlive = isAlive;
  }

  now(): Temporal.Instant {
    return this.#ahead === 0
      ? this.#clock.now()
      : this.#clock.now().add({ milliseconds: this.#ahead });
  }

  /** Timers go on as they were: they are of the uptime, not of the time of day. */
  set(aheadMs: number): void {
    this.#ahead = aheadMs;
  }

  after(milliseconds: number, task: () => void): () => void {
    return this.#clock.after(milliseconds, () => {
      if (this.#isAlive()) task();
    });
  }

  sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
    return sleepBy({ after: (later, task) => this.after(later, task) }, milliseconds, signal);
  }
}
