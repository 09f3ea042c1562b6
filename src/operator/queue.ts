import type { Clock } from '../support/clock.ts';

/** Runs work by key: one key once at a time, many keys at once, many wishes for one key folded into one run. */
export class Queue {
  readonly #waiting = new Set<string>();
  readonly #running = new Set<string>();
  readonly #timers = new Map<string, { readonly at: number; readonly cancel: () => void }>();
  readonly #clock: Clock;
  readonly #work: (key: string) => Promise<void>;
  readonly #rank: (key: string) => number;
  readonly #atOnce: number;
  readonly #soon: (begin: () => void) => void;
  #kicked = false;
  #closed = false;

  /**
   * `rank`: the lower, the sooner. `work` must not reject. `soon` has work begin in a later turn, so that events that arrive together are seen
   * together: the next one on this machine when left out.
   */
  constructor(options: {
    readonly clock: Clock;
    readonly work: (key: string) => Promise<void>;
    readonly rank: (key: string) => number;
    readonly atOnce: number;
    readonly soon?: ((begin: () => void) => void) | undefined;
  }) {
    this.#clock = options.clock;
    this.#work = options.work;
    this.#rank = options.rank;
    this.#atOnce = options.atOnce;
    this.#soon = options.soon ?? queueMicrotask;
  }

  /** Work on this key as soon as its turn comes. */
  add(key: string): void {
    if (this.#closed) return;
    this.#waiting.add(key);
    this.#kick();
  }

  /** Work on this key at this time at the latest. An earlier appointment stays. */
  addAt(key: string, at: Temporal.Instant): void {
    if (this.#closed) return;
    const timer = this.#timers.get(key);
    const due = at.epochMilliseconds;
    if (timer !== undefined && timer.at <= due) return;
    timer?.cancel();
    const delay = due - this.#clock.now().epochMilliseconds;
    const cancel = this.#clock.after(Math.max(delay, 1), () => {
      this.#timers.delete(key);
      this.add(key);
    });
    this.#timers.set(key, { at: due, cancel });
  }

  /** Appointments made before are off; new ones may be made. */
  clearAppointment(key: string): void {
    this.#timers.get(key)?.cancel();
    this.#timers.delete(key);
  }

  isWaiting(key: string): boolean {
    return this.#waiting.has(key);
  }

  get depth(): number {
    return this.#waiting.size;
  }

  /** Nothing new is begun. Resolves when nothing runs any more. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#waiting.clear();
    for (const { cancel } of this.#timers.values()) cancel();
    this.#timers.clear();
    while (this.#running.size > 0) await this.#clock.sleep(5);
  }

  #kick(): void {
    if (this.#kicked) return;
    this.#kicked = true;
    this.#soon(() => {
      this.#kicked = false;
      this.#start();
    });
  }

  #start(): void {
    while (this.#running.size < this.#atOnce) {
      const key = this.#next();
      if (key === undefined) return;
      this.#waiting.delete(key);
      this.#running.add(key);
      void this.#work(key).finally(() => {
        this.#running.delete(key);
        this.#kick();
      });
    }
  }

  #next(): string | undefined {
    let best: string | undefined;
    let bestRank = Number.POSITIVE_INFINITY;
    for (const key of this.#waiting) {
      if (this.#running.has(key)) continue;
      const rank = this.#rank(key);
      if (best === undefined || rank < bestRank) {
        best = key;
        bestRank = rank;
      }
    }
    return best;
  }
}
