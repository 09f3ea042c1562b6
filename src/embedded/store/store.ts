import type { Stored } from '../object.ts';

/** A resource with its group, as in RBAC and `kubectl get`: `pods`, `deployments.apps`. The version does not matter to the store. */
export type Resource = string;

/** Something that happened to one object. `version` is the one at which it happened; `object` of a removal carries it too. */
export type StoreChange =
  | { readonly type: 'added'; readonly resource: Resource; readonly version: number; readonly object: Stored }
  | { readonly type: 'changed'; readonly resource: Resource; readonly version: number; readonly object: Stored; readonly before: Stored }
  | { readonly type: 'removed'; readonly resource: Resource; readonly version: number; readonly object: Stored; readonly before: Stored };

/** Is told of every change, in order. It may write: what it writes is told after everyone has heard of this change. */
export type StoreListener = (change: StoreChange) => void;

/** Where in a collection to go on: after this object, in the order of lists. */
export type Position = { readonly namespace: string; readonly name: string };

/**
 * Objects by resource, namespace and name, with one counter of versions over all of them, as etcd has it. Cluster-scoped objects are in
 * the namespace ''. Objects are frozen and shared: nobody copies them, not even for a watch.
 *
 * This is the lowest layer. It checks nothing: controllers and actors write through `Registry`, which admits, defaults, validates and
 * counts generations as the API server does. They read and subscribe here.
 */
export interface Store {
  /** The version of the last change. */
  readonly version: number;
  get(resource: Resource, namespace: string, name: string): Stored | undefined;
  /** All, or those of one namespace, in the order of etcd's keys: by namespace and name. Does not copy objects. */
  list(resource: Resource, namespace?: string): readonly Stored[];
  count(resource: Resource): number;
  /** Objects by an index of their kind (`spec.nodeName` and `label` of pods, `owner` of everything): in the order in which they came under this value. */
  indexed(resource: Resource, index: string, value: string): readonly Stored[];
  /** The collection as it was at a version; undefined when that has been forgotten. */
  listAt(resource: Resource, version: number, namespace?: string): readonly Stored[] | undefined;
  /** What has happened to a resource after a version, in order; undefined when that has been forgotten. */
  changesAfter(resource: Resource, version: number): readonly StoreChange[] | undefined;
  /** Told of the changes of one resource (or of all) from now on; the answer ends that. */
  subscribe(listener: StoreListener, resource?: Resource): () => void;
  /** Stores it under the next version, which is written into it. Frozen from here on. */
  put(resource: Resource, object: Stored): Stored;
  /** Removes it; the answer is the object as its watchers see it go: with the version of its removal. */
  remove(resource: Resource, namespace: string, name: string): Stored | undefined;
  /** Forgets what happened up to this version (up to now when left out): lists and watches from before it are refused with 410. */
  compact(version?: number): void;
}

export type Index = {
  /** What the values come from: as long as it is the same, so are they. */
  readonly from: (object: Stored) => unknown;
  /** Values under which an object is kept; none when it is not in the index. */
  readonly of: (object: Stored) => readonly string[];
};
