import { memoizeOnObject } from '../memo.ts';
import { at, type OwnerReference, objects, type Stored, text } from '../object.ts';

/** What controllers ask of a pod (k8s.io/kubernetes/pkg/api/v1/pod, pkg/controller/controller_utils.go). */

export const phaseOf = (pod: Stored): string => text(pod, 'status', 'phase') || 'Pending';

export const nodeOf = (pod: Stored): string => text(pod, 'spec', 'nodeName');

/** It is asked of every pod all the time. */
type Facts = {
  readonly isFinished: boolean;
  /** Since when it has been ready, in milliseconds; undefined when it is not. */
  readonly readySince: number | undefined;
};

const factsOf = memoizeOnObject((pod: Stored): Facts => {
  const phase = phaseOf(pod);
  return { isFinished: phase === 'Succeeded' || phase === 'Failed', readySince: findReadySince(pod) };
});

const findReadySince = (pod: Stored): number | undefined => {
  const condition = objects(at(pod, 'status', 'conditions')).find(({ type }) => type === 'Ready');
  if (condition?.['status'] !== 'True') return undefined;
  const since = Date.parse(text(condition, 'lastTransitionTime'));
  return Number.isNaN(since) ? 0 : since;
};

/** It has ended, well or badly. */
export const isFinished = (pod: Stored): boolean => factsOf(pod).isFinished;

export const isDeleting = ({ metadata }: Stored): boolean => metadata.deletionTimestamp !== undefined;

/** It counts as a replica: neither ended nor on its way out. */
export const isActive = (pod: Stored): boolean => !isFinished(pod) && !isDeleting(pod);

/** Since when it has been ready, in milliseconds; undefined when it is not. */
export const readySince = (pod: Stored): number | undefined => factsOf(pod).readySince;

export const isReady = (pod: Stored): boolean => readySince(pod) !== undefined;

/** Ready for long enough to count as available. */
export const isAvailable = (pod: Stored, minReadySeconds: number, nowMs: number): boolean => {
  const since = readySince(pod);
  return since !== undefined && (minReadySeconds === 0 || since + minReadySeconds * 1000 <= nowMs);
};

/** How long until another of the ready pods becomes available, in milliseconds; undefined when none will (FindMinNextPodAvailabilityCheck). */
export const nextAvailableMs = (pods: readonly Stored[], minReadySeconds: number, nowMs: number): number | undefined => {
  if (minReadySeconds === 0) return undefined;
  const waits = pods.flatMap(pod => {
    const since = readySince(pod);
    const left = since === undefined ? 0 : since + minReadySeconds * 1000 - nowMs;
    return left > 0 ? [left] : [];
  });
  return waits.length === 0 ? undefined : Math.min(...waits);
};

/** The reference to the managing controller. */
export const controllerOf = ({ metadata: { ownerReferences } }: Stored): OwnerReference | undefined => {
  if (ownerReferences === undefined) return undefined;
  for (const one of ownerReferences) if (one.controller === true) return one;
  return undefined;
};

/** The reference that a controller puts on what it makes (metav1.NewControllerRef). */
export const controllerReference = (apiVersion: string, kind: string, { metadata }: Stored): OwnerReference => ({
  apiVersion,
  kind,
  name: metadata.name,
  uid: metadata.uid,
  controller: true,
  blockOwnerDeletion: true,
});
