import type { PanicHandler } from '@drydock/utils';
import type { CachedObject, Change, WatchHandler } from '../api.ts';
import type { RawObject } from './raw-object.ts';

/** Converts an object to the form that is cached; returns undefined to leave it out. */
export type Project<T> = (raw: unknown) => T | undefined;

type Projected<T> =
  | { readonly kind: 'kept'; readonly object: T }
  | { readonly kind: 'excluded' }
  | { readonly kind: 'unreadable' };

/**
 * Cached objects of a collection, by name, with the handler of their changes. A `project` or a
 * handler that throws is reported, without other effect: one odd object or handler does not stop
 * the rest.
 */
export class ReflectorStore<T extends CachedObject> {
  readonly #objects = new Map<string, T>();
  readonly #project: Project<T>;
  readonly #handler: WatchHandler<T>;
  readonly #path: string;
  readonly #defects: PanicHandler;
  #synced = false;

  constructor(path: string, project: Project<T>, handler: WatchHandler<T>, defects: PanicHandler) {
    this.#path = path;
    this.#project = project;
    this.#handler = handler;
    this.#defects = defects;
  }

  /** Stores an object from a list or a watch. */
  put(identity: RawObject, raw: unknown): void {
    const projected = this.#projected(identity, raw);
    if (projected.kind === 'unreadable') return;
    if (projected.kind === 'excluded') return this.#forget(identity.name);
    const { object } = projected;
    const before = this.#objects.get(identity.name);
    if (
      before !== undefined &&
      before.uid === object.uid &&
      before.resourceVersion === object.resourceVersion
    )
      return;
    // Another object under the same name: the first must have been deleted, even if no event for
    // that was seen.
    if (before !== undefined && before.uid !== object.uid) this.#forget(identity.name);
    this.#objects.set(identity.name, object);
    if (before === undefined || before.uid !== object.uid) this.#tell({ type: 'added', object });
    else this.#tell({ type: 'changed', object, before });
  }

  /** Removes an object; `raw` is its last state. */
  remove(identity: RawObject, raw: unknown): void {
    const before = this.#objects.get(identity.name);
    if (before === undefined) return;
    const last = this.#projected(identity, raw);
    this.#forget(
      identity.name,
      last.kind === 'kept' && last.object.uid === before.uid ? last.object : before,
    );
  }

  /**
   * Ends a complete list with these names: cached objects without one of them were deleted unseen.
   */
  retain(names: ReadonlySet<string>, version: string | undefined): void {
    for (const name of this.#objects.keys()) if (!names.has(name)) this.#forget(name);
    const keys = new Set(Array.from(this.#objects.values(), ({ key }) => key));
    if (version !== undefined)
      this.#guard('listed', () => this.#handler.listed?.({ keys, version }));
    if (this.#synced) return;
    this.#synced = true;
    this.#guard('synced', () => this.#handler.synced());
  }

  /** See `WatchHandler.failing`. */
  failing(message: string, status: number | undefined, retryInMs: number): void {
    this.#guard('failing', () =>
      this.#handler.failing?.({ message, retryInMs, ...(status === undefined ? {} : { status }) }),
    );
  }

  #forget(name: string, last = this.#objects.get(name)): void {
    if (last === undefined) return;
    this.#objects.delete(name);
    this.#tell({ type: 'removed', object: last });
  }

  #tell(change: Change<T>): void {
    this.#guard(change.type, () => this.#handler.changed(change), change.object.key);
  }

  #guard(what: string, tell: () => void, object?: string): void {
    try {
      tell();
    } catch (error) {
      this.#defects.tell('Watch', `${this.#path} ${object ?? what}`, error);
    }
  }

  #projected(identity: RawObject, raw: unknown): Projected<T> {
    try {
      const object = this.#project(raw);
      return object === undefined ? { kind: 'excluded' } : { kind: 'kept', object };
    } catch (error) {
      this.#defects.tell('Watch', `${this.#path} ${identity.name}`, error);
      return { kind: 'unreadable' };
    }
  }
}
