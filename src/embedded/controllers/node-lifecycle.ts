import type { JsonObject } from '../../core/json.ts';
import { toleratedFor } from '../actors/taints.ts';
import { at, objects, part, type Stored, text } from '../object.ts';
import { type Cluster, type Controller, timeText } from './controller.ts';
import { isDeleting } from './pods.ts';

/** What the node controllers put on nodes: taints by condition and cordon, evictions of pods that do not tolerate them, the small labels. */

type Taint = { readonly key: string; readonly effect: string };

const notReady = 'node.kubernetes.io/not-ready';
const unreachable = 'node.kubernetes.io/unreachable';
const unschedulable = 'node.kubernetes.io/unschedulable';
const pressures: Readonly<Record<string, string>> = {
  MemoryPressure: 'node.kubernetes.io/memory-pressure',
  DiskPressure: 'node.kubernetes.io/disk-pressure',
  PIDPressure: 'node.kubernetes.io/pid-pressure',
  NetworkUnavailable: 'node.kubernetes.io/network-unavailable',
};
const owned = new Set([notReady, unreachable, unschedulable, ...Object.values(pressures)]);

const statusOf = (node: Stored, type: string): string =>
  text(
    objects(at(node, 'status', 'conditions')).find(one => one['type'] === type),
    'status',
  );

/** The taints that conditions and cordon call for (nodeConditionToTaintKeyStatusMap). */
const wantedTaints = (node: Stored): readonly Taint[] => {
  const ready = statusOf(node, 'Ready');
  const key = ready === 'True' ? undefined : ready === 'Unknown' ? unreachable : notReady;
  return [
    ...(at(node, 'spec', 'unschedulable') === true ? [{ key: unschedulable, effect: 'NoSchedule' }] : []),
    ...(key === undefined
      ? []
      : [
          { key, effect: 'NoSchedule' },
          { key, effect: 'NoExecute' },
        ]),
    ...Object.entries(pressures).flatMap(([type, name]) => (statusOf(node, type) === 'True' ? [{ key: name, effect: 'NoSchedule' }] : [])),
  ];
};

const idOf = (taint: JsonObject): string => `${text(taint, 'key')}:${text(taint, 'effect')}`;

/** The node's taints as they should be: those of others stay where they are. NoExecute taints carry the time since when. */
const taintsFor = (node: Stored, now: string): readonly JsonObject[] | undefined => {
  const present = objects(at(node, 'spec', 'taints'));
  const wanted = wantedTaints(node);
  const ids = new Set(wanted.map(({ key, effect }) => `${key}:${effect}`));
  const kept = present.filter(taint => !owned.has(text(taint, 'key')) || ids.has(idOf(taint)));
  const known = new Set(kept.map(idOf));
  const added = wanted
    .filter(({ key, effect }) => !known.has(`${key}:${effect}`))
    .map(taint => (taint.effect === 'NoExecute' || taint.key === unschedulable ? { ...taint, timeAdded: now } : { ...taint }));
  return added.length === 0 && kept.length === present.length ? undefined : [...kept, ...added];
};

/** What the ttl and the label controllers keep on every node. */
const ttl = 'node.alpha.kubernetes.io/ttl';

const metadataFor = ({ metadata }: Stored): JsonObject | undefined => {
  const labels = { ...metadata.labels };
  for (const [from, to] of [
    ['kubernetes.io/os', 'beta.kubernetes.io/os'],
    ['kubernetes.io/arch', 'beta.kubernetes.io/arch'],
  ] as const) {
    const value = labels[from];
    if (value !== undefined) labels[to] = value;
  }
  const same = metadata.annotations?.[ttl] === '0' && JSON.stringify(labels) === JSON.stringify(metadata.labels ?? {});
  return same ? undefined : { labels, annotations: { ...metadata.annotations, [ttl]: '0' } };
};

/** Pods that do not tolerate a NoExecute taint are deleted, at once or when their time is over. The answer: when to look again, in ms. */
const evict = (cluster: Cluster, node: Stored): number | undefined => {
  const taints = objects(at(node, 'spec', 'taints')).filter(taint => text(taint, 'effect') === 'NoExecute');
  let again: number | undefined;
  if (taints.length === 0) return undefined;
  for (const pod of cluster.store.indexed('pods', 'spec.nodeName', node.metadata.name)) {
    if (isDeleting(pod)) continue;
    const left = timeLeft(pod, taints, cluster.nowMs());
    if (left === undefined) continue;
    if (left > 0) again = Math.min(again ?? left, left);
    else {
      const { namespace = '', name, uid } = pod.metadata;
      cluster.record({ resource: 'pods', object: pod }, 'Normal', 'TaintManagerEviction', `Marking for deletion Pod ${namespace}/${name}`);
      cluster.writes.remove('pods', namespace, name, { uid });
    }
  }
  return again;
};

/** Milliseconds until the pod has to go; undefined when it may stay for ever. */
const timeLeft = (pod: Stored, taints: readonly JsonObject[], nowMs: number): number | undefined => {
  const ends = taints.flatMap(taint => {
    const tolerated = toleratedFor(part(pod, 'spec'), taint);
    if (tolerated === 'for ever') return [];
    const since = Date.parse(text(taint, 'timeAdded'));
    return [(Number.isNaN(since) ? nowMs : since) + (tolerated ?? 0) * 1000 - nowMs];
  });
  return ends.length === 0 ? undefined : Math.min(...ends);
};

const reconcile = (name: string, cluster: Cluster): number | undefined => {
  const node = cluster.store.get('nodes', '', name);
  if (node === undefined) return undefined;
  const metadata = metadataFor(node);
  const taints = taintsFor(node, timeText(cluster.nowMs()));
  if (metadata !== undefined || taints !== undefined) {
    const spec = part(node, 'spec');
    const { taints: _before, ...rest } = spec;
    cluster.writes.update('nodes', {
      ...node,
      metadata: { ...node.metadata, ...metadata },
      ...(taints !== undefined && { spec: { ...rest, ...(taints.length > 0 && { taints: [...taints] }) } }),
    });
  }
  return evict(cluster, cluster.store.get('nodes', '', name) ?? node);
};

export const nodeLifecycleController: Controller = {
  name: 'node-controller',
  keysOf: ({ resource, type, object }) => {
    if (type === 'removed') return [];
    if (resource === 'nodes') return [object.metadata.name];
    const node = resource === 'pods' && type === 'added' ? text(object, 'spec', 'nodeName') : '';
    return node === '' ? [] : [node];
  },
  reconcile,
};

/** Pods of nodes that are no more are taken away (podgc). */
export const podGarbageCollector: Controller = {
  name: 'pod-garbage-collector',
  keysOf: ({ resource, type, object }) => (resource === 'nodes' && type === 'removed' ? [object.metadata.name] : []),
  reconcile: (name, cluster) => {
    if (cluster.store.get('nodes', '', name) !== undefined) return undefined;
    for (const { metadata } of cluster.store.indexed('pods', 'spec.nodeName', name)) {
      cluster.writes.remove('pods', metadata.namespace ?? '', metadata.name, { gracePeriodSeconds: 0, uid: metadata.uid });
    }
    return undefined;
  },
};
