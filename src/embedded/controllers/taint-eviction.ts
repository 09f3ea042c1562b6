import type { JsonObject } from '../../core/json.ts';
import { toleratedFor } from '../actors/taints.ts';
import { part, type Stored, text } from '../object.ts';
import { type Cluster, type Controller, keyOf, split } from './controller.ts';
import { taintsOf } from './node-conditions.ts';
import { markDisrupted } from './pod-conditions.ts';
import { isDeleting, nodeOf } from './pods.ts';

/** Pods that do not tolerate a NoExecute taint go, at once or when their time is over (k8s.io/kubernetes/pkg/controller/tainteviction). */

const by = 'taint-eviction-controller';

const why = { reason: 'DeletionByTaintManager', message: 'Taint manager: deleting due to NoExecute taint' };

const executing = (node: Stored): readonly JsonObject[] => taintsOf(node).filter(taint => text(taint, 'effect') === 'NoExecute');

/** Seconds that the pod tolerates all of the taints; undefined when it tolerates them for ever (getMinTolerationTime). */
const tolerance = (pod: Stored, taints: readonly JsonObject[]): number | undefined => {
  const times = taints.map(taint => toleratedFor(part(pod, 'spec'), taint));
  if (times.includes(undefined)) return 0;
  const ends = times.filter(time => typeof time === 'number');
  return ends.length === 0 ? undefined : Math.max(0, Math.min(...ends));
};

const say = (cluster: Cluster, object: Stored, message: string): void =>
  cluster.record({ by, about: { resource: 'pods', object }, type: 'Normal', reason: 'TaintManagerEviction', message });

const evict = (cluster: Cluster, pod: Stored): void => {
  const { namespace = '', name, uid } = pod.metadata;
  say(cluster, pod, `Marking for deletion Pod ${namespace}/${name}`);
  markDisrupted(cluster, pod, why);
  cluster.writes.remove('pods', namespace, name, { uid });
};

/** The time of a pod runs from when it was first seen with a taint that it does not tolerate for ever. */
export const taintEvictionController = (): Controller => {
  const since = new Map<string, number>();

  const forgive = (cluster: Cluster, pod: Stored): undefined => {
    if (since.delete(pod.metadata.uid)) say(cluster, pod, `Cancelling deletion of Pod ${keyOf(pod)}`);
  };

  const reconcile = (key: string, cluster: Cluster): number | undefined => {
    const pod = cluster.store.get('pods', ...split(key));
    const node = pod && cluster.store.get('nodes', '', nodeOf(pod));
    if (pod === undefined || node === undefined || isDeleting(pod)) return undefined;
    const taints = executing(node);
    const seconds = tolerance(pod, taints);
    if (taints.length === 0 || seconds === undefined) return forgive(cluster, pod);
    const begun = since.get(pod.metadata.uid) ?? cluster.nowMs();
    const left = begun + seconds * 1000 - cluster.nowMs();
    if (left > 0) {
      since.set(pod.metadata.uid, begun);
      return left;
    }
    since.delete(pod.metadata.uid);
    evict(cluster, pod);
    return undefined;
  };

  return {
    name: by,
    keysOf: (change, { store }) => {
      const { resource, type, object } = change;
      if (resource === 'pods') {
        if (type === 'removed') since.delete(object.metadata.uid);
        const isNews = type === 'added' || (type === 'changed' && nodeOf(change.before) !== nodeOf(object));
        const node = isNews && nodeOf(object) !== '' ? store.get('nodes', '', nodeOf(object)) : undefined;
        return node !== undefined && executing(node).length > 0 ? [keyOf(object)] : [];
      }
      if (resource !== 'nodes' || type === 'removed') return [];
      const before = type === 'changed' ? executing(change.before) : [];
      if (JSON.stringify(before) === JSON.stringify(executing(object))) return [];
      return store.indexed('pods', 'spec.nodeName', object.metadata.name).map(keyOf);
    },
    reconcile,
  };
};
