/** Views of one kind by key, with the changes since they were last taken. */
export class ViewStore<V extends { readonly key: string }> {
  readonly #views = new Map<string, V>();
  readonly #dirty = new Set<string>();

  get size(): number {
    return this.#views.size;
  }

  get(key: string): V | undefined {
    return this.#views.get(key);
  }

  values(): readonly V[] {
    return [...this.#views.values()];
  }

  /** Stores a view; returns whether it differs from the one before. An equal view is not sent. */
  put(view: V): boolean {
    const before = this.#views.get(view.key);
    if (before !== undefined && JSON.stringify(before) === JSON.stringify(view)) return false;
    this.#views.set(view.key, view);
    this.#dirty.add(view.key);
    return true;
  }

  drop(key: string): boolean {
    if (!this.#views.delete(key)) return false;
    this.#dirty.add(key);
    return true;
  }

  /** Returns the changed views and the removed keys since the last call. */
  take(): { readonly changed: readonly V[]; readonly gone: readonly string[] } {
    const changed: V[] = [];
    const gone: string[] = [];
    for (const key of this.#dirty) {
      const view = this.#views.get(key);
      if (view === undefined) gone.push(key);
      else changed.push(view);
    }
    this.#dirty.clear();
    return { changed, gone };
  }
}
