import { fail } from '../failure.ts';

/**
 * Kubernetes' quantities, exactly: 1Gi, 100m, 1e3. Upstream: apimachinery/pkg/api/resource,
 * apiserver/pkg/cel/library/quantity.go.
 */

const factors: Readonly<Record<string, readonly [numerator: bigint, denominator: bigint]>> = {
  '': [1n, 1n],
  n: [1n, 10n ** 9n],
  u: [1n, 10n ** 6n],
  m: [1n, 1000n],
  k: [1000n, 1n],
  M: [10n ** 6n, 1n],
  G: [10n ** 9n, 1n],
  T: [10n ** 12n, 1n],
  P: [10n ** 15n, 1n],
  E: [10n ** 18n, 1n],
  Ki: [2n ** 10n, 1n],
  Mi: [2n ** 20n, 1n],
  Gi: [2n ** 30n, 1n],
  Ti: [2n ** 40n, 1n],
  Pi: [2n ** 50n, 1n],
  Ei: [2n ** 60n, 1n],
};

const quantityForm = /^([+-]?)(\d+\.?\d*|\.\d+)(?:[eE]([+-]?\d{1,3})|([numkMGTPE]|[KMGTPE]i))?$/;
const billion = 10n ** 9n;

export class Quantity {
  /** Value in billionths, to which Kubernetes rounds up, away from zero. */
  readonly nano: bigint;

  constructor(nano: bigint) {
    this.nano = nano;
  }

  static parse(text: string): Quantity | undefined {
    // Kubernetes has room for 18 digits; no real quantity has more.
    const [, sign, digits = '', exponent, suffix = ''] =
      (text.length <= 64 && quantityForm.exec(text)) || [];
    const factor = factors[suffix];
    if (digits === '' || factor === undefined) return undefined;
    const [whole = '', fraction = ''] = digits.split('.');
    const power = Number(exponent ?? 0);
    let numerator = BigInt(whole + fraction) * factor[0] * billion;
    let denominator = 10n ** BigInt(fraction.length) * factor[1];
    if (power >= 0) numerator *= 10n ** BigInt(power);
    else denominator *= 10n ** BigInt(-power);
    const nano = (numerator + denominator - 1n) / denominator;
    return new Quantity(sign === '-' ? -nano : nano);
  }

  compare(other: Quantity): number {
    return this.nano < other.nano ? -1 : Number(this.nano > other.nano);
  }

  get isInteger(): boolean {
    return (
      this.nano % billion === 0n && BigInt.asIntN(64, this.nano / billion) === this.nano / billion
    );
  }

  toInteger(): bigint {
    return this.isInteger ? this.nano / billion : fail('cannot convert value to integer');
  }

  toNumber(): number {
    return Number(this.nano) / 1e9;
  }
}

/** Semantic versions, 2.0.0. Upstream: apiserver/pkg/cel/library/semverlib.go and blang/semver. */

const semverForm =
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
    const found = semverForm.exec(normalize ? normalized(text) : text);
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

/**
 * Values of CEL at run time: bigint is `int`, number is `double`, Temporal.Instant is `timestamp`.
 */
export type Value =
  | null
  | boolean
  | bigint
  | number
  | string
  | Uint
  | Uint8Array
  | List
  | Mapping
  | Temporal.Instant
  | Duration
  | Type
  | Optional
  | Quantity
  | Version;

export class Uint {
  readonly value: bigint;

  constructor(value: bigint) {
    this.value = value;
  }
}

export class Duration {
  readonly nanoseconds: bigint;

  constructor(nanoseconds: bigint) {
    this.nanoseconds = nanoseconds;
  }
}

export class Type {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

/** Result of `a.?b`: a value, or none. */
export class Optional {
  readonly value: Value | undefined;

  constructor(value: Value | undefined) {
    this.value = value;
  }
}

export const none = new Optional(undefined);

/** A list of values, or of items that are converted to values. */
export class List {
  readonly #items: readonly unknown[];
  readonly #read: (item: never) => Value;

  private constructor(items: readonly unknown[], read: (item: never) => Value) {
    this.#items = items;
    this.#read = read;
  }

  static of(items: readonly Value[]): List {
    return new List(items, (item: Value) => item);
  }

  /** Returns a list whose items are converted on access. */
  static reading<T>(items: readonly T[], read: (item: T) => Value): List {
    return new List(items, read);
  }

  get size(): number {
    return this.#items.length;
  }

  at(index: number): Value | undefined {
    return index >= 0 && index < this.#items.length
      ? this.#read(this.#items[index] as never)
      : undefined;
  }

  *[Symbol.iterator](): Iterator<Value> {
    for (const item of this.#items) yield this.#read(item as never);
  }
}

export type Key = string | boolean | bigint | Uint;

/** A map, whatever the source of its entries. */
export abstract class Mapping {
  abstract readonly size: number;
  /**
   * Returns the value under a key, undefined where there is none; equal numbers of any type are the
   * same key.
   */
  abstract get(key: Value): Value | undefined;
  abstract keys(): Iterable<Key>;

  has(key: Value): boolean {
    return this.get(key) !== undefined;
  }
}

/** Returns the name of a key, the same for equal numbers; undefined for invalid keys. */
function keyName(key: Value): string | undefined {
  if (typeof key === 'string') return `s${key}`;
  if (typeof key === 'boolean' || typeof key === 'bigint') return `${key}`;
  if (key instanceof Uint) return `${key.value}`;
  return typeof key === 'number' && Number.isInteger(key) ? `${BigInt(key)}` : undefined;
}

export class EntryMapping extends Mapping {
  readonly #entries = new Map<string, readonly [Key, Value]>();

  override get size(): number {
    return this.#entries.size;
  }

  override get(key: Value): Value | undefined {
    const name = keyName(key);
    return name === undefined ? undefined : this.#entries.get(name)?.[1];
  }

  override keys(): Iterable<Key> {
    return this.#entries.values().map(([key]) => key);
  }

  /** Adds an entry; returns false for an invalid or repeated key. */
  add(key: Value, value: Value): boolean {
    const name = keyName(key);
    if (name === undefined || typeof key === 'number' || this.#entries.has(name)) return false;
    this.#entries.set(name, [key as Key, value]);
    return true;
  }
}

/** A map whose members are evaluated on access. An error occurs where the member is used. */
export class LazyMapping extends Mapping {
  readonly #members: ReadonlyMap<string, () => Value>;

  constructor(members: ReadonlyMap<string, () => Value>) {
    super();
    this.#members = members;
  }

  override get size(): number {
    return this.#members.size;
  }

  override get(key: Value): Value | undefined {
    return typeof key === 'string' ? this.#members.get(key)?.() : undefined;
  }

  override keys(): Iterable<string> {
    return this.#members.keys();
  }
}
