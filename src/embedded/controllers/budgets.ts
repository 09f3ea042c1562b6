import { at, part, type Stored } from '../object.ts';
import { type Cluster, type Controller, keyOf, split, timeText } from './controller.ts';
import { budgetStatus, type ScaleOf } from './disruption.ts';
import { controllerOf } from './pods.ts';
import { picks } from './selectors.ts';
import { replicasOf, report } from './workload.ts';

/** The disruption controller: keeps the status of every PodDisruptionBudget. */

const resource = 'poddisruptionbudgets.policy';

const scalable: Readonly<Record<string, string>> = { ReplicaSet: 'replicasets.apps', StatefulSet: 'statefulsets.apps' };

/** The scale of what controls a pod; of a replica set, that of its Deployment (the finders of disruption.go). */
const scaleOf =
  (cluster: Cluster): ScaleOf =>
  pod => {
    const reference = controllerOf(pod);
    const found = reference && cluster.store.get(scalable[reference.kind] ?? '', pod.metadata.namespace ?? '', reference.name);
    if (reference === undefined || found === undefined || found.metadata.uid !== reference.uid) return undefined;
    const above = controllerOf(found);
    const deployment =
      above?.kind === 'Deployment' ? cluster.store.get('deployments.apps', pod.metadata.namespace ?? '', above.name) : undefined;
    const scaled = deployment !== undefined && deployment.metadata.uid === above?.uid ? deployment : found;
    return { uid: scaled.metadata.uid, replicas: replicasOf(scaled) };
  };

const reconcile = (key: string, cluster: Cluster): number | undefined => {
  const [namespace, name] = split(key);
  const budget = cluster.store.get(resource, namespace, name);
  if (budget === undefined) return undefined;
  const pods = cluster.store.list('pods', namespace).filter(pod => picks(part(budget, 'spec')['selector'], pod));
  const { status, againMs } = budgetStatus(budget, pods, scaleOf(cluster), timeText(cluster.nowMs()));
  const written = report(cluster, resource, budget, status);
  // A lost race: somebody has been granted a disruption meanwhile.
  if (written?.kind === 'refused') return 5;
  return againMs === undefined ? undefined : Math.max(0, againMs - cluster.nowMs());
};

const budgetsOver = (cluster: Cluster, pod: Stored): readonly string[] =>
  cluster.store
    .list(resource, pod.metadata.namespace ?? '')
    .filter(budget => picks(part(budget, 'spec')['selector'], pod))
    .map(keyOf);

/** What of a pod matters to budgets. */
const shapeOf = (pod: Stored): string =>
  JSON.stringify([pod.metadata.labels, pod.metadata.deletionTimestamp, at(pod, 'status', 'phase'), at(pod, 'status', 'conditions')]);

export const disruptionController: Controller = {
  name: 'controllermanager',
  keysOf: (change, cluster) => {
    const { object } = change;
    if (change.resource === resource) return change.type === 'removed' ? [] : [keyOf(object)];
    if (change.resource === 'pods') {
      if (change.type === 'changed' && shapeOf(change.before) === shapeOf(object)) return [];
      return [...new Set([...(change.type === 'changed' ? budgetsOver(cluster, change.before) : []), ...budgetsOver(cluster, object)])];
    }
    const scales =
      change.resource === 'deployments.apps' || change.resource === 'statefulsets.apps' || change.resource === 'replicasets.apps';
    if (!scales || (change.type === 'changed' && replicasOf(change.before) === replicasOf(object))) return [];
    return cluster.store.list(resource, object.metadata.namespace ?? '').map(keyOf);
  },
  reconcile,
};
