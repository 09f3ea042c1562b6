import type { Clock } from '@drydock/utils';
import { sleepBy, TimerHeap } from '@drydock/utils';

/**
 * Made-up time, as the HandClock has it, for a world in which nothing ever waits for the machine:
 * one turn of the event loop is enough to let everything run that has its turn. It can be stopped
 * at once, in the middle of a moment.
 */
export class SimClock implements Clock {
  readonly #agenda = new TimerHeap();
  readonly startMs = Temporal.Instant.from('2026-01-01T00:00:00Z').epochMilliseconds;
  #nowMs = this.startMs;
  #stopped = false;
  /** Turns at this very millisecond: whoever makes time stand still is found out. */
  #turns = 0;

  now(): Temporal.Instant {
    return Temporal.Instant.fromEpochMilliseconds(this.#nowMs);
  }

  get nowMs(): number {
    return this.#nowMs;
  }

  /** Turns since time went on last. */
  get turns(): number {
    return this.#turns;
  }

  after(milliseconds: number, task: () => void): () => void {
    return this.#agenda.enter(this.#nowMs + Math.max(Math.ceil(milliseconds), 0), task);
  }

  sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
    return sleepBy({ after: (later, task) => this.after(later, task) }, milliseconds, signal);
  }

  /** No timer runs any more. */
  stop(): void {
    this.#stopped = true;
  }

  async advance(milliseconds: number): Promise<void> {
    const end = this.#nowMs + milliseconds;
    await turn();
    for (
      let due = this.#agenda.take(end);
      due !== undefined && !this.#stopped;
      due = this.#agenda.take(end)
    ) {
      if (due.at > this.#nowMs) {
        this.#nowMs = due.at;
        this.#turns = 0;
      }
      this.#turns += 1;
      due.task();
      await turn();
    }
    if (!this.#stopped) this.#nowMs = end;
  }
}

function turn(): Promise<void> {
  return new Promise(resolve => setImmediate(resolve));
}
