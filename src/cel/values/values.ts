import type { Quantity } from './quantity.ts';
import type { Version } from './semver.ts';

/** Values of CEL at run time: bigint is `int`, number is `double`, Temporal.Instant is `timestamp`. */
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

/** What `a.?b` results in: a value, or none. */
export class Optional {
  readonly value: Value | undefined;

  constructor(value: Value | undefined) {
    this.value = value;
  }
}

export const none = new Optional(undefined);

/** A list of values, or of what can be read as such. */
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

  /** Items are read when they are looked at. */
  static reading<T>(items: readonly T[], read: (item: T) => Value): List {
    return new List(items, read);
  }

  get size(): number {
    return this.#items.length;
  }

  at(index: number): Value | undefined {
    return index >= 0 && index < this.#items.length ? this.#read(this.#items[index] as never) : undefined;
  }

  *[Symbol.iterator](): Iterator<Value> {
    for (const item of this.#items) yield this.#read(item as never);
  }
}

export type Key = string | boolean | bigint | Uint;

/** A map, whatever its entries come from. */
export abstract class Mapping {
  abstract readonly size: number;
  /** The value under a key, undefined where there is none; numbers of any type that are equal are one key. */
  abstract get(key: Value): Value | undefined;
  abstract keys(): Iterable<Key>;

  has(key: Value): boolean {
    return this.get(key) !== undefined;
  }
}

/** Numbers that are equal have one name; undefined for what can be no key. */
const keyName = (key: Value): string | undefined => {
  if (typeof key === 'string') return `s${key}`;
  if (typeof key === 'boolean' || typeof key === 'bigint') return `${key}`;
  if (key instanceof Uint) return `${key.value}`;
  return typeof key === 'number' && Number.isInteger(key) ? `${BigInt(key)}` : undefined;
};

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

  /** False where the value can be no key, or is one already. */
  add(key: Value, value: Value): boolean {
    const name = keyName(key);
    if (name === undefined || typeof key === 'number' || this.#entries.has(name)) return false;
    this.#entries.set(name, [key as Key, value]);
    return true;
  }
}

/** Members that are computed when they are looked at. One that fails does so where it is used. */
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
