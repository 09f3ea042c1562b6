import type { Stored } from '../object.ts';
import type { Index } from './store.ts';

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
export class ResourceTable {
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
