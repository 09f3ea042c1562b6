import type { Clock } from '@drydock/utils';

/** Limits of a stream: time of silence, and total time. */
export type IdleTimeoutOptions = {
  readonly clock: Clock;
  readonly quietMs: number;
  readonly longestMs: number;
};

/** Aborts a stream when no data arrives for too long, or when it lasts too long. */
export class IdleTimeout implements Disposable {
  readonly #options: IdleTimeoutOptions;
  readonly #controller = new AbortController();
  readonly #beganMs: number;
  #heardMs: number;
  #cancel: () => void = () => {};

  constructor(options: IdleTimeoutOptions) {
    this.#options = options;
    this.#beganMs = this.#nowMs();
    this.#heardMs = this.#beganMs;
    this.#arm();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Records that data arrived. */
  heard(): void {
    this.#heardMs = this.#nowMs();
  }

  [Symbol.dispose](): void {
    this.#cancel();
  }

  // A single timer, restarted when it fires too early: cheaper than a new timer for each of
  // thousands of chunks.
  #arm(): void {
    const { clock, quietMs, longestMs } = this.#options;
    const left = Math.min(this.#heardMs + quietMs, this.#beganMs + longestMs) - this.#nowMs();
    if (left <= 0)
      return this.#controller.abort(
        new Error(`nothing came for ${(this.#nowMs() - this.#heardMs) / 1000} s`),
      );
    this.#cancel = clock.after(left, () => this.#arm());
  }

  #nowMs(): number {
    return this.#options.clock.now().epochMilliseconds;
  }
}
