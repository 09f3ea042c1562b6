type Range = readonly [first: number, last: number];

/** Sorts ranges, and merges those that touch or overlap. */
function merged(ranges: readonly Range[]): readonly Range[] {
  const found: [number, number][] = [];
  for (const [first, last] of ranges.toSorted(([one], [other]) => one - other)) {
    const before = found.at(-1);
    if (before !== undefined && first <= before[1] + 1) before[1] = Math.max(before[1], last);
    else found.push([first, last]);
  }
  return found;
}

function isRange([first, last]: Range): boolean {
  return Number.isInteger(first) && Number.isInteger(last) && first >= 0 && last >= first;
}

/** Indexes in a Job's status, `0-2,4`: as ranges, because there may be two thousand million. */
export class IndexRanges {
  readonly #ranges: readonly Range[];

  private constructor(ranges: readonly Range[]) {
    this.#ranges = merged(ranges);
  }

  /** Parses a text; ignores parts that are not ranges. */
  static read(text: string): IndexRanges {
    const ranges = text.split(',').map((range): Range => {
      const [first = Number.NaN, last = first] = range
        .split('-')
        .map(one => (/^\d+$/.test(one) ? Number(one) : Number.NaN));
      return [first, last];
    });
    return new IndexRanges(ranges.filter(isRange));
  }

  with(indexes: readonly number[]): IndexRanges {
    return new IndexRanges([...this.#ranges, ...indexes.map((index): Range => [index, index])]);
  }

  get size(): number {
    return this.#ranges.reduce((sum, [first, last]) => sum + last - first + 1, 0);
  }

  /** Returns the first index from this one on that is not included. */
  nextFree(from: number): number {
    const inside = this.#ranges.find(([first, last]) => from >= first && from <= last);
    return inside === undefined ? from : inside[1] + 1;
  }

  /** Formats the ranges as in the status; two in a row are listed, not a range. */
  toString(): string {
    return this.#ranges
      .map(([first, last]) =>
        first === last ? `${first}` : last === first + 1 ? `${first},${last}` : `${first}-${last}`,
      )
      .join(',');
  }
}
