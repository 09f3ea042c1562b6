import type { Resource } from '../store/store.ts';
import type { Kind } from './kind.ts';

const keyOf = (group: string, version: string, plural: string): string => `${group}/${version}/${plural}`;

/** The kinds that are served at the moment: the built-in ones, and those of the custom resource definitions. */
export class KindTable {
  readonly #kinds = new Map<string, Kind>();
  /** The first of each resource, found once. */
  readonly #first = new Map<Resource, Kind>();

  constructor(kinds: readonly Kind[]) {
    for (const kind of kinds) this.add(kind);
  }

  /** Adds a kind or takes the place of what was served before under this path. */
  add(kind: Kind): void {
    this.#kinds.set(keyOf(kind.group, kind.version, kind.plural), kind);
    this.#first.clear();
  }

  /** Ends the serving of all versions of a resource. */
  drop(resource: Resource): void {
    for (const [key, kind] of this.#kinds) if (kind.resource === resource) this.#kinds.delete(key);
    this.#first.clear();
  }

  at(group: string, version: string, plural: string): Kind | undefined {
    return this.#kinds.get(keyOf(group, version, plural));
  }

  /** By what manifests say; the first that was added where several versions are served and none is named. */
  named(group: string, kind: string, version?: string): Kind | undefined {
    return this.all().find(one => one.group === group && one.kind === kind && (version === undefined || one.version === version));
  }

  /** By resource, in the version that was added first. There must be one: for code that knows what it is about. */
  of(resource: Resource): Kind {
    const found = this.#first.get(resource) ?? this.all().find(one => one.resource === resource);
    if (found === undefined) throw new Error(`${resource} is not served`);
    this.#first.set(resource, found);
    return found;
  }

  all(): readonly Kind[] {
    return [...this.#kinds.values()];
  }

  /** Whether any kind of this group is served. */
  servesGroup(group: string): boolean {
    return this.all().some(one => one.group === group);
  }
}
