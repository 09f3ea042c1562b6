import { isObject, type Json, type JsonObject } from '@drydock/apimachinery';

export { at, items, objects, part, strings, text } from '@drydock/apimachinery';

export type OwnerReference = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
};

/** Metadata of a stored object. */
export type ObjectMeta = JsonObject & {
  readonly name: string;
  readonly namespace?: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation?: number;
  readonly creationTimestamp: string;
  readonly deletionTimestamp?: string;
  readonly deletionGracePeriodSeconds?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
  readonly ownerReferences?: readonly OwnerReference[];
};

/**
 * A stored object: deeply frozen, without `apiVersion` and `kind`, which belong to the response and
 * not to the object.
 */
export type Stored = JsonObject & { readonly metadata: ObjectMeta };

/** An object before it is stored: unchecked. */
export type Draft = JsonObject;

/** Compares by name. */
export function byName({ metadata: one }: Stored, { metadata: other }: Stored): number {
  return one.name < other.name ? -1 : Number(one.name > other.name);
}

/** Returns the metadata of a draft, if it is an object at all. */
export function metaOf(draft: Draft): JsonObject {
  return isObject(draft['metadata']) ? draft['metadata'] : {};
}

/** Returns the draft with changed metadata; the same object where nothing changes. */
export function withMeta(draft: Draft, changes: JsonObject): Draft {
  const before = metaOf(draft);
  if (Object.keys(changes).every(key => before[key] === changes[key])) return draft;
  return { ...draft, metadata: without({ ...before, ...changes }) };
}

/** Returns a copy without undefined members. */
export function without(object: JsonObject, ...keys: readonly string[]): JsonObject {
  const kept: Record<string, Json> = {};
  for (const key of Object.keys(object)) {
    const value = object[key];
    if (value !== undefined && !keys.includes(key)) kept[key] = value;
  }
  return kept;
}

/** Freezes a value deeply; stops at frozen parts, such as everything from the store. */
export function freeze<T extends Json | undefined>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  for (const member of Object.values(value)) freeze(member);
  return Object.freeze(value);
}

/** Longest duration in Go, 292 years, in seconds. */
const maxLength = 9_223_372_036;

/**
 * Converts seconds to milliseconds with the overflow of Go's time.Duration: int64 nanoseconds,
 * which become negative or another number in API server and kubelet when a pod has a grace period
 * of centuries.
 */
export function durationMs(seconds: number): number {
  return Math.abs(seconds) <= maxLength
    ? seconds * 1000
    : Number(BigInt.asIntN(64, BigInt(Math.trunc(seconds)) * 1_000_000_000n) / 1_000_000n);
}

/**
 * Returns a reproducible random source: numbers in [0, 1) that are the same for the same seed
 * (mulberry32).
 */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Release of Kubernetes that the embedded cluster is tested against. */
export const kubernetesMinor = 37;
export const kubernetesVersion = `v1.${kubernetesMinor}.2`;

/**
 * Facts about an object, stored in the object itself as private fields, which no other code sees
 * and no copy has. A WeakMap would do the same, but with hundreds of thousands of objects it is
 * slow to read, and slower to collect: that took a tenth of the rehearsal of a large cluster.
 */

/**
 * A base class whose constructor returns its argument: subclasses add their private fields to it,
 * so any object can get one, as long as it is not frozen.
 */
// oxlint-disable-next-line typescript/no-extraneous-class -- a base for others, not a bag of functions.
export class ReturnedObject {
  constructor(value: object) {
    // biome-ignore lint/correctness/noConstructorReturn: it is what this class is for.
    return value;
  }
}

type Fact = { readonly find: unknown; readonly found: unknown; readonly next: Fact | undefined };

class Memoized extends ReturnedObject {
  #first: Fact | undefined;

  static has(value: object): boolean {
    return #first in value;
  }

  static get(value: object, find: unknown): unknown {
    if (!(#first in value)) return undefined;
    for (let fact = value.#first; fact !== undefined; fact = fact.next)
      if (fact.find === find) return fact.found;
    return undefined;
  }

  static add(value: object, find: unknown, found: unknown): void {
    if (#first in value) value.#first = { find, found, next: value.#first };
  }
}

/**
 * Returns the same object, with a place for facts. Only for new objects that are about to be
 * frozen: facts about them must stay true.
 */
export function withFacts<T extends object>(value: T): T {
  return new Memoized(value) as unknown as T;
}

/**
 * Caches the result of a pure function for each stored object: frozen objects never change. For
 * drafts it is computed each time.
 */
export function memoizeOnObject<K extends object, T extends {}>(
  find: (value: K) => T,
): (value: K) => T {
  /** Parts of objects have no place for facts. */
  const ofParts = new WeakMap<K, T>();
  const ofPart = (value: K): T => {
    const known = ofParts.get(value);
    if (known !== undefined) return known;
    const found = find(value);
    if (Object.isFrozen(value)) ofParts.set(value, found);
    return found;
  };
  return value => {
    if (!Memoized.has(value)) return ofPart(value);
    const known = Memoized.get(value, find);
    if (known !== undefined) return known as T;
    const found = find(value);
    Memoized.add(value, find, found);
    return found;
  };
}
