import { secondsAfter } from '@drydock/apimachinery';
import type { Clock, ControllerName, PanicHandler } from '@drydock/utils';
import { RankedQueue } from '@drydock/utils';

/**
 * First and longest pause after work on a key has thrown, in seconds; each is twice the previous
 * one.
 */
const pause = { first: 1, longest: 300 };

type QueueOptions = {
  readonly clock: Clock;
  readonly defects: PanicHandler;
  /** Controller that the keys belong to. */
  readonly controller: ControllerName;
  readonly work: (key: string) => Promise<void>;
  /** Rank of a key: the lower, the sooner. It may change while a key waits. */
  readonly rank: (key: string) => number;
  /** Number of keys that are worked on at the same time. */
  readonly atOnce: number;
  /**
   * Scheduler that begins work in a later turn, so that events that arrive together are handled
   * together; the next turn of this process if left out.
   */
  readonly soon?: ((begin: () => void) => void) | undefined;
  /**
   * Callback after work on this key has thrown, which reports it to users. It may throw as well.
   */
  readonly broken?: (key: string, message: string) => Promise<void>;
};

/** A waiting key, with its rank at the last request. */
type Waiting = { readonly key: string; readonly rank: number };

/**
 * Limits for ranking. A rank may change without another `add`: few keys are all ranked again at
 * each pick, many keys each time this share of them has been picked. On average a pick costs a few
 * calls of `rank`, for any number of waiting keys.
 */
const few = 32;
const share = 1 / 2;

/**
 * A work queue by key: one key once at a time, many keys at once, several additions of one key
 * folded into one run. Work that throws is reported and retried with growing pauses; no key is
 * dropped.
 */
export class WorkQueue {
  /**
   * Waiting keys with their entry among the ranked, if any: a key that is being worked on gets one
   * when that ends.
   */
  readonly #waiting = new Map<string, Waiting>();
  /**
   * Keys that may be picked. Entries that a newer one has replaced are skipped when their turn
   * comes.
   */
  readonly #ranked = new RankedQueue<Waiting>();
  #picked = 0;
  readonly #running = new Set<string>();
  readonly #timers = new Map<string, { readonly at: number; readonly cancel: () => void }>();
  /** Number of throws in a row by key. */
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

  /** Queues the key for its next turn. */
  add(key: string): void {
    if (this.#closed) return;
    const before = this.#waiting.get(key);
    if (this.#running.has(key)) this.#waiting.set(key, { key, rank: 0 });
    else if (before === undefined || before.rank !== this.#rankOf(key)) this.#enter(key);
    this.#kick();
  }

  /** Queues the key at this time at the latest. An earlier appointment stays. */
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

  /** Cancels earlier appointments; new ones may be made. */
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

  /** Stops the queue: no new work begins. Resolves when all running work has ended. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#waiting.clear();
    this.#ranked.clear();
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

  /** Works on one key. Never rejects. */
  async #run(key: string): Promise<void> {
    try {
      await this.#options.work(key);
      this.#thrown.delete(key);
    } catch (error) {
      await this.#broken(key, error);
    }
    this.#running.delete(key);
    if (this.#waiting.has(key)) this.#enter(key);
    this.#kick();
  }

  async #broken(key: string, error: unknown): Promise<void> {
    const { defects, controller, broken } = this.#options;
    const message = defects.report(controller, key, error);
    const times = this.#thrown.get(key) ?? 0;
    this.#thrown.set(key, times + 1);
    this.addAt(
      key,
      secondsAfter(this.#clock.now(), Math.min(pause.first * 2 ** times, pause.longest)),
    );
    try {
      await broken?.(key, message);
    } catch (failure) {
      defects.report(controller, key, failure);
    }
  }

  /** Returns the rank of the key; a key whose rank throws comes last. */
  #rankOf(key: string): number {
    const { defects, controller, rank } = this.#options;
    try {
      return rank(key);
    } catch (error) {
      defects.report(controller, key, error);
      return Number.MAX_VALUE;
    }
  }

  /** Makes the key eligible, with its current rank. */
  #enter(key: string): void {
    const rank = this.#rankOf(key);
    const entry = { key, rank };
    this.#waiting.set(key, entry);
    this.#ranked.push(rank, entry);
  }

  #rankAnew(): void {
    this.#picked = 0;
    this.#ranked.clear();
    // An entry that replaces an existing one keeps its place in the map: none is visited twice.
    for (const { key } of this.#waiting.values()) if (!this.#running.has(key)) this.#enter(key);
  }

  #next(): string | undefined {
    if (this.#ranked.size <= few || this.#picked >= share * this.#ranked.size) this.#rankAnew();
    this.#picked += 1;
    for (let entry = this.#ranked.pop(); entry !== undefined; entry = this.#ranked.pop())
      if (this.#waiting.get(entry.key) === entry) return entry.key;
    return undefined;
  }
}
