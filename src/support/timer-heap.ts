/** Something to be done at a time. */
export type ScheduledTask = { readonly at: number; readonly order: number; readonly task: () => void; off: boolean };

const isBefore = (one: ScheduledTask, other: ScheduledTask): boolean =>
  one.at < other.at || (one.at === other.at && one.order < other.order);

/** What is to be done, the earliest first, and of the same time the one that was entered first: a binary heap. */
export class TimerHeap {
  readonly #heap: ScheduledTask[] = [];
  #entered = 0;

  /** The answer takes it off the agenda. */
  enter(at: number, task: () => void): () => void {
    const entry: ScheduledTask = { at, order: this.#entered, task, off: false };
    this.#entered += 1;
    this.#heap.push(entry);
    this.#rise(this.#heap.length - 1);
    return () => {
      // It stays in the heap until its time has come: most are never taken off.
      entry.off = true;
    };
  }

  /** Takes the first entry that is due by then. */
  take(by: number): ScheduledTask | undefined {
    for (let first = this.#heap[0]; first !== undefined && first.at <= by; first = this.#heap[0]) {
      this.#drop();
      if (!first.off) return first;
    }
    return undefined;
  }

  #drop(): void {
    const last = this.#heap.pop();
    if (last === undefined || this.#heap.length === 0) return;
    this.#heap[0] = last;
    this.#sink(0);
  }

  #rise(from: number): void {
    for (let index = from; index > 0; ) {
      const above = (index - 1) >> 1;
      if (!this.#swapped(index, above)) return;
      index = above;
    }
  }

  #sink(from: number): void {
    for (let index = from; ; ) {
      const [left, right] = [2 * index + 1, 2 * index + 2];
      const [one, other] = [this.#heap[left], this.#heap[right]];
      if (one === undefined) return;
      const next = other !== undefined && isBefore(other, one) ? right : left;
      if (!this.#swapped(next, index)) return;
      index = next;
    }
  }

  /** Puts the lower one above when it comes first. */
  #swapped(lower: number, upper: number): boolean {
    const [one, other] = [this.#heap[lower], this.#heap[upper]];
    if (one === undefined || other === undefined || !isBefore(one, other)) return false;
    this.#heap[upper] = one;
    this.#heap[lower] = other;
    return true;
  }
}
