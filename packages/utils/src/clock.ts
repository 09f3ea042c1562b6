import { sleepBy } from './sleep.ts';

/** A clock that is passed in: real in production, virtual in tests and rehearsals. */
export interface Clock {
  /** Returns the current time. */
  now(): Temporal.Instant;
  /**
   * Resolves after `milliseconds`, or at once when the signal is aborted. Never rejects: the caller
   * checks the signal.
   */
  sleep(milliseconds: number, signal?: AbortSignal): Promise<void>;
  /** Runs `task` once, after `milliseconds`. Returns a function that cancels it. */
  after(milliseconds: number, task: () => void): () => void;
}

/** Limit of setTimeout in milliseconds: a longer delay would fire at once. */
const maxDelay = 2 ** 31 - 1;

/** The machine's clock. */
export const systemClock: Clock = {
  now: () => Temporal.Now.instant(),
  sleep: (milliseconds, signal) => sleepBy(systemClock, milliseconds, signal),
  after: (milliseconds, task) => {
    const timer = setTimeout(task, Math.min(Math.max(milliseconds, 0), maxDelay));
    return () => clearTimeout(timer);
  },
};
