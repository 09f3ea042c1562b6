/**
 * Estimates durations of which only an interval is known, because clocks have whole seconds:
 * interval-censored data. The distribution is estimated by expectation maximization (B. W.
 * Turnbull, The Empirical Distribution Function with Arbitrarily Grouped, Censored and Truncated
 * Data, 1976), on a grid of durations, and stopped early, so that few samples leave a wide
 * estimate.
 */

/**
 * An interval in seconds. The likelihood of a duration rises from zero at the low end within the
 * `edge`, and falls within it before the high end.
 */
export type Interval = { readonly low: number; readonly high: number; readonly edge: number };

/**
 * Lower ends of the grid's cells: 50 ms wide, and above 5 s a hundredth of the duration. Samples
 * are never more exact.
 */
const grid: readonly number[] = (() => {
  const [longest, finest, relative] = [7200, 0.05, 0.01];
  const lows: number[] = [];
  for (let low = 0; low < longest; low += Math.max(finest, relative * low)) lows.push(low);
  return lows;
})();

function lowOf(cell: number): number {
  return grid[cell] ?? 0;
}

function lengthOf(cell: number): number {
  return (grid[cell + 1] ?? lowOf(cell) + 1) - lowOf(cell);
}

/** Returns the first cell that begins at this duration or later. */
function cellFrom(time: number): number {
  const cell = grid.findIndex(low => low >= time);
  return cell < 0 ? grid.length : cell;
}

/** Likelihoods of the grid's cells for an interval, from the first non-zero one. */
type Row = { readonly first: number; readonly fits: Float64Array };

function rowOf({ low, high, edge }: Interval): Row {
  const first = Math.max(0, cellFrom(low) - 1);
  const fits = Float64Array.from({ length: Math.max(1, cellFrom(high) - first) }, (_, index) => {
    const time = lowOf(first + index) + lengthOf(first + index) / 2;
    return Math.max(0, Math.min(1, (time - low) / edge, (high - time) / edge));
  });
  // An interval between the middles of two cells.
  if (!fits.some(fit => fit > 0)) fits[0] = 1;
  return { first, fits };
}

/** Limit of samples; a larger group is represented by this many, evenly chosen. */
const limit = 1000;

function evenly<T>(all: readonly T[]): readonly T[] {
  const step = Math.max(1, all.length / limit);
  return Array.from(
    { length: Math.min(limit, all.length) },
    (_, index) => all[Math.floor(index * step)] as T,
  );
}

/** Returns the number of rounds: more would give a precision that few samples do not justify. */
function roundsOf(count: number): number {
  return Math.min(60, 3 * count);
}

/** Divides each sample among the cells of its interval in proportion to their present shares. */
function better(
  shares: Float64Array,
  base: number,
  rows: readonly Row[],
): Float64Array<ArrayBuffer> {
  const next = new Float64Array(shares.length);
  for (const { first, fits } of rows) {
    const [from, to] = [first - base, first - base + fits.length];
    let sum = 0;
    for (let at = from; at < to; at += 1) sum += (shares[at] ?? 0) * (fits[at - from] ?? 0);
    for (let at = from; at < to; at += 1)
      next[at] =
        (next[at] ?? 0) + ((shares[at] ?? 0) * (fits[at - from] ?? 0)) / (sum * rows.length);
  }
  return next;
}

/** Weight of the unknown, as a number of additional samples. */
const doubt = 3;

/** Distribution of a group of durations, as far as known. */
export class Distribution {
  readonly #count: number;
  readonly #first: number;
  readonly #shares: Float64Array;

  /**
   * Estimates the distribution from at least one non-empty interval. A wider group's distribution
   * is the starting point, so that it decides where the intervals leave the result open.
   */
  constructor(seen: readonly Interval[], wider?: Distribution) {
    const rows = evenly(seen).map(rowOf);
    this.#count = seen.length;
    this.#first = rows.reduce(
      (least, { first }) => Math.min(least, first),
      Number.MAX_SAFE_INTEGER,
    );
    const end = rows.reduce((last, { first, fits }) => Math.max(last, first + fits.length), 0);
    const whole = lowOf(end - 1) + lengthOf(end - 1) - lowOf(this.#first);
    const unknown = Float64Array.from(
      { length: end - this.#first },
      (_, index) => lengthOf(this.#first + index) / whole,
    );
    let shares = wider === undefined ? unknown : wider.#doubted(unknown, this.#first);
    for (let round = 0; round < roundsOf(rows.length); round += 1)
      shares = better(shares, this.#first, rows);
    this.#shares = shares;
  }

  /** Returns the duration in seconds that this share, 0 to 1, does not exceed. */
  at(part: number): number {
    let left = part;
    for (const [index, share] of this.#shares.entries()) {
      const cell = this.#first + index;
      if (left < share) return lowOf(cell) + (lengthOf(cell) * left) / share;
      left -= share;
    }
    return lowOf(this.#first + this.#shares.length);
  }

  /** Mixes the distribution with an unknown one: the more samples it has, the more it counts. */
  #doubted(unknown: Float64Array, first: number): Float64Array {
    const believed = this.#count / (this.#count + doubt);
    return unknown.map(
      (share, index) =>
        (1 - believed) * share + believed * (this.#shares[first + index - this.#first] ?? 0),
    );
  }
}
