import type { Clock } from './clock.ts';

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
