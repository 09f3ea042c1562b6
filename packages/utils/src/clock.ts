import { TimerHeap } from './heap.ts';

/** The part of a clock that a pause needs: a function that runs another later. */
type Delayed = { readonly after: (milliseconds: number, run: () => void) => () => void };

/**
 * Implements `sleep` for a clock that has `after`: ends with the signal, and leaves no timer
 * behind.
 */
export function sleepBy(
  { after }: Delayed,
  milliseconds: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  return new Promise(resolve => {
    if (signal?.aborted === true) return resolve();
    const done = (): void => {
      cancel();
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const cancel = after(milliseconds, done);
    signal?.addEventListener('abort', done);
  });
}

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

/**
 * Combines a time limit and any number of signals into one AbortSignal. Dispose of it (`using`)
 * when the work is done.
 */
export class Deadline implements Disposable {
  readonly #controller = new AbortController();
  readonly #cleanups: (() => void)[] = [];
  #cancelTimer: () => void = () => {};
  #expired = false;

  /** Aborts after `milliseconds`, or when one of `others` aborts, with that one's reason. */
  constructor(clock: Clock, milliseconds: number, others: readonly (AbortSignal | undefined)[]) {
    for (const other of others) if (other !== undefined) this.#follow(other);
    if (this.signal.aborted) return;
    const expire = (): void => {
      this.#expired = true;
      this.#controller.abort(
        new DOMException(`not done within ${milliseconds / 1000} s`, 'TimeoutError'),
      );
    };
    this.#cancelTimer = clock.after(milliseconds, expire);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Whether the time limit caused the abort. */
  get expired(): boolean {
    return this.#expired;
  }

  /** Cancels the time limit; the other signals still count. */
  lift(): void {
    this.#cancelTimer();
  }

  /** Releases the timer and the other signals; the signal keeps its state. */
  [Symbol.dispose](): void {
    this.lift();
    for (const cleanup of this.#cleanups.splice(0)) cleanup();
  }

  #follow(other: AbortSignal): void {
    const abort = (): void => this.#controller.abort(other.reason);
    if (other.aborted) return abort();
    other.addEventListener('abort', abort);
    this.#cleanups.push(() => other.removeEventListener('abort', abort));
  }
}

/**
 * Returns the promise's outcome, or rejects with the signal's reason if that is aborted first. The
 * work behind the promise continues.
 */
export function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort);
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
