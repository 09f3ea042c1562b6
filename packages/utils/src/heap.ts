/** A binary heap: the entry that comes first by `isBefore` is taken first. */
export class Heap<T> {
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
