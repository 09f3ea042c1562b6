import type { JsonObject } from '@drydock/apimachinery';
import { toleratedFor } from '../../actors/taints.ts';
import { part, type Stored, text } from '../../object.ts';
import { type Cluster, type Controller, keyOf, split } from '../controller.ts';
import { markDisrupted } from '../pod-conditions.ts';
import { isDeleting, nodeOf } from '../pods.ts';
import { taintsOf } from './conditions.ts';

/**
 * Deletes pods that do not tolerate a NoExecute taint, at once or after their toleration
 * (k8s.io/kubernetes/pkg/controller/tainteviction).
 */

const by = 'taint-eviction-controller';

const why = {
  reason: 'DeletionByTaintManager',
  message: 'Taint manager: deleting due to NoExecute taint',
};

function executing(node: Stored): readonly JsonObject[] {
  return taintsOf(node).filter(taint => text(taint, 'effect') === 'NoExecute');
}

/**
 * Returns the seconds for which the pod tolerates all of the taints; undefined for forever
 * (getMinTolerationTime).
 */
function tolerance(pod: Stored, taints: readonly JsonObject[]): number | undefined {
  const times = taints.map(taint => toleratedFor(part(pod, 'spec'), taint));
  if (times.includes(undefined)) return 0;
  const ends = times.filter(time => typeof time === 'number');
  return ends.length === 0 ? undefined : Math.max(0, Math.min(...ends));
}

function say(cluster: Cluster, object: Stored, message: string): void {
  cluster.record({
    by,
    about: { resource: 'pods', object },
    type: 'Normal',
    reason: 'TaintManagerEviction',
    message,
  });
}

function evict(cluster: Cluster, pod: Stored): void {
  const { namespace = '', name, uid } = pod.metadata;
  say(cluster, pod, `Marking for deletion Pod ${namespace}/${name}`);
  markDisrupted(cluster, pod, why);
  cluster.writes.remove('pods', namespace, name, { uid });
}

/** A pod to delete, with the time. */
type Sentence = { readonly pod: Stored; readonly atMs: number };

/**
 * Pods to delete. The time of a pod counts from when it was first seen with a taint that it does
 * not tolerate forever. Later taints do not shorten it, as in the real controller.
 */
class PendingEvictions {
  readonly #sentences = new Map<string, Sentence>();

  has(key: string): boolean {
    return this.#sentences.has(key);
  }

  look(key: string, cluster: Cluster): number | undefined {
    const pod = cluster.store.get('pods', ...split(key));
    const known = this.#sentences.get(key);
    if (known !== undefined && known.pod.metadata.uid !== pod?.metadata.uid)
      this.#cancel(key, cluster);
    const node = pod && cluster.store.get('nodes', '', nodeOf(pod));
    if (pod === undefined || node === undefined) return undefined;
    const taints = executing(node);
    const seconds = tolerance(pod, taints);
    if (taints.length === 0 || seconds === undefined) return this.#cancel(key, cluster);
    const atMs =
      seconds === 0
        ? cluster.nowMs()
        : (this.#sentences.get(key)?.atMs ?? cluster.nowMs() + seconds * 1000);
    if (atMs > cluster.nowMs()) {
      this.#sentences.set(key, { pod, atMs });
      return atMs - cluster.nowMs();
    }
    this.#sentences.delete(key);
    if (!isDeleting(pod)) evict(cluster, pod);
    return undefined;
  }

  #cancel(key: string, cluster: Cluster): undefined {
    const known = this.#sentences.get(key);
    if (known === undefined) return;
    this.#sentences.delete(key);
    say(cluster, known.pod, `Cancelling deletion of Pod ${key}`);
  }
}

/** Returns the controller; it remembers the pods to delete. */
export function taintEvictionController(): Controller {
  const sentences = new PendingEvictions();
  return {
    name: by,
    keysOf: (change, { store }) => {
      const { resource, type, object } = change;
      if (resource === 'pods') {
        if (type === 'removed') return sentences.has(keyOf(object)) ? [keyOf(object)] : [];
        const isNews = type === 'added' || nodeOf(change.before) !== nodeOf(object);
        const node =
          isNews && nodeOf(object) !== '' ? store.get('nodes', '', nodeOf(object)) : undefined;
        return node !== undefined && executing(node).length > 0 ? [keyOf(object)] : [];
      }
      if (resource !== 'nodes' || type === 'removed') return [];
      const before = type === 'changed' ? executing(change.before) : [];
      if (JSON.stringify(before) === JSON.stringify(executing(object))) return [];
      return store.indexed('pods', 'spec.nodeName', object.metadata.name).map(keyOf);
    },
    reconcile: (key, cluster) => sentences.look(key, cluster),
  };
}
