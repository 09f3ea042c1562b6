/** How long to wait before the next try. */
export type BackoffOptions = {
  /** The first wait lies between half of this and this, in milliseconds. */
  readonly firstMs: number;
  /** No wait is longer, in milliseconds. */
  readonly longestMs: number;
  /** Uniform in [0, 1). */
  readonly random: () => number;
};

/** Waits that double from try to try, with "equal jitter" (half fixed, half random) so that many clients do not come back as one. */
export class Backoff {
  readonly #options: BackoffOptions;
  #step: number;

  constructor(options: BackoffOptions) {
    this.#options = options;
    this.#step = options.firstMs;
  }

  /** The next wait in milliseconds, never above `capMs`. */
  next(capMs = this.#options.longestMs): number {
    const full = Math.min(this.#step, capMs);
    this.#step = Math.min(this.#step * 2, this.#options.longestMs);
    return full / 2 + (full / 2) * this.#options.random();
  }

  /** All is well again: the next wait is a first one. */
  reset(): void {
    this.#step = this.#options.firstMs;
  }
}
