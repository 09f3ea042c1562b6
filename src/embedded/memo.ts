/**
 * What has been found out about an object, kept in the object itself, where nobody else sees it and no copy has it. A WeakMap says the same, but one of
 * hundreds of thousands of objects is slow to ask, and slower to collect: that took a tenth of the rehearsal of a large cluster.
 */

/** What a constructor returns is what its subclasses add their private fields to: so any object can be given one, as long as it is not frozen. */
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
    for (let fact = value.#first; fact !== undefined; fact = fact.next) if (fact.find === find) return fact.found;
    return undefined;
  }

  static add(value: object, find: unknown, found: unknown): void {
    if (#first in value) value.#first = { find, found, next: value.#first };
  }
}

/** The same object, with a place for facts. Only for what is new and about to be frozen: what is found out about it has to stay true. */
export const withFacts = <T extends object>(value: T): T => new Memoized(value) as unknown as T;

/** What a pure function says of something stored, found once for each: what is frozen never changes. Of drafts it is found anew each time. */
export const memoizeOnObject = <K extends object, T extends {}>(find: (value: K) => T): ((value: K) => T) => {
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
};
