/** Strings that are remembered at once: enough for those that come again and again, and few beside those that they stand in for. */
const maxStrings = 4096;

const isPlain = (value: object): value is Record<string, unknown> => Object.getPrototypeOf(value) === Object.prototype;

/** Strings that have been seen lately, each once. */
class StringPool {
  readonly #strings = new Map<string, string>();

  /** The same value; what it holds is changed in place, to equal strings. */
  intern<T>(value: T): T {
    if (typeof value === 'string') return this.#pooled(value) as T & string;
    if (Array.isArray(value) || (typeof value === 'object' && value !== null && isPlain(value))) this.#internWithin(value);
    return value;
  }

  /** What is frozen is somebody else's, as the embedded cluster's objects are: it stays as it is. */
  #internWithin(holder: unknown[] | Record<string, unknown>): void {
    if (Object.isFrozen(holder)) return;
    const places = holder as Record<string, unknown>;
    for (const name of Object.keys(holder)) {
      const one = places[name];
      if (typeof one === 'string' || typeof one === 'object') places[name] = this.intern(one);
    }
  }

  #pooled(text: string): string {
    const known = this.#strings.get(text);
    if (known !== undefined) return known;
    if (this.#strings.size >= maxStrings) this.#strings.clear();
    this.#strings.set(text, text);
    return text;
  }
}

/**
 * The same function, for objects of which many are kept: what it gives shares its strings with what it gave before. JSON.parse makes each string anew, and the labels and
 * conditions of thousands of nodes say the same. JSON is changed in place, unless it is frozen; instants and the like stay as they are.
 */
export const interned = <T>(project: (raw: unknown) => T): ((raw: unknown) => T) => {
  const pool = new StringPool();
  return raw => pool.intern(project(raw));
};
