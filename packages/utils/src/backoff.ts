import { randomBytes } from 'node:crypto';

/** Options of a backoff. */
export type BackoffOptions = {
  /** Upper bound of the first wait, in milliseconds; the lower bound is half of it. */
  readonly firstMs: number;
  /** Longest wait, in milliseconds. */
  readonly longestMs: number;
  /** Random source, uniform in [0, 1). */
  readonly random: () => number;
};

/**
 * Waits that double from attempt to attempt, with "equal jitter" (half fixed, half random) so that
 * many clients do not return at the same time.
 */
export class Backoff {
  readonly #options: BackoffOptions;
  #step: number;

  constructor(options: BackoffOptions) {
    this.#options = options;
    this.#step = options.firstMs;
  }

  /** Returns the next wait in milliseconds, never above `capMs`. */
  next(capMs = this.#options.longestMs): number {
    const full = Math.min(this.#step, capMs);
    this.#step = Math.min(this.#step * 2, this.#options.longestMs);
    return full / 2 + (full / 2) * this.#options.random();
  }

  /** Resets after a success: the next wait is a first one. */
  reset(): void {
    this.#step = this.#options.firstMs;
  }
}

/**
 * Returns sixteen random hexadecimal letters (64 unguessable bits), fit for a part of an object's
 * name.
 */
export function randomLetters(): string {
  return randomBytes(8).toString('hex');
}
