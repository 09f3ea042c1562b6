import type { Quantity } from './quantity.ts';
import type { Version } from './semver.ts';

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
