import type { Clock } from '../support/clock.ts';

/** IMF-fixdate (RFC 9110, 5.6.7), which is what servers write. */
const httpDate = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/** A Date header has whole seconds, rounded down. */
const roundingMs = 1000;

/** By how many milliseconds the server is ahead of the base clock: at least, and at most. */
type Bounds = { readonly least: number; readonly most: number };

/**
 * The API server's time, as its answers tell it (the header Date). Timestamps of objects are the server's; a process that compares them with its own clock
 * decides wrongly as soon as the two differ. As long as they agree to the second, and before the first answer, this is the base clock as it is. It goes back only when
 * the server's clock does, or when the first answer says that ours is ahead. Durations (`sleep`, `after`) are those of the base clock.
 */
export class ServerClock implements Clock {
  readonly #base: Clock;
  #bounds: Bounds = { least: Number.NEGATIVE_INFINITY, most: Number.POSITIVE_INFINITY };
  #differenceMs = 0;

  constructor(base: Clock) {
    this.#base = base;
  }

  now(): Temporal.Instant {
    const now = this.#base.now();
    return this.#differenceMs === 0 ? now : now.add({ milliseconds: this.#differenceMs });
  }

  sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
    return this.#base.sleep(milliseconds, signal);
  }

  after(milliseconds: number, task: () => void): () => void {
    return this.#base.after(milliseconds, task);
  }

  /**
   * Takes in the Date of one answer to a request that was sent at one moment of the base clock and answered at another. Each answer leaves a second or more of doubt; what several agree
   * on is kept. One that contradicts the others counts alone: a clock has been set, or another API server has answered.
   */
  observe(date: string | undefined, sentAt: Temporal.Instant, answeredAt: Temporal.Instant): void {
    const told = date !== undefined && httpDate.test(date) ? Date.parse(date) : Number.NaN;
    if (Number.isNaN(told)) return;
    const seen: Bounds = { least: told - answeredAt.epochMilliseconds, most: told + roundingMs - sentAt.epochMilliseconds };
    const both: Bounds = { least: Math.max(seen.least, this.#bounds.least), most: Math.min(seen.most, this.#bounds.most) };
    this.#bounds = both.least <= both.most ? both : seen;
    this.#differenceMs = Math.min(Math.max(this.#differenceMs, this.#bounds.least), this.#bounds.most);
  }
}
