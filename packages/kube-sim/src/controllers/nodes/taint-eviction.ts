import type { JsonObject } from '@drydock/apimachinery';
import { toleratedFor } from '../../actors/node-info.ts';
import { at, objects, part, type Stored, text } from '../../object.ts';
import type { StoreChange } from '../../store/store.ts';
import {
  type Cluster,
  type Controller,
  isDeleting,
  isFinished,
  keyOf,
  nodeOf,
  split,
  timeText,
} from '../controller.ts';
import { markDisrupted } from '../pod-conditions.ts';

/** Conditions and taints of nodes, as the node lifecycle controller reads and writes them. */

export const notReady = 'node.kubernetes.io/not-ready';
export const unreachable = 'node.kubernetes.io/unreachable';
const outOfService = 'node.kubernetes.io/out-of-service';

export function conditionOfNode(node: Stored, type: string): JsonObject | undefined {
  return objects(at(node, 'status', 'conditions')).find(one => one['type'] === type);
}

/** Returns `True`, `False` or `Unknown`; empty when the node has never reported it. */
export function readiness(node: Stored): string {
  return text(conditionOfNode(node, 'Ready'), 'status');
}

export function taintsOf(node: Stored): readonly JsonObject[] {
  return objects(at(node, 'spec', 'taints'));
}

export function hasTaint(node: Stored, key: string, effect?: string): boolean {
  return taintsOf(node).some(
    taint =>
      text(taint, 'key') === key && (effect === undefined || text(taint, 'effect') === effect),
  );
}

/** Returns the node with other taints; without the member when there are none. */
export function withTaints(node: Stored, taints: readonly JsonObject[]): JsonObject {
  const { taints: _before, ...rest } = part(node, 'spec');
  return { ...node, spec: { ...rest, ...(taints.length > 0 && { taints: [...taints] }) } };
}

/**
 * Updates of a node at every change: NoSchedule taints by condition and cordon, and the legacy
 * labels.
 */

const unschedulable = 'node.kubernetes.io/unschedulable';
const pressures: Readonly<Record<string, string>> = {
  MemoryPressure: 'node.kubernetes.io/memory-pressure',
  DiskPressure: 'node.kubernetes.io/disk-pressure',
  PIDPressure: 'node.kubernetes.io/pid-pressure',
  NetworkUnavailable: 'node.kubernetes.io/network-unavailable',
};
const owned = new Set([notReady, unreachable, unschedulable, ...Object.values(pressures)]);

/** Returns the taint keys for the conditions and the cordon (nodeConditionToTaintKeyStatusMap). */
function wantedKeys(node: Stored): readonly string[] {
  const ready = readiness(node);
  const key = ready === 'False' ? [notReady] : ready === 'Unknown' ? [unreachable] : [];
  const pressed = Object.entries(pressures).flatMap(([type, name]) =>
    text(conditionOfNode(node, type), 'status') === 'True' ? [name] : [],
  );
  return [
    ...key,
    ...pressed,
    ...(at(node, 'spec', 'unschedulable') === true ? [unschedulable] : []),
  ];
}

/**
 * Returns the wanted taints of the node, keeping those of other owners (doNoScheduleTaintingPass);
 * undefined when nothing changes.
 */
function taintsFor(node: Stored, now: string): readonly JsonObject[] | undefined {
  const present = taintsOf(node);
  const wanted = wantedKeys(node);
  const isOurs = (taint: JsonObject): boolean =>
    owned.has(text(taint, 'key')) && text(taint, 'effect') === 'NoSchedule';
  const kept = present.filter(taint => !isOurs(taint) || wanted.includes(text(taint, 'key')));
  const known = new Set(kept.filter(isOurs).map(taint => text(taint, 'key')));
  const added = wanted
    .filter(key => !known.has(key))
    .map(key => ({ key, effect: 'NoSchedule', timeAdded: now }));
  return added.length === 0 && kept.length === present.length ? undefined : [...kept, ...added];
}

/** Returns the legacy labels, which copy the current ones (labelReconcileInfo). */
function labelsFor({ metadata }: Stored): JsonObject | undefined {
  const labels = { ...metadata.labels };
  for (const [from, to] of [
    ['kubernetes.io/os', 'beta.kubernetes.io/os'],
    ['kubernetes.io/arch', 'beta.kubernetes.io/arch'],
  ] as const) {
    const value = labels[from];
    if (value !== undefined) labels[to] = value;
  }
  const same = Object.entries(labels).every(([key, value]) => metadata.labels?.[key] === value);
  return same ? undefined : labels;
}

function reconcile(name: string, cluster: Cluster): undefined {
  const node = cluster.store.get('nodes', '', name);
  if (node === undefined) return;
  const labels = labelsFor(node);
  const taints = taintsFor(node, timeText(cluster.nowMs()));
  if (labels === undefined && taints === undefined) return;
  const labelled =
    labels === undefined ? node : { ...node, metadata: { ...node.metadata, labels } };
  cluster.writes.update(
    'nodes',
    taints === undefined ? labelled : withTaints(labelled as Stored, taints),
  );
}

export const nodeLifecycleController: Controller = {
  name: 'node-controller',
  keysOf: ({ resource, type, object }) =>
    resource === 'nodes' && type !== 'removed' ? [object.metadata.name] : [],
  reconcile,
};

/**
 * Sets for how long kubelets may cache secrets and config maps, by the size of the cluster
 * (k8s.io/kubernetes/pkg/controller/ttl).
 */

const annotation = 'node.alpha.kubernetes.io/ttl';

/**
 * Ranges of the number of nodes, with the TTL in seconds: they overlap, so that a single node more
 * or less changes nothing.
 */
const steps = [
  { least: 0, most: 100, seconds: 0 },
  { least: 90, most: 500, seconds: 15 },
  { least: 450, most: 1000, seconds: 30 },
  { least: 900, most: 2000, seconds: 60 },
  { least: 1800, most: Number.POSITIVE_INFINITY, seconds: 300 },
] as const;

/** Returns the controller; it remembers the current range. */
export function nodeTtlController(): Controller {
  let step = 0;
  return {
    name: 'ttl-controller',
    keysOf: ({ resource, type, object }) =>
      resource === 'nodes' && type !== 'removed' ? [object.metadata.name] : [],
    reconcile: (name, { store, writes }) => {
      const count = store.count('nodes');
      while (count > (steps[step]?.most ?? count)) step += 1;
      while (count < (steps[step]?.least ?? 0)) step -= 1;
      const node = store.get('nodes', '', name);
      const wanted = String(steps[step]?.seconds ?? 0);
      if (node === undefined || node.metadata.annotations?.[annotation] === wanted)
        return undefined;
      const annotations = { ...node.metadata.annotations, [annotation]: wanted };
      writes.update('nodes', { ...node, metadata: { ...node.metadata, annotations } });
      return undefined;
    },
  };
}

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
