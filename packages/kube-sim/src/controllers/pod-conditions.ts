import type { JsonObject } from '@drydock/apimachinery';
import { at, objects, part, type Stored } from '../object.ts';
import { type Cluster, timeText } from './controller.ts';

/**
 * Replaces a condition of a pod, and keeps its transition time when the status is unchanged
 * (UpdatePodCondition).
 */
export function withPodCondition(
  pod: Stored,
  condition: JsonObject,
  now: string,
): readonly JsonObject[] {
  const conditions = objects(at(pod, 'status', 'conditions'));
  const before = conditions.find(({ type }) => type === condition['type']);
  const same = before?.['status'] === condition['status'];
  const after = {
    ...(before !== undefined && condition['reason'] === undefined && before),
    ...condition,
    lastProbeTime: null,
    lastTransitionTime: same ? before?.['lastTransitionTime'] : now,
  };
  return before === undefined
    ? [...conditions, after]
    : conditions.map(one => (one === before ? after : one));
}

/** Records in the pod why it is about to be deleted: condition DisruptionTarget. */
export function markDisrupted(
  cluster: Cluster,
  pod: Stored,
  why: { readonly reason: string; readonly message: string },
  more: JsonObject = {},
): void {
  const observedGeneration = pod.metadata.generation;
  const condition = {
    type: 'DisruptionTarget',
    status: 'True',
    ...(observedGeneration !== undefined && { observedGeneration }),
    ...why,
  };
  const conditions = [...withPodCondition(pod, condition, timeText(cluster.nowMs()))];
  cluster.writes.update(
    'pods',
    { ...pod, status: { ...part(pod, 'status'), ...more, conditions } },
    'status',
  );
}
