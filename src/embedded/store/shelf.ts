import type { Stored } from '../object.ts';
import type { Index } from './store.ts';

/** Order of etcd's keys: `namespace/name`, byte by byte, where `/` comes after `-` and `.`. */
const byNamespace = (one: string, other: string): number => {
  const [a, b] = [`${one}/`, `${other}/`];
  return a < b ? -1 : a > b ? 1 : 0;
};

/** The objects of one namespace. Their order is made when somebody asks for it: most changes replace an object in its place. */
class Bucket {
  readonly objects = new Map<string, Stored>();
  #sorted: readonly Stored[] | undefined;
  #names: string[] = [];
  #dirty = false;

  put(name: string, object: Stored): void {
    if (!this.objects.has(name)) {
      this.#names.push(name);
      this.#dirty = true;
    }
    this.objects.set(name, object);
    this.#sorted = undefined;
  }

  remove(name: string): void {
    this.objects.delete(name);
    this.#sorted = undefined;
    this.#dirty = true;
  }

  list(): readonly Stored[] {
    if (this.#sorted !== undefined) return this.#sorted;
    if (this.#dirty) {
      // Names that came, left and came again stand here twice.
      this.#names = [...new Set(this.#names.filter(name => this.objects.has(name)))].sort();
      this.#dirty = false;
    }
    const sorted: Stored[] = [];
    for (const name of this.#names) {
      const object = this.objects.get(name);
      if (object !== undefined) sorted.push(object);
    }
    this.#sorted = sorted;
    return sorted;
  }
}

/** All objects of one resource, in order, with its indexes. */
export class Shelf {
  readonly #buckets = new Map<string, Bucket>();
  readonly #indexes: ReadonlyMap<string, { readonly of: Index; readonly values: Map<string, Map<string, Stored>> }>;
  #namespaces: readonly string[] | undefined;
  count = 0;

  constructor(indexes: Readonly<Record<string, Index>>) {
    this.#indexes = new Map(Object.entries(indexes).map(([name, of]) => [name, { of, values: new Map<string, Map<string, Stored>>() }]));
  }

  get(namespace: string, name: string): Stored | undefined {
    return this.#buckets.get(namespace)?.objects.get(name);
  }

  put(namespace: string, name: string, object: Stored): void {
    let bucket = this.#buckets.get(namespace);
    if (bucket === undefined) {
      bucket = new Bucket();
      this.#buckets.set(namespace, bucket);
      this.#namespaces = undefined;
    }
    const before = bucket.objects.get(name);
    if (before === undefined) this.count += 1;
    bucket.put(name, object);
    this.#index(`${namespace}/${name}`, before, object);
  }

  remove(namespace: string, name: string): void {
    const bucket = this.#buckets.get(namespace);
    const before = bucket?.objects.get(name);
    if (bucket === undefined || before === undefined) return;
    this.count -= 1;
    bucket.remove(name);
    this.#index(`${namespace}/${name}`, before, undefined);
    if (bucket.objects.size > 0) return;
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
    return [...(found.values.get(value)?.values() ?? [])];
  }

  #index(key: string, before: Stored | undefined, after: Stored | undefined): void {
    for (const { of, values } of this.#indexes.values()) {
      const now = after === undefined ? [] : of(after);
      for (const value of before === undefined ? [] : of(before)) {
        if (now.includes(value)) continue;
        const under = values.get(value);
        under?.delete(key);
        if (under?.size === 0) values.delete(value);
      }
      for (const value of now) put(values, value, key, after as Stored);
    }
  }
}

const put = (values: Map<string, Map<string, Stored>>, value: string, key: string, object: Stored): void => {
  const under = values.get(value);
  if (under === undefined) values.set(value, new Map([[key, object]]));
  else under.set(key, object);
};
