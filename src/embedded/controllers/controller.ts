import type { JsonObject } from '../../core/json.ts';
import { timeText as instantText } from '../../core/time.ts';
import type { Stored } from '../object.ts';
import type { Resource, Store, StoreChange } from '../store/store.ts';

/** What became of a write: the object as it is stored, or what the API would have answered. */
export type Written =
  | { readonly kind: 'stored'; readonly object: Stored }
  | { readonly kind: 'refused'; readonly code: number; readonly reason: string; readonly message: string };

/** How an object is deleted. */
type Removal = {
  /** Seconds; the pod's own when left out. */
  readonly gracePeriodSeconds?: number;
  /** Only this one, and no successor of its name. */
  readonly uid?: string;
  /** What becomes of those that it owns: the finalizers say so when left out. */
  readonly propagationPolicy?: 'Background' | 'Foreground' | 'Orphan';
};

/** What a controller or an actor has to say of an object: an Event, once somebody writes it down. */
export type Note = {
  /** As in `kubectl get events`: `replicaset-controller`. */
  readonly by: string;
  readonly about: { readonly resource: Resource; readonly object: Stored };
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
  /** Of those that write events of the newer kind, with an action and without a count. */
  readonly action?: string;
};

/** Writes as the API makes them: admitted, defaulted, validated, versioned. */
export interface Writes {
  create(resource: Resource, draft: JsonObject): Written;
  /** Replaces the object, or its status alone; a resourceVersion in it must be the stored one. */
  update(resource: Resource, object: JsonObject, part?: 'status'): Written;
  remove(resource: Resource, namespace: string, name: string, removal?: Removal): Written;
}

/** What a controller or an actor works with. */
export type Cluster = {
  readonly store: Store;
  readonly writes: Writes;
  /** Milliseconds since the epoch. */
  readonly nowMs: () => number;
  /** Uniform in [0, 1), from the seed. */
  readonly random: () => number;
  /** Milliseconds until the client of a controller may write again; it always may when left out. */
  readonly waitMs?: (controller: string) => number;
  /** Notes an event about an object, as controllers do. */
  readonly record: (note: Note) => void;
};

/** One control loop: it is told of what may concern it, by key, and brings the world nearer to what it should be. */
export type Controller = {
  /** As in `kubectl get events`: `replicaset-controller`. */
  readonly name: string;
  /** What it writes to the object of this resource that it looks at needs no second look: it would find nothing more to do. */
  readonly settles?: Resource;
  /** Keys of the objects that a change may concern. */
  readonly keysOf: (change: StoreChange, cluster: Cluster) => readonly string[];
  /**
   * Looks at one key and writes what is to be written. The answer: look again after so many milliseconds, or, where its client had to wait in the middle of it, go on
   * with it before all others.
   */
  readonly reconcile: (key: string, cluster: Cluster) => number | 'waits' | undefined;
};

/** `namespace/name`, the key that most controllers use. */
export const keyOf = ({ metadata }: Stored): string => `${metadata.namespace ?? ''}/${metadata.name}`;

/** The two halves of such a key. */
export const split = (key: string): readonly [namespace: string, name: string] => {
  const cut = key.indexOf('/');
  return [key.slice(0, cut), key.slice(cut + 1)];
};

/** RFC 3339 with whole seconds, as metav1.Time is stored. */
export const timeText = (epochMilliseconds: number): string => instantText({ epochMilliseconds });
