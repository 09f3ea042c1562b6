import { compareVersions } from '@drydock/apimachinery';
import type { CachedObject, Change, CompleteList } from '@drydock/kube-client';

/**
 * Number of removed objects whose uids are remembered, for as long as a response about them may be
 * in flight.
 */
const maxRemembered = 1000;

/**
 * A cache of one collection, by key and by one optional index. It is fed by a watch and by the
 * responses to our own writes; the newer version counts, so that a write is visible at once and is
 * not reverted by a watch that lags behind.
 */
export class Cache<T extends CachedObject> {
  readonly #objects = new Map<string, T>();
  readonly #groups = new Map<string, Set<string>>();
  readonly #gone = new Set<string>();
  /** uids of objects that are known only from responses to our own writes so far. */
  readonly #untold = new Set<string>();
  readonly #groupOf: ((object: T) => string) | undefined;

  constructor(groupOf?: (object: T) => string) {
    this.#groupOf = groupOf;
  }

  /**
   * Receives every object that was added, changed or removed, by the watch or by a response: for
   * caches that keep statistics.
   */
  protected stored(_before: T | undefined, _after: T | undefined): void {}

  get(key: string): T | undefined {
    return this.#objects.get(key);
  }

  keys(): IterableIterator<string> {
    return this.#objects.keys();
  }

  values(): IterableIterator<T> {
    return this.#objects.values();
  }

  get size(): number {
    return this.#objects.size;
  }

  /** Returns the objects of one group of the index. */
  in(group: string): readonly T[] {
    return [...(this.#groups.get(group) ?? [])].flatMap(key => this.#objects.get(key) ?? []);
  }

  groups(): IterableIterator<string> {
    return this.#groups.keys();
  }

  /** Applies a change that the watch delivers. Returns the previous version. */
  apply(change: Change<T>): T | undefined {
    this.#untold.delete(change.object.uid);
    const before = this.#objects.get(change.object.key);
    if (change.type === 'removed') {
      if (before?.uid === change.object.uid) this.#drop(before);
      this.#remember(change.object.uid);
      return before;
    }
    // A watch that lags behind delivers changes from before the removal.
    if (this.#gone.has(change.object.uid)) return before;
    const isSuccessor = change.type === 'added' && before?.uid !== change.object.uid;
    if (isSuccessor || !this.#isOvertaken(change.object)) this.#put(change.object);
    return before;
  }

  /**
   * Applies the response to a write of ours, unless a newer object of that name is known or the
   * object is gone by now.
   */
  observe(object: T): void {
    if (this.#gone.has(object.uid) || this.#isOvertaken(object)) return;
    if (this.#objects.get(object.key)?.uid !== object.uid) this.#untold.add(object.uid);
    this.#put(object);
  }

  /**
   * Returns objects that we have created and that are gone again while the watch lagged behind:
   * they are not in a newer list. The watch has never delivered them, and will not deliver their
   * removal.
   */
  unseen(list: CompleteList): readonly T[] {
    return this.#untold.size === 0
      ? []
      : this.absent(list).filter(({ uid }) => this.#untold.has(uid));
  }

  /** Returns the objects that are not in a newer list, whatever their source. */
  absent({ keys, version }: CompleteList): readonly T[] {
    return Array.from(this.#objects.values()).filter(
      ({ key, resourceVersion }) =>
        !keys.has(key) && compareVersions(resourceVersion, version) <= 0,
    );
  }

  /**
   * Forgets an object that we have deleted. With a uid only that object, because its successor may
   * exist by the time of the response; without one, any object of that key.
   */
  forget(key: string, uid = this.#objects.get(key)?.uid): void {
    if (uid === undefined) return;
    const before = this.#objects.get(key);
    if (before?.uid === uid) this.#drop(before);
    this.#remember(uid);
  }

  /**
   * Reports whether a newer object of that name is known: versions compare between all objects of a
   * kind, including successors of the same name.
   */
  #isOvertaken({ key, resourceVersion }: T): boolean {
    const before = this.#objects.get(key);
    return before !== undefined && compareVersions(resourceVersion, before.resourceVersion) < 0;
  }

  #put(object: T): void {
    const before = this.#objects.get(object.key);
    if (before !== undefined) this.#remove(before);
    if (before !== undefined && before.uid !== object.uid) this.#untold.delete(before.uid);
    this.#objects.set(object.key, object);
    const group = this.#groupOf?.(object);
    if (group !== undefined)
      this.#groups.set(group, (this.#groups.get(group) ?? new Set()).add(object.key));
    this.stored(before, object);
  }

  #drop(object: T): void {
    this.#remove(object);
    this.stored(object, undefined);
  }

  #remove(object: T): void {
    this.#objects.delete(object.key);
    const group = this.#groupOf?.(object);
    if (group === undefined) return;
    const members = this.#groups.get(group);
    members?.delete(object.key);
    if (members?.size === 0) this.#groups.delete(group);
  }

  #remember(uid: string): void {
    this.#untold.delete(uid);
    this.#gone.add(uid);
    if (this.#gone.size <= maxRemembered) return;
    const [oldest] = this.#gone;
    if (oldest !== undefined) this.#gone.delete(oldest);
  }
}
