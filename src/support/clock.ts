import { sleepBy } from './sleep.ts';

/** Time as a thing that is passed in: real in production, turned by hand in tests and rehearsals. */
export interface Clock {
  /** The present moment. */
  now(): Temporal.Instant;
  /** Resolves after `milliseconds`, or at once when the signal is aborted. It never rejects: the caller looks at the signal. */
  sleep(milliseconds: number, signal?: AbortSignal): Promise<void>;
  /** Runs `task` once, after `milliseconds`. The answer cancels it. */
  after(milliseconds: number, task: () => void): () => void;
}

/** setTimeout's own limit: a longer delay would fire at once. */
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
