import type { JsonObject } from '@drydock/apimachinery';
import { at, objects, text } from '@drydock/kube-sim';

export function isFinished(pod: JsonObject): boolean {
  return ['Succeeded', 'Failed'].includes(text(pod, 'status', 'phase'));
}

export function isReady(object: JsonObject): boolean {
  return objects(at(object, 'status', 'conditions')).some(
    one => one['type'] === 'Ready' && one['status'] === 'True',
  );
}

/**
 * Returns whether a workload is not in its desired state, so that it creates or deletes pods on its
 * own.
 */
export function isInMotion(workload: JsonObject): boolean {
  const wanted = at(workload, 'spec', 'replicas') ?? (workload['kind'] === 'Job' ? undefined : 1);
  const generation = Number(at(workload, 'metadata', 'generation') ?? 0);
  if (workload['kind'] === 'Job') return at(workload, 'status', 'completionTime') === undefined;
  if (workload['kind'] === 'DaemonSet') {
    const counts = ['currentNumberScheduled', 'numberReady', 'updatedNumberScheduled'].map(field =>
      Number(at(workload, 'status', field) ?? 0),
    );
    return counts.some(
      count => count !== Number(at(workload, 'status', 'desiredNumberScheduled') ?? 0),
    );
  }
  const fields =
    workload['kind'] === 'ReplicaSet'
      ? ['replicas', 'readyReplicas']
      : ['replicas', 'readyReplicas', 'updatedReplicas'];
  const isSeen = Number(at(workload, 'status', 'observedGeneration') ?? 0) >= generation;
  return !isSeen || fields.some(field => Number(at(workload, 'status', field) ?? 0) !== wanted);
}
