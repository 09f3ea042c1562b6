import type { Clock } from './clock.ts';

type Timer = { readonly at: number; readonly task: () => void };

/** A clock that stands still until it is turned: for tests, and for anything that lives in made-up time. */
export class HandClock implements Clock {
  readonly #timers = new Set<Timer>();
  #epochMs: number;

  constructor(start: Temporal.Instant = Temporal.Instant.from('2026-01-01T00:00:00Z')) {
    this.#epochMs = start.epochMilliseconds;
  }

  now(): Temporal.Instant {
    return Temporal.Instant.fromEpochMilliseconds(this.#epochMs);
  }

  after(milliseconds: number, task: () => void): () => void {
    const timer = { at: this.#epochMs + Math.max(milliseconds, 0), task };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
    return new Promise(resolve => {
      if (signal?.aborted === true) return resolve();
      const done = (): void => {
        cancel();
        signal?.removeEventListener('abort', done);
        resolve();
      };
      const cancel = this.after(milliseconds, done);
      signal?.addEventListener('abort', done);
    });
  }

  /** Turns the clock; every timer that comes due runs at its own time, and what it sets off (on this machine) is waited for. */
  async advance(milliseconds: number): Promise<void> {
    const end = this.#epochMs + milliseconds;
    await settle();
    for (let timer = this.#dueBy(end); timer !== undefined; timer = this.#dueBy(end)) {
      this.#epochMs = Math.max(this.#epochMs, timer.at);
      this.#timers.delete(timer);
      timer.task();
      await settle();
    }
    this.#epochMs = end;
  }

  /** Moves the hands without running anything: the machine slept, or somebody set the time. */
  jump(milliseconds: number): void {
    this.#epochMs += milliseconds;
  }

  #dueBy(end: number): Timer | undefined {
    let first: Timer | undefined;
    for (const timer of this.#timers) if (timer.at <= end && (first === undefined || timer.at < first.at)) first = timer;
    return first;
  }
}

/** Lets everything run that waits for nothing but its turn. */
const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 3; turn += 1) await new Promise(resolve => setImmediate(resolve));
};
