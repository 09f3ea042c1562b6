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
