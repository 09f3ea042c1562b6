/** Semantic versions, 2.0.0. Upstream: apiserver/pkg/cel/library/semverlib.go and blang/semver. */

const form =
  /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-((?:0|[1-9]\d*|\d*[A-Za-z-][\dA-Za-z-]*)(?:\.(?:0|[1-9]\d*|\d*[A-Za-z-][\dA-Za-z-]*))*))?(?:\+[\dA-Za-z-]+(?:\.[\dA-Za-z-]+)*)?$/;

function order(one: bigint | string, other: bigint | string): number {
  return one < other ? -1 : Number(one > other);
}

function isNumber(part: string): boolean {
  return /^\d+$/.test(part);
}

/** Compares identifiers: numbers come before words; the shorter list comes first. */
function partOrder(one: string | undefined, other: string | undefined): number {
  if (one === undefined || other === undefined)
    return one === other ? 0 : one === undefined ? -1 : 1;
  if (isNumber(one) !== isNumber(other)) return isNumber(one) ? -1 : 1;
  return isNumber(one) ? order(BigInt(one), BigInt(other)) : order(one, other);
}

export class Version {
  readonly numbers: readonly [major: bigint, minor: bigint, patch: bigint];
  readonly #pre: readonly string[];

  private constructor(numbers: readonly [bigint, bigint, bigint], pre: readonly string[]) {
    this.numbers = numbers;
    this.#pre = pre;
  }

  /** Parses a version; normalizing accepts `v1.2` for 1.2.0. */
  static parse(text: string, normalize: boolean): Version | undefined {
    // A longer text is not a version; the limit bounds the computation with its numbers.
    if (text.length > 256) return undefined;
    const found = form.exec(normalize ? normalized(text) : text);
    if (found === null) return undefined;
    const [, major = '', minor = '', patch = '', pre] = found;
    const numbers = [BigInt(major), BigInt(minor), BigInt(patch)] as const;
    return numbers.some(number => number >= 2n ** 64n)
      ? undefined
      : new Version(numbers, pre?.split('.') ?? []);
  }

  compare(other: Version): number {
    for (const [at, number] of this.numbers.entries()) {
      const found = order(number, other.numbers[at] ?? 0n);
      if (found !== 0) return found;
    }
    // A pre-release has identifiers after the number, and comes before the release.
    if (this.#pre.length === 0 || other.#pre.length === 0)
      return Number(this.#pre.length === 0) - Number(other.#pre.length === 0);
    for (let at = 0; at < Math.max(this.#pre.length, other.#pre.length); at += 1) {
      const found = partOrder(this.#pre[at], other.#pre[at]);
      if (found !== 0) return found;
    }
    return 0;
  }
}

function normalized(text: string): string {
  const [, numbers = '', rest = ''] = /^v?([\d.]*)(.*)$/s.exec(text) ?? [];
  const parts = numbers.split('.').map(part => part.replace(/^0+(?=\d)/, ''));
  const missing = rest === '' ? Math.max(0, 3 - parts.length) : 0;
  return parts.join('.') + '.0'.repeat(missing) + rest;
}
