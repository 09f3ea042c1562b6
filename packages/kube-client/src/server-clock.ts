import type { Clock } from '@drydock/utils';

/** IMF-fixdate (RFC 9110, 5.6.7), the format that servers write. */
const httpDate = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/** Rounding error of a Date header, which has whole seconds, rounded down. */
const roundingMs = 1000;

/** Bounds of the milliseconds by which the server is ahead of the base clock. */
type Bounds = { readonly least: number; readonly most: number };

/**
 * The API server's time, from the Date header of its responses. Timestamps of objects come from the
 * server; a process that compares them with its own clock decides wrongly once the two differ.
 * Returns the base clock's time before the first response, and as long as both agree to the second.
 * The time goes back only when the server's clock does, or when the first response shows that the
 * local clock is ahead. Durations (`sleep`, `after`) are those of the base clock.
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
   * Records the Date of one response, with the moments of the base clock at which the request was
   * sent and the response arrived. Each response leaves an uncertainty of a second or more, so the
   * bounds of several are intersected. A response that contradicts the bounds replaces them: a
   * clock was set, or another API server responded.
   */
  observe(date: string | undefined, sentAt: Temporal.Instant, answeredAt: Temporal.Instant): void {
    const told = date !== undefined && httpDate.test(date) ? Date.parse(date) : Number.NaN;
    if (Number.isNaN(told)) return;
    const seen: Bounds = {
      least: told - answeredAt.epochMilliseconds,
      most: told + roundingMs - sentAt.epochMilliseconds,
    };
    const both: Bounds = {
      least: Math.max(seen.least, this.#bounds.least),
      most: Math.min(seen.most, this.#bounds.most),
    };
    this.#bounds = both.least <= both.most ? both : seen;
    this.#differenceMs = Math.min(
      Math.max(this.#differenceMs, this.#bounds.least),
      this.#bounds.most,
    );
  }
}
