import { timeText as instantText, type JsonObject } from '@drydock/apimachinery';
import { at, memoizeOnObject, type OwnerReference, objects, type Stored, text } from '../object.ts';
import type { Resource, Store, StoreChange } from '../store/store.ts';

/**
 * Facts about a pod for controllers (k8s.io/kubernetes/pkg/api/v1/pod,
 * pkg/controller/controller_utils.go).
 */

export function phaseOf(pod: Stored): string {
  return text(pod, 'status', 'phase') || 'Pending';
}

export function nodeOf(pod: Stored): string {
  return text(pod, 'spec', 'nodeName');
}

/** Cached facts, because they are read for every pod all the time. */
type Facts = {
  readonly isFinished: boolean;
  /** Time since which it has been ready, in milliseconds; undefined when it is not. */
  readonly readySince: number | undefined;
};

const factsOf = memoizeOnObject((pod: Stored): Facts => {
  const phase = phaseOf(pod);
  return {
    isFinished: phase === 'Succeeded' || phase === 'Failed',
    readySince: findReadySince(pod),
  };
});

function findReadySince(pod: Stored): number | undefined {
  const condition = objects(at(pod, 'status', 'conditions')).find(({ type }) => type === 'Ready');
  if (condition?.['status'] !== 'True') return undefined;
  const since = Date.parse(text(condition, 'lastTransitionTime'));
  return Number.isNaN(since) ? 0 : since;
}

/** Returns whether it has ended, successfully or not. */
export function isFinished(pod: Stored): boolean {
  return factsOf(pod).isFinished;
}

export function isDeleting({ metadata }: Stored): boolean {
  return metadata.deletionTimestamp !== undefined;
}

/** Returns whether it counts as a replica: neither ended nor terminating. */
export function isActive(pod: Stored): boolean {
  return !isFinished(pod) && !isDeleting(pod);
}

/** Returns the time since which it has been ready, in milliseconds; undefined when it is not. */
export function readySince(pod: Stored): number | undefined {
  return factsOf(pod).readySince;
}

export function isReady(pod: Stored): boolean {
  return readySince(pod) !== undefined;
}

/** Returns whether it has been ready for long enough to count as available. */
export function isAvailable(pod: Stored, minReadySeconds: number, nowMs: number): boolean {
  const since = readySince(pod);
  return since !== undefined && (minReadySeconds === 0 || since + minReadySeconds * 1000 <= nowMs);
}

/**
 * Returns milliseconds until another of the ready pods becomes available; undefined when none will
 * (FindMinNextPodAvailabilityCheck).
 */
export function nextAvailableMs(
  pods: readonly Stored[],
  minReadySeconds: number,
  nowMs: number,
): number | undefined {
  if (minReadySeconds === 0) return undefined;
  const waits = pods.flatMap(pod => {
    const since = readySince(pod);
    const left = since === undefined ? 0 : since + minReadySeconds * 1000 - nowMs;
    return left > 0 ? [left] : [];
  });
  return waits.length === 0 ? undefined : Math.min(...waits);
}

/** Returns the reference to the managing controller. */
export function controllerOf({
  metadata: { ownerReferences },
}: Stored): OwnerReference | undefined {
  if (ownerReferences === undefined) return undefined;
  for (const one of ownerReferences) if (one.controller === true) return one;
  return undefined;
}

/** Returns the reference that a controller puts on its objects (metav1.NewControllerRef). */
export function controllerReference(
  apiVersion: string,
  kind: string,
  { metadata }: Stored,
): OwnerReference {
  return {
    apiVersion,
    kind,
    name: metadata.name,
    uid: metadata.uid,
    controller: true,
    blockOwnerDeletion: true,
  };
}

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
