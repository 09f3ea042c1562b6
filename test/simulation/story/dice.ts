import { seeded } from '@drydock/kube-sim';

/** Chance with words: everything that a seed comes to is drawn from one of these. */
export class Dice {
  readonly #next: () => number;

  constructor(seed: number) {
    this.#next = seeded(seed);
  }

  /** In [0, 1). */
  share(): number {
    return this.#next();
  }

  /** Of so many cases in a hundred. */
  is(percent: number): boolean {
    return this.#next() * 100 < percent;
  }

  /** Whole, both ends included. */
  whole(from: number, to: number): number {
    return from + Math.floor(this.#next() * (to - from + 1));
  }

  of<T>(all: readonly [T, ...T[]]): T {
    return all[Math.floor(this.#next() * all.length)] ?? all[0];
  }

  times<T>(count: number, make: (index: number) => T): readonly T[] {
    return Array.from({ length: count }, (_, index) => make(index));
  }
}
