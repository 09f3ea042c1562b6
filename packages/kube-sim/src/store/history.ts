import type { Stored } from '../object.ts';
import type { StoreChange } from './store.ts';

/** Changes of one resource, as far back as they are kept. */
export class WatchHistory {
  readonly #limit: number;
  #changes: StoreChange[] = [];
  #forgottenUpTo: number;

  /** Creates a history; changes up to `begin` are unknown. */
  constructor(limit: number, begin: number) {
    this.#limit = limit;
    this.#forgottenUpTo = begin;
  }

  add(change: StoreChange): void {
    this.#changes.push(change);
    // Halves the history, so that the cost for each change does not depend on its length.
    if (this.#changes.length > this.#limit * 2)
      this.forget(this.#changes[this.#changes.length - this.#limit - 1]?.version ?? 0);
  }

  forget(upTo: number): void {
    this.#changes = this.#changes.slice(this.#firstAfter(upTo));
    this.#forgottenUpTo = Math.max(this.#forgottenUpTo, upTo);
  }

  after(version: number): readonly StoreChange[] | undefined {
    return version < this.#forgottenUpTo
      ? undefined
      : this.#changes.slice(this.#firstAfter(version));
  }

  /**
   * Returns the former state of every object that has changed after the version, undefined for
   * missing ones. By `namespace/name`.
   */
  before(version: number): ReadonlyMap<string, Stored | undefined> | undefined {
    const changes = this.after(version);
    if (changes === undefined) return undefined;
    const then = new Map<string, Stored | undefined>();
    for (const change of changes) {
      const { namespace = '', name } = change.object.metadata;
      const key = `${namespace}/${name}`;
      if (!then.has(key)) then.set(key, change.type === 'added' ? undefined : change.before);
    }
    return then;
  }

  #firstAfter(version: number): number {
    let [low, high] = [0, this.#changes.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#changes[middle]?.version ?? 0) <= version) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
