import type { JsonObject } from '@drydock/apimachinery';
import { timeText as instantText } from '@drydock/apimachinery';
import type { Stored } from '../object.ts';
import type { Resource, Store, StoreChange } from '../store/store.ts';

/** Result of a write: the stored object, or the API's error. */
export type Written =
  | { readonly kind: 'stored'; readonly object: Stored }
  | {
      readonly kind: 'refused';
      readonly code: number;
      readonly reason: string;
      readonly message: string;
    };

/** Options of a deletion. */
type Removal = {
  /** Grace period in seconds; the pod's own when left out. */
  readonly gracePeriodSeconds?: number;
  /** UID as precondition: a successor with the same name is not deleted. */
  readonly uid?: string;
  /** Treatment of dependents; by the finalizers when left out. */
  readonly propagationPolicy?: 'Background' | 'Foreground' | 'Orphan';
};

/** A note of a controller or an actor about an object, which may be stored as an Event. */
export type Note = {
  /** Source as in `kubectl get events`: `replicaset-controller`. */
  readonly by: string;
  readonly about: { readonly resource: Resource; readonly object: Stored };
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
  /** Action, for events of the newer kind, which have no count. */
  readonly action?: string;
};

/** Writes with the checks of the API: admission, defaulting, validation, versions. */
export interface Writes {
  create(resource: Resource, draft: JsonObject): Written;
  /** Replaces the object, or its status alone; a resourceVersion in it must be the stored one. */
  update(resource: Resource, object: JsonObject, part?: 'status'): Written;
  remove(resource: Resource, namespace: string, name: string, removal?: Removal): Written;
}

/** Environment of a controller or an actor. */
export type Cluster = {
  readonly store: Store;
  readonly writes: Writes;
  /** Returns milliseconds since the epoch. */
  readonly nowMs: () => number;
  /** Random source, uniform in [0, 1), from the seed. */
  readonly random: () => number;
  /**
   * Returns milliseconds until the client of a controller may write again; no limit when left out.
   */
  readonly waitMs?: (controller: string) => number;
  /** Records an event about an object. */
  readonly record: (note: Note) => void;
};

/** One control loop: receives keys of changed objects, and reconciles them. */
export type Controller = {
  /** Name as in `kubectl get events`: `replicaset-controller`. */
  readonly name: string;
  /** Resource whose own writes by this controller need no further reconcile. */
  readonly settles?: Resource;
  /** Returns the keys of the objects that a change may concern. */
  readonly keysOf: (change: StoreChange, cluster: Cluster) => readonly string[];
  /**
   * Reconciles one key. Returns milliseconds until a requeue, or 'waits' when its client's limit
   * interrupted it and it continues before all others.
   */
  readonly reconcile: (key: string, cluster: Cluster) => number | 'waits' | undefined;
};

/** Returns `namespace/name`, the key of most controllers. */
export function keyOf({ metadata }: Stored): string {
  return `${metadata.namespace ?? ''}/${metadata.name}`;
}

/** Splits such a key. */
export function split(key: string): readonly [namespace: string, name: string] {
  const cut = key.indexOf('/');
  return [key.slice(0, cut), key.slice(cut + 1)];
}

/** Returns RFC 3339 with whole seconds, as metav1.Time is stored. */
export function timeText(epochMilliseconds: number): string {
  return instantText({ epochMilliseconds });
}
