import type { Clock } from '@drydock/utils';
import { randomLetters } from '@drydock/utils';

/**
 * Milliseconds between two looks at the clock, and the gap from which the process counts as having
 * been away.
 */
const everyMs = 5_000;
const maxMs = 20_000;

/**
 * A record of whether one process has watched without a break. A break is a time in which it did
 * not run, a change of its clock, or a time in which it was not the one that acts: nothing has
 * observed what happened then. Times of different processes are never compared.
 */
export class Attention {
  readonly #clock: Clock;
  readonly #letters: () => string;
  readonly #mayAct: () => boolean;
  #mark: string;
  #since: Temporal.Instant;
  #seenMs: number;
  #cancel: (() => void) | undefined;

  constructor(clock: Clock, mayAct: () => boolean, letters: () => string = randomLetters) {
    this.#clock = clock;
    this.#letters = letters;
    this.#mayAct = mayAct;
    this.#mark = letters();
    this.#since = clock.now();
    this.#seenMs = this.#since.epochMilliseconds;
  }

  /** True while the clock is watched. */
  get isOn(): boolean {
    return this.#cancel !== undefined;
  }

  /** Begins the watched time now. */
  begin(): void {
    this.#anew(this.#clock.now());
    this.#tick();
  }

  end(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }

  /**
   * Returns a mark for the time that has been watched without a break: a different one after each
   * break.
   */
  mark(): string {
    this.#look();
    return this.#mark;
  }

  /** Returns the start of that time, by the clock of this process. */
  since(): Temporal.Instant {
    this.#look();
    return this.#since;
  }

  #anew(now: Temporal.Instant): void {
    this.#mark = this.#letters();
    this.#since = now;
    this.#seenMs = now.epochMilliseconds;
  }

  #look(): void {
    const now = this.#clock.now();
    const gap = now.epochMilliseconds - this.#seenMs;
    if (gap < -everyMs || gap > maxMs) this.#anew(now);
    else this.#seenMs = now.epochMilliseconds;
  }

  #tick(): void {
    this.#cancel = this.#clock.after(everyMs, () => {
      if (this.#mayAct()) this.#look();
      this.#tick();
    });
  }
}
