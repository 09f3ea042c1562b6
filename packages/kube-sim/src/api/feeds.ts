import { indexes } from '../kinds/kind.ts';
import type { Resource, Store, StoreChange, StoreListener } from '../store/store.ts';
import { indexedValue, type Selection } from './selection.ts';

/**
 * Index that separates watches: of a thousand watches of one node's pods each, a change concerns
 * one.
 */
const split: Readonly<Record<Resource, string>> = { pods: 'spec.nodeName' };

/**
 * Delivers changes to watches: those for one value of an indexed field receive only its changes.
 */
export class Feeds {
  readonly #store: Store;
  readonly #feeds = new Map<Resource, Feed>();

  constructor(store: Store) {
    this.#store = store;
  }

  follow(resource: Resource, selection: Selection, listener: StoreListener): () => void {
    let feed = this.#feeds.get(resource);
    if (feed === undefined) {
      feed = new Feed(resource);
      this.#feeds.set(resource, feed);
      const tell = feed.tell.bind(feed);
      this.#store.subscribe(tell, resource);
    }
    return feed.follow(selection, listener);
  }
}

class Feed {
  readonly #index: string | undefined;
  readonly #valuesOf: ((change: StoreChange) => readonly string[]) | undefined;
  readonly #all = new Set<StoreListener>();
  readonly #under = new Map<string, Set<StoreListener>>();

  constructor(resource: Resource) {
    this.#index = split[resource];
    const of = this.#index === undefined ? undefined : indexes[resource]?.[this.#index]?.of;
    this.#valuesOf =
      of &&
      (change => [
        ...new Set([...of(change.object), ...(change.type === 'added' ? [] : of(change.before))]),
      ]);
  }

  follow(selection: Selection, listener: StoreListener): () => void {
    const value = this.#index === undefined ? undefined : indexedValue(selection, this.#index);
    if (value === undefined || value === '') {
      this.#all.add(listener);
      return () => this.#all.delete(listener);
    }
    const under = this.#under.get(value) ?? new Set();
    this.#under.set(value, under.add(listener));
    return () => {
      under.delete(listener);
      if (under.size === 0 && this.#under.get(value) === under) this.#under.delete(value);
    };
  }

  tell(change: StoreChange): void {
    for (const listener of this.#all) listener(change);
    if (this.#under.size === 0) return;
    for (const value of this.#valuesOf?.(change) ?? [])
      for (const listener of this.#under.get(value) ?? []) listener(change);
  }
}
