import { compareVersions } from '../../core/version.ts';
import type { CachedObject, Change, CompleteList } from '../ports.ts';

/** Objects that are gone are remembered by uid for as long as an answer about them may still be under way. */
const maxRemembered = 1000;

/**
 * What is known of one collection, by key and by one index, where it has one. It is fed by a watch and by the answers to our own writes; whichever is newer
 * counts, so that what was written is seen at once and is not forgotten when the watch comes limping behind.
 */
export class Cache<T extends CachedObject> {
  readonly #objects = new Map<string, T>();
  readonly #groups = new Map<string, Set<string>>();
  readonly #gone = new Set<string>();
  /** By uid: known from answers to our own writes alone, so far. */
  readonly #untold = new Set<string>();
  readonly #groupOf: ((object: T) => string) | undefined;

  constructor(groupOf?: (object: T) => string) {
    this.#groupOf = groupOf;
  }

  /** Something has come, changed or gone, by the watch or by an answer: for caches that keep an account of it. */
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

  /** The objects of one group of the index. */
  in(group: string): readonly T[] {
    return [...(this.#groups.get(group) ?? [])].flatMap(key => this.#objects.get(key) ?? []);
  }

  groups(): IterableIterator<string> {
    return this.#groups.keys();
  }

  /** Takes over what the watch tells. Answers what stood there before. */
  apply(change: Change<T>): T | undefined {
    this.#untold.delete(change.object.uid);
    const before = this.#objects.get(change.object.key);
    if (change.type === 'removed') {
      if (before?.uid === change.object.uid) this.#drop(before);
      this.#remember(change.object.uid);
      return before;
    }
    // A watch that is behind tells of what came before the end.
    if (this.#gone.has(change.object.uid)) return before;
    const isSuccessor = change.type === 'added' && before?.uid !== change.object.uid;
    if (isSuccessor || !this.#isOvertaken(change.object)) this.#put(change.object);
    return before;
  }

  /** Takes over the answer to a write of ours, unless something newer of that name is known or the object is gone by now. */
  observe(object: T): void {
    if (this.#gone.has(object.uid) || this.#isOvertaken(object)) return;
    if (this.#objects.get(object.key)?.uid !== object.uid) this.#untold.add(object.uid);
    this.#put(object);
  }

  /**
   * What we have made, and is gone again, while the watch was behind: it is not in a list that is newer. The watch has never told of it, and will not tell of its end.
   */
  unseen(list: CompleteList): readonly T[] {
    return this.#untold.size === 0 ? [] : this.absent(list).filter(({ uid }) => this.#untold.has(uid));
  }

  /** What is not in a list that is newer, whoever has told of it. */
  absent({ keys, version }: CompleteList): readonly T[] {
    return Array.from(this.#objects.values()).filter(
      ({ key, resourceVersion }) => !keys.has(key) && compareVersions(resourceVersion, version) <= 0,
    );
  }

  /** Forgets an object that we have deleted: of that uid, for by the time of the answer its successor may be here; whatever is there when left out. */
  forget(key: string, uid = this.#objects.get(key)?.uid): void {
    if (uid === undefined) return;
    const before = this.#objects.get(key);
    if (before?.uid === uid) this.#drop(before);
    this.#remember(uid);
  }

  /** Something newer of that name is known: versions compare between all objects of a kind, successors of the same name too. */
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
    if (group !== undefined) this.#groups.set(group, (this.#groups.get(group) ?? new Set()).add(object.key));
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
