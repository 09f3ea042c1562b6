/**
 * A second index of a cache: the objects that the cache reports as stored are kept here by their
 * group.
 */
export class SecondaryIndex<T extends { readonly key: string }> {
  readonly #groups = new Map<string, Map<string, T>>();
  readonly #groupOf: (object: T) => string | undefined;

  constructor(groupOf: (object: T) => string | undefined) {
    this.#groupOf = groupOf;
  }

  /** Applies an added, changed or removed object. */
  update(before: T | undefined, after: T | undefined): void {
    const left = before && this.#groupOf(before);
    if (before !== undefined && left !== undefined) {
      const members = this.#groups.get(left);
      members?.delete(before.key);
      if (members?.size === 0) this.#groups.delete(left);
    }
    const joined = after && this.#groupOf(after);
    if (after === undefined || joined === undefined) return;
    const members = this.#groups.get(joined) ?? new Map<string, T>();
    this.#groups.set(joined, members.set(after.key, after));
  }

  /** Returns the objects of a group; none for objects without a group. */
  in(group: string | undefined): readonly T[] {
    return group === undefined ? [] : [...(this.#groups.get(group)?.values() ?? [])];
  }
}
