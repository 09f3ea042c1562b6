import { withFacts } from '../memo.ts';
import { freeze, type Stored } from '../object.ts';
import { WatchHistory } from './history.ts';
import { ResourceTable } from './resource-table.ts';
import type { Index, Resource, Store, StoreChange, StoreListener } from './store.ts';

export type StoreOptions = {
  /** Indexes by resource; those under `*` are for every resource. */
  readonly indexes: Readonly<Record<Resource, Readonly<Record<string, Index>>>>;
  /**
   * Limit of a resource's changes that are kept for watches and for later pages of lists; 20,000
   * when left out.
   */
  readonly historyLimit?: number;
};

/** The store, in memory. */
export class MemoryStore implements Store {
  readonly #options: StoreOptions;
  readonly #tables = new Map<Resource, ResourceTable>();
  readonly #histories = new Map<Resource, WatchHistory>();
  readonly #listeners = new Set<StoreListener>();
  readonly #listenersOf = new Map<Resource, Set<StoreListener>>();
  readonly #untold: StoreChange[] = [];
  #telling = false;
  #compactedTo = 0;
  /** Version as in a fresh etcd, whose first revision is 1. */
  #version = 1;

  constructor(options: StoreOptions) {
    this.#options = options;
  }

  get version(): number {
    return this.#version;
  }

  get(resource: Resource, namespace: string, name: string): Stored | undefined {
    return this.#tables.get(resource)?.get(namespace, name);
  }

  list(resource: Resource, namespace?: string): readonly Stored[] {
    return this.#tables.get(resource)?.list(namespace) ?? [];
  }

  count(resource: Resource): number {
    return this.#tables.get(resource)?.count ?? 0;
  }

  indexed(resource: Resource, index: string, value: string): readonly Stored[] {
    return this.#table(resource).indexed(index, value);
  }

  listAt(resource: Resource, version: number, namespace?: string): readonly Stored[] | undefined {
    const then = this.#history(resource).before(version);
    if (then === undefined) return undefined;
    if (then.size === 0) return this.list(resource, namespace);
    const keyOf = ({ metadata }: Stored): string => `${metadata.namespace ?? ''}/${metadata.name}`;
    const unchanged = this.list(resource, namespace).filter(object => !then.has(keyOf(object)));
    const past = new ResourceTable({});
    for (const object of [...unchanged, ...then.values()]) {
      const place = object?.metadata.namespace ?? '';
      if (object !== undefined && (namespace === undefined || place === namespace))
        past.put(place, object.metadata.name, object);
    }
    return past.list(namespace);
  }

  changesAfter(resource: Resource, version: number): readonly StoreChange[] | undefined {
    return this.#history(resource).after(version);
  }

  subscribe(listener: StoreListener, resource?: Resource): () => void {
    const listeners =
      resource === undefined
        ? this.#listeners
        : entry(this.#listenersOf, resource, () => new Set<StoreListener>());
    listeners.add(listener);
    return () => listeners.delete(listener);
  }

  put(resource: Resource, object: Stored): Stored {
    const { namespace = '', name } = object.metadata;
    const table = this.#table(resource);
    const before = table.get(namespace, name);
    const after = this.#stamped(object);
    table.put(namespace, name, after);
    const version = this.#version;
    this.#tell(
      before === undefined
        ? { type: 'added', resource, version, object: after }
        : { type: 'changed', resource, version, object: after, before },
    );
    return after;
  }

  remove(resource: Resource, namespace: string, name: string): Stored | undefined {
    const table = this.#table(resource);
    const before = table.get(namespace, name);
    if (before === undefined) return undefined;
    const object = this.#stamped(before);
    table.remove(namespace, name);
    this.#tell({ type: 'removed', resource, version: this.#version, object, before });
    return object;
  }

  compact(version = this.#version): void {
    this.#compactedTo = Math.max(this.#compactedTo, version);
    for (const history of this.#histories.values()) history.forget(version);
  }

  #stamped(object: Stored): Stored {
    this.#version += 1;
    return freeze(
      withFacts({
        ...object,
        metadata: { ...object.metadata, resourceVersion: String(this.#version) },
      }),
    );
  }

  #table(resource: Resource): ResourceTable {
    const { indexes } = this.#options;
    return entry(
      this.#tables,
      resource,
      () => new ResourceTable({ ...indexes['*'], ...indexes[resource] }),
    );
  }

  #history(resource: Resource): WatchHistory {
    return entry(
      this.#histories,
      resource,
      () => new WatchHistory(this.#options.historyLimit ?? 20_000, this.#compactedTo),
    );
  }

  /**
   * Delivers a change to all listeners in order: a listener's own write is delivered after all have
   * received the change that caused it.
   */
  #tell(change: StoreChange): void {
    this.#history(change.resource).add(change);
    this.#untold.push(change);
    if (this.#telling) return;
    this.#telling = true;
    try {
      for (let next = this.#untold.shift(); next !== undefined; next = this.#untold.shift()) {
        for (const listener of this.#listenersOf.get(next.resource) ?? []) listener(next);
        for (const listener of this.#listeners) listener(next);
      }
    } finally {
      this.#telling = false;
    }
  }
}

function entry<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const found = map.get(key);
  if (found !== undefined) return found;
  const made = make();
  map.set(key, made);
  return made;
}
