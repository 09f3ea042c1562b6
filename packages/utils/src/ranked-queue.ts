import { Heap } from './heap.ts';

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
