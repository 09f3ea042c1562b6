/**
 * Times of which only an interval is known, for clocks tell whole seconds: interval-censored data. Where they really lie is estimated by
 * expectation maximization (B. W. Turnbull, The Empirical Distribution Function with Arbitrarily Grouped, Censored and Truncated Data, 1976), on a
 * grid of times, and stopped early, so that few times leave a wide estimate.
 */

/** In seconds. How well a time fits rises from nothing at the low end within the `edge`, and falls within it before the high end. */
export type Interval = { readonly low: number; readonly high: number; readonly edge: number };

/** Cells of 50 ms, and above 5 s of a hundredth of the time; their lower ends. What is told is never more exact. */
const grid: readonly number[] = (() => {
  const [longest, finest, relative] = [7200, 0.05, 0.01];
  const lows: number[] = [];
  for (let low = 0; low < longest; low += Math.max(finest, relative * low)) lows.push(low);
  return lows;
})();

const lowOf = (cell: number): number => grid[cell] ?? 0;

const lengthOf = (cell: number): number => (grid[cell + 1] ?? lowOf(cell) + 1) - lowOf(cell);

/** The first cell that begins at this time or later. */
const cellFrom = (time: number): number => {
  const cell = grid.findIndex(low => low >= time);
  return cell < 0 ? grid.length : cell;
};

/** How well each cell of the grid fits an interval, from the first one that does. */
type Row = { readonly first: number; readonly fits: Float64Array };

const rowOf = ({ low, high, edge }: Interval): Row => {
  const first = Math.max(0, cellFrom(low) - 1);
  const fits = Float64Array.from({ length: Math.max(1, cellFrom(high) - first) }, (_, index) => {
    const time = lowOf(first + index) + lengthOf(first + index) / 2;
    return Math.max(0, Math.min(1, (time - low) / edge, (high - time) / edge));
  });
  // An interval between the middles of two cells.
  if (!fits.some(fit => fit > 0)) fits[0] = 1;
  return { first, fits };
};

/** Larger groups are told as well by so many of them, evenly taken. */
const limit = 1000;

const evenly = <T>(all: readonly T[]): readonly T[] => {
  const step = Math.max(1, all.length / limit);
  return Array.from({ length: Math.min(limit, all.length) }, (_, index) => all[Math.floor(index * step)] as T);
};

/** More rounds make it more exact, and surer than so few times allow. */
const roundsOf = (count: number): number => Math.min(60, 3 * count);

/** Each time is divided among the cells that fit it by what lies in them already. */
const better = (shares: Float64Array, base: number, rows: readonly Row[]): Float64Array<ArrayBuffer> => {
  const next = new Float64Array(shares.length);
  for (const { first, fits } of rows) {
    const [from, to] = [first - base, first - base + fits.length];
    let sum = 0;
    for (let at = from; at < to; at += 1) sum += (shares[at] ?? 0) * (fits[at - from] ?? 0);
    for (let at = from; at < to; at += 1) next[at] = (next[at] ?? 0) + ((shares[at] ?? 0) * (fits[at - from] ?? 0)) / (sum * rows.length);
  }
  return next;
};

/** As if this many more times had been seen, of which nothing is told. */
const doubt = 3;

/** Where a number of times lie, as far as it is known. */
export class Distribution {
  readonly #count: number;
  readonly #first: number;
  readonly #shares: Float64Array;

  /**
   * Of one interval or more, none of them empty. What a wider group tells is where it begins, so that of what the intervals leave open it is the wider
   * group that speaks.
   */
  constructor(seen: readonly Interval[], wider?: Distribution) {
    const rows = evenly(seen).map(rowOf);
    this.#count = seen.length;
    this.#first = rows.reduce((least, { first }) => Math.min(least, first), Number.MAX_SAFE_INTEGER);
    const end = rows.reduce((last, { first, fits }) => Math.max(last, first + fits.length), 0);
    const whole = lowOf(end - 1) + lengthOf(end - 1) - lowOf(this.#first);
    const unknown = Float64Array.from({ length: end - this.#first }, (_, index) => lengthOf(this.#first + index) / whole);
    let shares = wider === undefined ? unknown : wider.#doubted(unknown, this.#first);
    for (let round = 0; round < roundsOf(rows.length); round += 1) shares = better(shares, this.#first, rows);
    this.#shares = shares;
  }

  /** The time that this part of them, 0 to 1, do not exceed; in seconds. */
  at(part: number): number {
    let left = part;
    for (const [index, share] of this.#shares.entries()) {
      const cell = this.#first + index;
      if (left < share) return lowOf(cell) + (lengthOf(cell) * left) / share;
      left -= share;
    }
    return lowOf(this.#first + this.#shares.length);
  }

  /** The more times it was learned from, the more it counts beside shares of which nothing is known. */
  #doubted(unknown: Float64Array, first: number): Float64Array {
    const believed = this.#count / (this.#count + doubt);
    return unknown.map((share, index) => (1 - believed) * share + believed * (this.#shares[first + index - this.#first] ?? 0));
  }
}
