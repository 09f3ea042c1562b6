import { freeze, type Stored, withFacts } from '../object.ts';
import type { Index, Resource, Store, StoreChange, StoreListener } from './store.ts';

/** Changes of one resource, as far back as they are kept. */
class WatchHistory {
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

/**
 * Compares namespaces by the order of etcd's keys: `namespace/name`, byte by byte, where `/` comes
 * after `-` and `.`.
 */
function byNamespace(one: string, other: string): number {
  const [a, b] = [`${one}/`, `${other}/`];
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Slot of an object: most changes replace it by another version. */
type Slot = { object: Stored };

/** Objects of one namespace, sorted on demand. */
class Bucket {
  readonly slots = new Map<string, Slot>();
  #sorted: readonly Stored[] | undefined;
  #names: string[] = [];
  #dirty = false;

  add(name: string, slot: Slot): void {
    this.#names.push(name);
    this.#dirty = true;
    this.slots.set(name, slot);
    this.#sorted = undefined;
  }

  changed(): void {
    this.#sorted = undefined;
  }

  remove(name: string): void {
    this.slots.delete(name);
    this.#sorted = undefined;
    this.#dirty = true;
  }

  list(): readonly Stored[] {
    if (this.#sorted !== undefined) return this.#sorted;
    if (this.#dirty) {
      // A name that was added, removed and added again appears twice.
      this.#names = [...new Set(this.#names.filter(name => this.slots.has(name)))].sort();
      this.#dirty = false;
    }
    const sorted: Stored[] = [];
    for (const name of this.#names) {
      const slot = this.slots.get(name);
      if (slot !== undefined) sorted.push(slot.object);
    }
    this.#sorted = sorted;
    return sorted;
  }
}

type Kept = { readonly index: Index; readonly values: Map<string, Set<Slot>> };

function enter({ values }: Kept, value: string, slot: Slot): void {
  const under = values.get(value);
  if (under === undefined) values.set(value, new Set([slot]));
  else under.add(slot);
}

function leave({ values }: Kept, value: string, slot: Slot): void {
  const under = values.get(value);
  under?.delete(slot);
  if (under?.size === 0) values.delete(value);
}

/** All objects of one resource, in order, with its indexes. */
class ResourceTable {
  readonly #buckets = new Map<string, Bucket>();
  readonly #indexes: ReadonlyMap<string, Kept>;
  #namespaces: readonly string[] | undefined;
  count = 0;

  constructor(indexes: Readonly<Record<string, Index>>) {
    this.#indexes = new Map(
      Object.entries(indexes).map(([name, index]) => [
        name,
        { index, values: new Map<string, Set<Slot>>() },
      ]),
    );
  }

  get(namespace: string, name: string): Stored | undefined {
    return this.#buckets.get(namespace)?.slots.get(name)?.object;
  }

  put(namespace: string, name: string, object: Stored): void {
    const bucket = this.#buckets.get(namespace) ?? this.#open(namespace);
    const slot = bucket.slots.get(name);
    if (slot !== undefined) {
      const before = slot.object;
      slot.object = object;
      bucket.changed();
      for (const kept of this.#indexes.values()) this.#move(kept, slot, before);
      return;
    }
    this.count += 1;
    const made = { object };
    bucket.add(name, made);
    for (const kept of this.#indexes.values())
      for (const value of kept.index.of(object)) enter(kept, value, made);
  }

  remove(namespace: string, name: string): void {
    const bucket = this.#buckets.get(namespace);
    const slot = bucket?.slots.get(name);
    if (bucket === undefined || slot === undefined) return;
    this.count -= 1;
    bucket.remove(name);
    for (const kept of this.#indexes.values())
      for (const value of kept.index.of(slot.object)) leave(kept, value, slot);
    if (bucket.slots.size > 0) return;
    this.#buckets.delete(namespace);
    this.#namespaces = undefined;
  }

  list(namespace: string | undefined): readonly Stored[] {
    if (namespace !== undefined) return this.#buckets.get(namespace)?.list() ?? [];
    this.#namespaces ??= [...this.#buckets.keys()].sort(byNamespace);
    if (this.#namespaces.length === 1) return this.list(this.#namespaces[0] ?? '');
    return this.#namespaces.flatMap(name => this.#buckets.get(name)?.list() ?? []);
  }

  indexed(index: string, value: string): readonly Stored[] {
    const found = this.#indexes.get(index);
    if (found === undefined) throw new Error(`there is no index ${index} here`);
    const objects: Stored[] = [];
    for (const { object } of found.values.get(value) ?? []) objects.push(object);
    return objects;
  }

  #open(namespace: string): Bucket {
    const bucket = new Bucket();
    this.#buckets.set(namespace, bucket);
    this.#namespaces = undefined;
    return bucket;
  }

  #move(kept: Kept, slot: Slot, before: Stored): void {
    const { from, of } = kept.index;
    if (from(before) === from(slot.object)) return;
    const [was, now] = [of(before), of(slot.object)];
    for (const value of was) if (!now.includes(value)) leave(kept, value, slot);
    for (const value of now) enter(kept, value, slot);
  }
}

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
