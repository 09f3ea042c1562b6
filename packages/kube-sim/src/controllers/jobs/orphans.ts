import { type Cluster, type Controller, keyOf, split } from '../controller.ts';
import { controllerOf } from '../pods.ts';
import { isFinishedJob, isTracked } from './count.ts';
import { release, resource } from './pods.ts';

/**
 * Pods of Jobs that are deleted or finished: their finalizer is removed (syncOrphanPod of
 * job_controller.go).
 */

function reconcile(key: string, cluster: Cluster): undefined {
  const pod = cluster.store.get('pods', ...split(key));
  if (pod === undefined || !isTracked(pod)) return;
  const owner = controllerOf(pod);
  const found =
    owner?.kind === 'Job'
      ? cluster.store.get(resource, pod.metadata.namespace ?? '', owner.name)
      : undefined;
  const job = found?.metadata.uid === owner?.uid ? found : undefined;
  if (job === undefined || isFinishedJob(job)) release(cluster, pod);
}

export const jobOrphans: Controller = {
  name: 'job-controller-orphans',
  keysOf: ({ resource: changed, type, object }, { store }) => {
    if (changed === 'pods') return type !== 'removed' && isTracked(object) ? [keyOf(object)] : [];
    if (changed !== resource || (type !== 'removed' && !isFinishedJob(object))) return [];
    return store.indexed('pods', 'owner', object.metadata.uid).filter(isTracked).map(keyOf);
  },
  reconcile,
};
