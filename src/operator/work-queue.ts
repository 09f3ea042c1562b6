import { secondsAfter } from '../core/time.ts';
import type { Clock } from '../support/clock.ts';
import type { ControllerName, Defects } from './defects.ts';

/** The first and the longest pause after work on a key has thrown, in seconds; each is twice the one before. */
const pause = { first: 1, longest: 300 };

type QueueOptions = {
  readonly clock: Clock;
  readonly defects: Defects;
  /** What the keys are names of. */
  readonly controller: ControllerName;
  readonly work: (key: string) => Promise<void>;
  /** The lower, the sooner. */
  readonly rank: (key: string) => number;
  /** Keys that are worked on at the same time. */
  readonly atOnce: number;
  /**
   * Has work begin in a later turn, so that events that arrive together are seen together: the next one on this machine when left out.
   */
  readonly soon?: ((begin: () => void) => void) | undefined;
  /** Work on this key has thrown: people are told where they look. May throw as well. */
  readonly broken?: (key: string, message: string) => Promise<void>;
};

/**
 * Runs work by key: one key once at a time, many keys at once, many additions of one key folded into one run. Work that throws is told and tried again, ever more
 * slowly; nothing leaves the queue.
 */
export class WorkQueue {
  readonly #waiting = new Set<string>();
  readonly #running = new Set<string>();
  readonly #timers = new Map<string, { readonly at: number; readonly cancel: () => void }>();
  /** How often in a row work on a key has thrown. */
  readonly #thrown = new Map<string, number>();
  readonly #options: QueueOptions;
  readonly #clock: Clock;
  readonly #soon: (begin: () => void) => void;
  #kicked = false;
  #closed = false;

  constructor(options: QueueOptions) {
    this.#options = options;
    this.#clock = options.clock;
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
    while (this.#running.size < this.#options.atOnce) {
      const key = this.#next();
      if (key === undefined) return;
      this.#waiting.delete(key);
      this.#running.add(key);
      void this.#run(key);
    }
  }

  /** Never rejects. */
  async #run(key: string): Promise<void> {
    try {
      await this.#options.work(key);
      this.#thrown.delete(key);
    } catch (error) {
      await this.#broken(key, error);
    }
    this.#running.delete(key);
    this.#kick();
  }

  async #broken(key: string, error: unknown): Promise<void> {
    const { defects, controller, broken } = this.#options;
    const message = defects.tell(controller, key, error);
    const times = this.#thrown.get(key) ?? 0;
    this.#thrown.set(key, times + 1);
    this.addAt(key, secondsAfter(this.#clock.now(), Math.min(pause.first * 2 ** times, pause.longest)));
    try {
      await broken?.(key, message);
    } catch (failure) {
      defects.tell(controller, key, failure);
    }
  }

  /** One that cannot be found comes last. */
  #rankOf(key: string): number {
    const { defects, controller, rank } = this.#options;
    try {
      return rank(key);
    } catch (error) {
      defects.tell(controller, key, error);
      return Number.MAX_VALUE;
    }
  }

  #next(): string | undefined {
    let best: string | undefined;
    let bestRank = Number.POSITIVE_INFINITY;
    for (const key of this.#waiting) {
      if (this.#running.has(key)) continue;
      const rank = this.#rankOf(key);
      if (best === undefined || rank < bestRank) {
        best = key;
        bestRank = rank;
      }
    }
    return best;
  }
}
