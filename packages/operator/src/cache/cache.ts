import { compareVersions } from '@drydock/apimachinery';
import type { Budget } from '@drydock/core/drain';
import { identityGroup, instanceIn, isCalled } from '@drydock/core/machine';
import type { Node } from '@drydock/core/node';
import type { Pod } from '@drydock/core/pod';
import type { MaintenanceRequest } from '@drydock/core/request';
import type { MaintenanceWindow } from '@drydock/core/window';
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

/**
 * A second index of a cache: the objects that the cache reports as stored are kept here by their
 * group.
 */
export class SecondaryIndex<T extends { readonly key: string }> {
  readonly #groups = new Map<string, Map<string, T>>();
  readonly #groupOf: (object: T) => string | undefined;

  constructor(groupOf: (object: T) => string | undefined) {
    this.#groupOf = groupOf;
  }

  /** Applies an added, changed or removed object. */
  update(before: T | undefined, after: T | undefined): void {
    const left = before && this.#groupOf(before);
    if (before !== undefined && left !== undefined) {
      const members = this.#groups.get(left);
      members?.delete(before.key);
      if (members?.size === 0) this.#groups.delete(left);
    }
    const joined = after && this.#groupOf(after);
    if (after === undefined || joined === undefined) return;
    const members = this.#groups.get(joined) ?? new Map<string, T>();
    this.#groups.set(joined, members.set(after.key, after));
  }

  /** Returns the objects of a group; none for objects without a group. */
  in(group: string | undefined): readonly T[] {
    return group === undefined ? [] : [...(this.#groups.get(group)?.values() ?? [])];
  }
}

type Provided = { readonly key: string; readonly providerId?: string };

/** An index of Nodes or Machines in a cache by their providerID. */
export class IdentityIndex<T extends Provided> extends SecondaryIndex<T> {
  constructor() {
    super(identityGroup);
  }

  /**
   * Returns all objects that may be the same machine as this one by its providerID, and the given
   * others, each once.
   */
  near(one: Pick<Provided, 'providerId'>, others: readonly T[]): Iterable<T> {
    const all = [...this.in(identityGroup(one)), ...others];
    return new Map(all.map(each => [each.key, each])).values();
  }

  /**
   * Returns all objects with this name in the cloud: by instance, providerID, or any longer form of
   * it.
   */
  called(name: string): readonly T[] {
    const group = identityGroup({ providerId: name }) ?? '';
    const all = new Set([instanceIn(name).toLowerCase(), group].flatMap(one => this.in(one)));
    return [...all].filter(
      ({ providerId }) => providerId !== undefined && isCalled(providerId, name),
    );
  }
}

/**
 * Number of strings that are remembered at a time: enough for recurring ones, and few compared to
 * the strings that they replace.
 */
const maxStrings = 4096;

function isPlain(value: object): value is Record<string, unknown> {
  return Object.getPrototypeOf(value) === Object.prototype;
}

/** A pool of recently seen strings, each once. */
class StringPool {
  readonly #strings = new Map<string, string>();

  /** Returns the same value; its contents are changed in place, to equal strings. */
  intern<T>(value: T): T {
    if (typeof value === 'string') return this.#pooled(value) as T & string;
    if (Array.isArray(value) || (typeof value === 'object' && value !== null && isPlain(value)))
      this.#internWithin(value);
    return value;
  }

  /**
   * Frozen values belong to others, as the embedded cluster's objects do: they stay as they are.
   */
  #internWithin(holder: unknown[] | Record<string, unknown>): void {
    if (Object.isFrozen(holder)) return;
    const places = holder as Record<string, unknown>;
    for (const name of Object.keys(holder)) {
      const one = places[name];
      if (typeof one === 'string' || typeof one === 'object') places[name] = this.intern(one);
    }
  }

  #pooled(text: string): string {
    const known = this.#strings.get(text);
    if (known !== undefined) return known;
    if (this.#strings.size >= maxStrings) this.#strings.clear();
    this.#strings.set(text, text);
    return text;
  }
}

/**
 * Wraps a projection for objects that are kept in large numbers: its results share their strings
 * with earlier results. JSON.parse creates each string again, and the labels and conditions of
 * thousands of nodes are equal. JSON is changed in place, unless it is frozen; instants and similar
 * values stay as they are.
 */
export function interned<T>(project: (raw: unknown) => T): (raw: unknown) => T {
  const pool = new StringPool();
  return raw => pool.intern(project(raw));
}

/** Callbacks from the cache to the reconciler. */
export type ClusterCacheEvents = {
  /** Callback for any change of this node. */
  readonly touched: (nodeName: string) => void;
  readonly budgetChanged: (budget: Budget, change: Change<Budget>['type']) => void;
  /** Callback for a pod of a watched node that has changed or is gone. */
  readonly podChanged: (pod: Pod, nodeName: string, leaving: boolean) => void;
  /** Callback for an object of a namespaced kind in a namespace where it does not count. */
  readonly foreign: (request: MaintenanceRequest) => void;
};

/**
 * Callbacks for other observers than the reconciler. They are called in the middle of the watch, so
 * they only note the work to do.
 */
export type Listener = {
  readonly node?: (node: Node) => void;
  readonly request?: (request: MaintenanceRequest) => void;
  readonly budget?: (change: Change<Budget>) => void;
  readonly window?: (window: MaintenanceWindow) => void;
  /** Callback after everything that affects decisions has been read (again). */
  readonly complete?: () => void;
};
