/**
 * Number of strings that are remembered at a time: enough for recurring ones, and few compared to
 * the strings that they replace.
 */
const maxStrings = 4096;

function isPlain(value: object): value is Record<string, unknown> {
  return Object.getPrototypeOf(value) === Object.prototype;
}

/** A pool of recently seen strings, each once. */
class StringPool {
  readonly #strings = new Map<string, string>();

  /** Returns the same value; its contents are changed in place, to equal strings. */
  intern<T>(value: T): T {
    if (typeof value === 'string') return this.#pooled(value) as T & string;
    if (Array.isArray(value) || (typeof value === 'object' && value !== null && isPlain(value)))
      this.#internWithin(value);
    return value;
  }

  /**
   * Frozen values belong to others, as the embedded cluster's objects do: they stay as they are.
   */
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
 * Wraps a projection for objects that are kept in large numbers: its results share their strings
 * with earlier results. JSON.parse creates each string again, and the labels and conditions of
 * thousands of nodes are equal. JSON is changed in place, unless it is frozen; instants and similar
 * values stay as they are.
 */
export function interned<T>(project: (raw: unknown) => T): (raw: unknown) => T {
  const pool = new StringPool();
  return raw => pool.intern(project(raw));
}
