import type { JsonObject } from '@drydock/apimachinery';
import { at, type Stored, text } from '../../object.ts';
import { type Cluster, type Controller, timeText } from '../controller.ts';
import {
  conditionOfNode,
  notReady,
  readiness,
  taintsOf,
  unreachable,
  withTaints,
} from './conditions.ts';

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
