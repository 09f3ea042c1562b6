import { memoizeOnObject } from '../memo.ts';
import { at, type OwnerReference, objects, type Stored, text } from '../object.ts';

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
