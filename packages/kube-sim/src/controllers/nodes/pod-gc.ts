import type { Stored } from '../../object.ts';
import type { StoreChange } from '../../store/store.ts';
import type { Cluster, Controller } from '../controller.ts';
import { markDisrupted } from '../pod-conditions.ts';
import { isDeleting, isFinished, nodeOf } from '../pods.ts';
import { hasTaint, outOfService, readiness } from './conditions.ts';

/** Deletes pods that no kubelet will ever stop (k8s.io/kubernetes/pkg/controller/podgc). */

/** Interval of checks in milliseconds (gcCheckPeriod). */
const periodMs = 20_000;
/**
 * Milliseconds for which a node must be gone, because it might return under its name
 * (quarantineTime).
 */
const quarantineMs = 40_000;

const orphaned = { reason: 'DeletionByPodGC', message: 'PodGC: node no longer exists' };

function podsOf({ store }: Cluster, node: string): readonly Stored[] {
  return store.indexed('pods', 'spec.nodeName', node);
}

function remove({ writes }: Cluster, { metadata }: Stored): void {
  writes.remove('pods', metadata.namespace ?? '', metadata.name, {
    gracePeriodSeconds: 0,
    uid: metadata.uid,
  });
}

function bury(cluster: Cluster, pod: Stored): void {
  if (!isFinished(pod)) markDisrupted(cluster, pod, orphaned, { phase: 'Failed' });
  remove(cluster, pod);
}

function fail(cluster: Cluster, pod: Stored): void {
  const status = { ...(pod['status'] as object), phase: 'Failed' };
  if (!isFinished(pod)) cluster.writes.update('pods', { ...pod, status }, 'status');
  remove(cluster, pod);
}

/** Missing nodes with the time of their detection, and nodes that are out of service. */
class OrphanedPods {
  /** Detection by name; undefined until the next check, from which the quarantine runs. */
  readonly #missing = new Map<string, number | undefined>();
  readonly #retired = new Set<string>();

  get isEmpty(): boolean {
    return this.#missing.size + this.#retired.size === 0;
  }

  note({ resource, type, object }: StoreChange, { store }: Cluster): void {
    if (resource === 'pods' && type !== 'removed') this.#noteNodeOf(object, store);
    if (resource !== 'nodes') return;
    const { name } = object.metadata;
    if (type === 'removed') this.#missing.set(name, undefined);
    else this.#missing.delete(name);
    if (type !== 'removed' && hasTaint(object, outOfService)) this.#retired.add(name);
    else this.#retired.delete(name);
  }

  look(cluster: Cluster): void {
    for (const [node, since] of this.#missing) {
      const pods = podsOf(cluster, node);
      if (pods.length === 0) this.#missing.delete(node);
      else if (since === undefined) this.#missing.set(node, cluster.nowMs());
      else if (cluster.nowMs() >= since + quarantineMs) for (const pod of pods) bury(cluster, pod);
    }
    for (const name of this.#retired) {
      const node = cluster.store.get('nodes', '', name);
      if (node === undefined || readiness(node) === 'True') continue;
      for (const pod of podsOf(cluster, name)) if (isDeleting(pod)) fail(cluster, pod);
    }
  }

  #noteNodeOf(pod: Stored, store: Cluster['store']): void {
    const node = nodeOf(pod);
    if (node !== '' && !this.#missing.has(node) && store.get('nodes', '', node) === undefined)
      this.#missing.set(node, undefined);
  }
}

/** Returns the controller; it checks only while there is something to wait for. */
export function podGarbageCollector(): Controller {
  const list = new OrphanedPods();
  let running = false;
  return {
    name: 'pod-garbage-collector',
    keysOf: (change, cluster) => {
      list.note(change, cluster);
      if (running || list.isEmpty) return [];
      running = true;
      return ['pods'];
    },
    reconcile: (_key, cluster) => {
      list.look(cluster);
      running = !list.isEmpty;
      return running ? periodMs - (cluster.nowMs() % periodMs) : undefined;
    },
  };
}
