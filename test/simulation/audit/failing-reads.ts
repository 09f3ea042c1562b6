/**
 * A read that has failed is tried again after so long at most, in milliseconds: the longest pause
 * of a reflector, and its call.
 */
const retriedWithinMs = 31_000;

/**
 * Reads of one collection that fail one after the other: of what has happened since the first of
 * them, the operator cannot know.
 */
export class FailingReads {
  readonly #spells = new Map<string, { readonly sinceMs: number; readonly lastMs: number }>();
  #longestMs = 0;

  /**
   * How late the operator may have known of something because its reads failed, in milliseconds:
   * until the read after the last that failed.
   */
  get lateMs(): number {
    return this.#longestMs === 0 ? 0 : this.#longestMs + retriedWithinMs;
  }

  failed(collection: string, nowMs: number): void {
    const spell = this.#spells.get(collection);
    // Nobody has tried again meanwhile: it had not been wanted any more.
    const sinceMs =
      spell !== undefined && nowMs - spell.lastMs <= retriedWithinMs ? spell.sinceMs : nowMs;
    this.#spells.set(collection, { sinceMs, lastMs: nowMs });
    this.#longestMs = Math.max(this.#longestMs, nowMs - sinceMs);
  }

  succeeded(collection: string): void {
    this.#spells.delete(collection);
  }
}
