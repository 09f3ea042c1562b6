import type { Clock } from '../../support/clock.ts';

/** How long a stream may say nothing, and how long it may last. */
export type IdleTimeoutOptions = { readonly clock: Clock; readonly quietMs: number; readonly longestMs: number };

/** Watches over a stream: aborts it when nothing has come for too long, or when it has lasted too long. */
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

  /** Something has come. */
  heard(): void {
    this.#heardMs = this.#nowMs();
  }

  [Symbol.dispose](): void {
    this.#cancel();
  }

  // One timer, set again when it goes off too early: cheaper than a new one for each of many thousand pieces.
  #arm(): void {
    const { clock, quietMs, longestMs } = this.#options;
    const left = Math.min(this.#heardMs + quietMs, this.#beganMs + longestMs) - this.#nowMs();
    if (left <= 0) return this.#controller.abort(new Error(`nothing came for ${(this.#nowMs() - this.#heardMs) / 1000} s`));
    this.#cancel = clock.after(left, () => this.#arm());
  }

  #nowMs(): number {
    return this.#options.clock.now().epochMilliseconds;
  }
}
