import type { JsonObject } from '@drydock/apimachinery';
import { at, objects, part, type Stored, text } from '../../object.ts';
import { type Cluster, type Controller, timeText } from '../controller.ts';

/** Conditions and taints of nodes, as the node lifecycle controller reads and writes them. */

export const notReady = 'node.kubernetes.io/not-ready';
export const unreachable = 'node.kubernetes.io/unreachable';
export const outOfService = 'node.kubernetes.io/out-of-service';

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
