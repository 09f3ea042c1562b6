import { at, type Stored, text } from '../../object.ts';
import { conditionOf, conditionsOf } from '../conditions.ts';
import { type Cluster, type Controller, keyOf, split } from '../controller.ts';

/**
 * Deletes finished Jobs after their time to live
 * (k8s.io/kubernetes/pkg/controller/ttlafterfinished).
 */

const resource = 'jobs.batch';

function endedMs(job: Stored): number | undefined {
  const end = ['Complete', 'Failed']
    .map(type => conditionOf(conditionsOf(job), type))
    .find(one => one?.['status'] === 'True');
  return end === undefined ? undefined : Date.parse(text(end, 'lastTransitionTime'));
}

function reconcile(key: string, cluster: Cluster): number | undefined {
  const job = cluster.store.get(resource, ...split(key));
  const seconds = at(job, 'spec', 'ttlSecondsAfterFinished');
  const end = job && endedMs(job);
  if (
    job === undefined ||
    job.metadata.deletionTimestamp !== undefined ||
    typeof seconds !== 'number' ||
    end === undefined
  )
    return undefined;
  const left = end + seconds * 1000 - cluster.nowMs();
  if (left > 0) return left;
  const { namespace = '', name, uid } = job.metadata;
  cluster.writes.remove(resource, namespace, name, { uid, propagationPolicy: 'Foreground' });
  return undefined;
}

export const ttlAfterFinished: Controller = {
  name: 'ttl-after-finished-controller',
  keysOf: ({ resource: changed, type, object }) =>
    changed === resource && type !== 'removed' ? [keyOf(object)] : [],
  reconcile,
};
