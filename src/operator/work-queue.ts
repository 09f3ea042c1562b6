import { secondsAfter } from '../core/time.ts';
import type { Clock } from '../support/clock.ts';
import type { ControllerName, PanicHandler } from '../support/panic-handler.ts';
import { RankedQueue } from '../support/ranked-queue.ts';

/** The first and the longest pause after work on a key has thrown, in seconds; each is twice the one before. */
const pause = { first: 1, longest: 300 };

type QueueOptions = {
  readonly clock: Clock;
  readonly defects: PanicHandler;
  /** What the keys are names of. */
  readonly controller: ControllerName;
  readonly work: (key: string) => Promise<void>;
  /** The lower, the sooner. It may change while a key waits. */
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

/** A key that waits, with the rank that it had when it was last asked for. */
type Waiting = { readonly key: string; readonly rank: number };

/**
 * A rank may change without anybody adding the key again: few keys are all ranked anew at each pick, of many keys each time this share of them has been picked. On average a pick costs a few
 * calls of `rank`, however many keys wait.
 */
const few = 32;
const share = 1 / 2;

/**
 * Runs work by key: one key once at a time, many keys at once, many additions of one key folded into one run. Work that throws is told and tried again, ever more
 * slowly; nothing leaves the queue.
 */
export class WorkQueue {
  /** Each with its entry among the ranked, where it has one: a key that is being worked on gets it when that ends. */
  readonly #waiting = new Map<string, Waiting>();
  /** The keys that may be picked. Entries that a newer one has replaced are left out when their turn comes. */
  readonly #ranked = new RankedQueue<Waiting>();
  #picked = 0;
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
    const before = this.#waiting.get(key);
    if (this.#running.has(key)) this.#waiting.set(key, { key, rank: 0 });
    else if (before === undefined || before.rank !== this.#rankOf(key)) this.#enter(key);
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

  /** Never rejects. */
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

  /** It may be picked from now on; by the rank that it has now. */
  #enter(key: string): void {
    const rank = this.#rankOf(key);
    const entry = { key, rank };
    this.#waiting.set(key, entry);
    this.#ranked.push(rank, entry);
  }

  #rankAnew(): void {
    this.#picked = 0;
    this.#ranked.clear();
    // The entry that takes the place of one that is there keeps its place in the map: nothing is met twice.
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
