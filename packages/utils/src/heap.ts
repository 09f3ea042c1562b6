/** A binary heap: the entry that comes first by `isBefore` is taken first. */
class Heap<T> {
  readonly #entries: T[] = [];
  readonly #isBefore: (one: T, other: T) => boolean;

  constructor(isBefore: (one: T, other: T) => boolean) {
    this.#isBefore = isBefore;
  }

  get size(): number {
    return this.#entries.length;
  }

  /** Returns the first entry without removing it. */
  get first(): T | undefined {
    return this.#entries[0];
  }

  push(entry: T): void {
    this.#entries.push(entry);
    for (let index = this.#entries.length - 1; index > 0; ) {
      const above = (index - 1) >> 1;
      if (!this.#swapped(index, above)) return;
      index = above;
    }
  }

  /** Removes and returns the first entry. */
  pop(): T | undefined {
    const { first } = this;
    const last = this.#entries.pop();
    if (last === undefined || this.#entries.length === 0) return first;
    this.#entries[0] = last;
    this.#sink();
    return first;
  }

  clear(): void {
    this.#entries.length = 0;
  }

  #sink(): void {
    for (let index = 0; ; ) {
      const [left, right] = [2 * index + 1, 2 * index + 2];
      const [one, other] = [this.#entries[left], this.#entries[right]];
      if (one === undefined) return;
      const next = other !== undefined && this.#isBefore(other, one) ? right : left;
      if (!this.#swapped(next, index)) return;
      index = next;
    }
  }

  /** Swaps two entries when the lower one comes first; returns whether it did. */
  #swapped(lower: number, upper: number): boolean {
    const [one, other] = [this.#entries[lower], this.#entries[upper]];
    if (one === undefined || other === undefined || !this.#isBefore(one, other)) return false;
    this.#entries[upper] = one;
    this.#entries[lower] = other;
    return true;
  }
}

/** A task with its time. */
export type ScheduledTask = {
  readonly at: number;
  readonly order: number;
  readonly task: () => void;
  off: boolean;
};

function isBefore(one: ScheduledTask, other: ScheduledTask): boolean {
  return one.at < other.at || (one.at === other.at && one.order < other.order);
}

/** A queue of tasks, the earliest first, and in order of entry for the same time. */
export class TimerHeap {
  readonly #heap = new Heap<ScheduledTask>(isBefore);
  #entered = 0;

  /** Adds a task; returns a function that cancels it. */
  enter(at: number, task: () => void): () => void {
    const entry: ScheduledTask = { at, order: this.#entered, task, off: false };
    this.#entered += 1;
    this.#heap.push(entry);
    return () => {
      // The entry stays in the heap until its time has come: most are never cancelled.
      entry.off = true;
    };
  }

  /** Removes and returns the first entry that is due at this time. */
  take(by: number): ScheduledTask | undefined {
    for (
      let { first } = this.#heap;
      first !== undefined && first.at <= by;
      { first } = this.#heap
    ) {
      this.#heap.pop();
      if (!first.off) return first;
    }
    return undefined;
  }
}

/** Entries of one rank, in order of arrival. */
type Bucket<T> = { readonly entries: T[]; next: number };

/**
 * A queue by rank, the lowest first, and in order of arrival within a rank. Costs grow with the
 * number of ranks, not with that of the entries.
 */
export class RankedQueue<T> {
  readonly #buckets = new Map<number, Bucket<T>>();
  readonly #ranks = new Heap<number>((one, other) => one < other);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  push(rank: number, entry: T): void {
    const bucket = this.#buckets.get(rank) ?? this.#open(rank);
    bucket.entries.push(entry);
    this.#size += 1;
  }

  /** Removes and returns the first entry. */
  pop(): T | undefined {
    const { first: rank } = this.#ranks;
    const bucket = rank === undefined ? undefined : this.#buckets.get(rank);
    if (rank === undefined || bucket === undefined) return undefined;
    const entry = bucket.entries[bucket.next];
    bucket.next += 1;
    this.#size -= 1;
    if (bucket.next === bucket.entries.length) {
      this.#buckets.delete(rank);
      this.#ranks.pop();
    }
    return entry;
  }

  clear(): void {
    this.#buckets.clear();
    this.#ranks.clear();
    this.#size = 0;
  }

  #open(rank: number): Bucket<T> {
    const bucket: Bucket<T> = { entries: [], next: 0 };
    this.#buckets.set(rank, bucket);
    this.#ranks.push(rank);
    return bucket;
  }
}

type Waiting = { readonly work: () => Promise<void>; readonly done: () => void };

/**
 * Limits concurrent work; later work waits in order of arrival. A waiting entry holds nothing but a
 * function.
 */
export class Semaphore {
  readonly #places: number;
  readonly #waiting: Set<Waiting> = new Set();
  #busy = 0;

  constructor(places: number) {
    this.#places = places;
  }

  /**
   * Starts the work as soon as there is a place, and resolves when it is done. The work must never
   * reject.
   */
  run(work: () => Promise<void>): Promise<void> {
    return new Promise(done => {
      this.#waiting.add({ work, done });
      this.#pump();
    });
  }

  #pump(): void {
    for (const waiting of this.#waiting) {
      if (this.#busy >= this.#places) return;
      this.#waiting.delete(waiting);
      this.#busy += 1;
      void waiting.work().then(() => {
        this.#busy -= 1;
        waiting.done();
        this.#pump();
      });
    }
  }
}
