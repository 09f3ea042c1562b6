/** Objects of a cache by one more index: what the cache reports as stored is kept here by the group that it belongs to. */
export class SecondaryIndex<T extends { readonly key: string }> {
  readonly #groups = new Map<string, Map<string, T>>();
  readonly #groupOf: (object: T) => string | undefined;

  constructor(groupOf: (object: T) => string | undefined) {
    this.#groupOf = groupOf;
  }

  /** Takes over what has come, changed or gone. */
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

  /** The objects of a group; none of what belongs to no group. */
  in(group: string | undefined): readonly T[] {
    return group === undefined ? [] : [...(this.#groups.get(group)?.values() ?? [])];
  }
}
