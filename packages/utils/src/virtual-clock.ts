import type { Clock } from './clock.ts';
import { sleepBy } from './sleep.ts';
import { TimerHeap } from './timer-heap.ts';

/** A clock that stands still until it is advanced: for tests and simulations. */
export class VirtualClock implements Clock {
  readonly #timerHeap = new TimerHeap();
  #epochMs: number;
  #now: Temporal.Instant;

  constructor(start: Temporal.Instant = Temporal.Instant.from('2026-01-01T00:00:00Z')) {
    this.#epochMs = start.epochMilliseconds;
    this.#now = start;
  }

  /**
   * Returns the time in whole milliseconds. Keeps the same instant until the clock is advanced,
   * because callers read it more often than anything else.
   */
  now(): Temporal.Instant {
    const epochMs = Math.floor(this.#epochMs);
    if (this.#now.epochMilliseconds !== epochMs)
      this.#now = Temporal.Instant.fromEpochMilliseconds(epochMs);
    return this.#now;
  }

  after(milliseconds: number, task: () => void): () => void {
    return this.#timerHeap.enter(this.#epochMs + Math.max(milliseconds, 0), task);
  }

  sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
    return sleepBy({ after: (later, task) => this.after(later, task) }, milliseconds, signal);
  }

  /**
   * Advances the clock; every due timer runs at its own time, and the local work that it starts is
   * awaited.
   */
  async advance(milliseconds: number): Promise<void> {
    const end = this.#epochMs + milliseconds;
    await settle();
    for (let due = this.#timerHeap.take(end); due !== undefined; due = this.#timerHeap.take(end)) {
      this.#epochMs = Math.max(this.#epochMs, due.at);
      due.task();
      await settle();
    }
    this.#epochMs = end;
  }

  /** Moves the time without running timers: the machine slept, or its clock was set. */
  jump(milliseconds: number): void {
    this.#epochMs += milliseconds;
  }
}

/** Runs everything that waits only for its turn in the event loop. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 3; turn += 1) await new Promise(resolve => setImmediate(resolve));
}
