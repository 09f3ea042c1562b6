import type { Clock } from '../../support/clock.ts';
import { randomLetters } from '../../support/random.ts';

/** It looks at the time so often, and has been away where it did not for so long; in milliseconds. */
const everyMs = 5_000;
const maxMs = 20_000;

/**
 * Whether one process has watched all along. It has not when it did not run for a while, when its clock was set, or when it was not the one that acts: what happened then, nobody has
 * seen. No time of one process is compared with that of another.
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

  /** Whether the time is watched. */
  get isOn(): boolean {
    return this.#cancel !== undefined;
  }

  /** The time that is watched begins now. */
  begin(): void {
    this.#anew(this.#clock.now());
    this.#tick();
  }

  end(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }

  /** Stands for the time that has been watched without a break: another one after each break. */
  mark(): string {
    this.#look();
    return this.#mark;
  }

  /** Since when, by the clock of this process. */
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
