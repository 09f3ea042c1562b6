import type { Resource } from '../store/store.ts';
import type { Kind } from './kind.ts';

function keyOf(group: string, version: string, plural: string): string {
  return `${group}/${version}/${plural}`;
}

/** Currently served kinds: built-in ones, and those of CustomResourceDefinitions. */
export class KindTable {
  readonly #kinds = new Map<string, Kind>();
  /** First version of each resource, cached. */
  readonly #first = new Map<Resource, Kind>();

  constructor(kinds: readonly Kind[]) {
    for (const kind of kinds) this.add(kind);
  }

  /** Adds a kind, or replaces the one under this path. */
  add(kind: Kind): void {
    this.#kinds.set(keyOf(kind.group, kind.version, kind.plural), kind);
    this.#first.clear();
  }

  /** Removes all versions of a resource. */
  drop(resource: Resource): void {
    for (const [key, kind] of this.#kinds) if (kind.resource === resource) this.#kinds.delete(key);
    this.#first.clear();
  }

  at(group: string, version: string, plural: string): Kind | undefined {
    return this.#kinds.get(keyOf(group, version, plural));
  }

  /** Returns a kind by its name in manifests; without a version, the first that was added. */
  named(group: string, kind: string, version?: string): Kind | undefined {
    return this.all().find(
      one =>
        one.group === group &&
        one.kind === kind &&
        (version === undefined || one.version === version),
    );
  }

  /**
   * Returns a kind by resource, in the version that was added first. The kind must exist: for
   * callers with a known resource.
   */
  of(resource: Resource): Kind {
    const found = this.#first.get(resource) ?? this.all().find(one => one.resource === resource);
    if (found === undefined) throw new Error(`${resource} is not served`);
    this.#first.set(resource, found);
    return found;
  }

  all(): readonly Kind[] {
    return [...this.#kinds.values()];
  }

  /** Returns whether any kind of this group is served. */
  servesGroup(group: string): boolean {
    return this.all().some(one => one.group === group);
  }
}
