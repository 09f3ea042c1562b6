import type { Stored } from '../object.ts';

/**
 * A resource with its group, as in RBAC and `kubectl get`: `pods`, `deployments.apps`. The store
 * ignores versions.
 */
export type Resource = string;

/** A change of one object, with its version; the `object` of a removal has that version too. */
export type StoreChange =
  | {
      readonly type: 'added';
      readonly resource: Resource;
      readonly version: number;
      readonly object: Stored;
    }
  | {
      readonly type: 'changed';
      readonly resource: Resource;
      readonly version: number;
      readonly object: Stored;
      readonly before: Stored;
    }
  | {
      readonly type: 'removed';
      readonly resource: Resource;
      readonly version: number;
      readonly object: Stored;
      readonly before: Stored;
    };

/**
 * Callback for every change, in order. The callback may write: its own writes are delivered after
 * all listeners have received this change.
 */
export type StoreListener = (change: StoreChange) => void;

/** Position in a collection: continue after this object, in the order of lists. */
export type Position = { readonly namespace: string; readonly name: string };

/**
 * Objects by resource, namespace and name, with one version counter over all of them, as in etcd.
 * Cluster-scoped objects are in the namespace ''. Objects are frozen and shared: never copied, not
 * even for a watch.
 *
 * This is the lowest layer, without checks: controllers and actors write through the registry
 * (packages/kube-sim/src/registry), which admits, defaults, validates and counts generations as the
 * API server does. They read and subscribe here.
 */
export interface Store {
  /** Version of the last change. */
  readonly version: number;
  get(resource: Resource, namespace: string, name: string): Stored | undefined;
  /**
   * Returns all objects, or those of one namespace, in the order of etcd's keys: by namespace and
   * name. Does not copy objects.
   */
  list(resource: Resource, namespace?: string): readonly Stored[];
  count(resource: Resource): number;
  /**
   * Returns objects by an index of their kind (`spec.nodeName` and `label` of pods, `owner` of
   * everything): in the order in which they were added under this value.
   */
  indexed(resource: Resource, index: string, value: string): readonly Stored[];
  /** Returns the collection at a version; undefined when that is no longer kept. */
  listAt(resource: Resource, version: number, namespace?: string): readonly Stored[] | undefined;
  /**
   * Returns the changes of a resource after a version, in order; undefined when they are no longer
   * kept.
   */
  changesAfter(resource: Resource, version: number): readonly StoreChange[] | undefined;
  /**
   * Subscribes to following changes of one resource (or of all); returns a function that
   * unsubscribes.
   */
  subscribe(listener: StoreListener, resource?: Resource): () => void;
  /** Stores an object under the next version, which is written into it. Frozen from here on. */
  put(resource: Resource, object: Stored): Stored;
  /** Removes an object; returns its last state for watchers, with the version of its removal. */
  remove(resource: Resource, namespace: string, name: string): Stored | undefined;
  /**
   * Drops the changes up to this version (all when left out): lists and watches from before it fail
   * with 410.
   */
  compact(version?: number): void;
}

export type Index = {
  /** Returns the source of the values: as long as it is the same, so are they. */
  readonly from: (object: Stored) => unknown;
  /** Returns the values under which an object is indexed; none when it is not in the index. */
  readonly of: (object: Stored) => readonly string[];
};
