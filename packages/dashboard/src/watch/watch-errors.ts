import type { Clock } from '@drydock/utils';

/** Milliseconds by which a failing attempt has reported its error: one call takes 30 s at most. */
const patienceMs = 35_000;

/**
 * Collections that cannot be read, with messages. A recovery is not reported: a collection without
 * new errors counts as readable.
 */
export class WatchErrors {
  readonly #all = new Map<string, { readonly message: string; readonly forget: () => void }>();
  readonly #clock: Clock;
  readonly #changed: () => void;

  constructor(clock: Clock, changed: () => void) {
    this.#clock = clock;
    this.#changed = changed;
  }

  failing(what: string, message: string, retryInMs: number): void {
    this.#all.get(what)?.forget();
    this.#all.set(what, {
      message,
      forget: this.#clock.after(retryInMs + patienceMs, () => this.mended(what)),
    });
    this.#changed();
  }

  mended(what: string): void {
    const trouble = this.#all.get(what);
    if (trouble === undefined) return;
    trouble.forget();
    this.#all.delete(what);
    this.#changed();
  }

  list(): readonly { readonly what: string; readonly message: string }[] {
    return [...this.#all]
      .map(([what, { message }]) => ({ what, message }))
      .sort((one, other) => (one.what < other.what ? -1 : 1));
  }

  stop(): void {
    for (const { forget } of this.#all.values()) forget();
  }
}
