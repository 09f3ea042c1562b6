import type { JsonObject } from '../../core/json.ts';
import { fitsSelector } from '../actors/affinity.ts';
import { toleratesAll } from '../actors/taints.ts';
import { at, objects, part, type Stored, strings, text } from '../object.ts';
import { type Cluster, type Controller, keyOf, split } from './controller.ts';
import { isAvailable, isDeleting, isFinished, isReady, nodeOf } from './pods.ts';
import { templateOf } from './replica-set.ts';
import { templateHash } from './template-hash.ts';
import { ownerKeys, podFrom, podsOf, report } from './workload.ts';

/** DaemonSets (k8s.io/kubernetes/pkg/controller/daemon): a pod on every node that it may run on. */

const resource = 'daemonsets.apps';
const owning = { apiVersion: 'apps/v1', kind: 'DaemonSet' };

/** What the controller lets every pod of a DaemonSet tolerate (AddOrUpdateDaemonPodTolerations). */
const tolerated: readonly (readonly [key: string, effect: string])[] = [
  ['node.kubernetes.io/not-ready', 'NoExecute'],
  ['node.kubernetes.io/unreachable', 'NoExecute'],
  ['node.kubernetes.io/disk-pressure', 'NoSchedule'],
  ['node.kubernetes.io/memory-pressure', 'NoSchedule'],
  ['node.kubernetes.io/pid-pressure', 'NoSchedule'],
  ['node.kubernetes.io/unschedulable', 'NoSchedule'],
];

const tolerations = (set: Stored): readonly JsonObject[] => [
  ...objects(at(set, 'spec', 'template', 'spec', 'tolerations')),
  ...tolerated.map(([key, effect]) => ({ key, operator: 'Exists', effect })),
];

/** Bound by the scheduler, to the one node that its affinity names. */
const affinityTo = (node: string): JsonObject => ({
  nodeAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: {
      nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: [node] }] }],
    },
  },
});

/** The node that a pod is for, bound or not. */
const targetOf = (pod: Stored): string => {
  const bound = nodeOf(pod);
  if (bound !== '') return bound;
  const required = part(pod, 'spec', 'affinity', 'nodeAffinity', 'requiredDuringSchedulingIgnoredDuringExecution');
  const [term] = objects(required['nodeSelectorTerms']);
  const [field] = objects(term?.['matchFields']);
  const values = field?.['values'];
  return Array.isArray(values) && typeof values[0] === 'string' ? values[0] : '';
};

/**
 * Whether the set wants a new pod on the node, and whether one that is there may stay: a taint that only keeps new pods away drives none out
 * (NodeShouldRunDaemonPod). Cordons do not matter to it.
 */
const fits = (set: Stored, node: Stored, effects: readonly string[]): boolean => {
  const pod = { ...part(templateOf(set), 'spec'), tolerations: [...tolerations(set)] };
  return fitsSelector(pod, node) && toleratesAll(pod, node, effects);
};
const wants = (set: Stored, node: Stored): boolean => fits(set, node, ['NoSchedule', 'NoExecute']);
const keeps = (set: Stored, node: Stored): boolean => fits(set, node, ['NoExecute']);

const make = (cluster: Cluster, set: Stored, node: string): void => {
  const metadata = { generateName: `${set.metadata.name}-`, labels: { 'controller-revision-hash': templateHash(templateOf(set)) } };
  const affinity = { ...part(templateOf(set), 'spec', 'affinity'), ...affinityTo(node) };
  const written = cluster.writes.create('pods', podFrom(set, owning, { metadata, spec: { affinity, tolerations: [...tolerations(set)] } }));
  const about = { resource, object: set };
  if (written.kind === 'stored') cluster.record(about, 'Normal', 'SuccessfulCreate', `Created pod: ${written.object.metadata.name}`);
  else cluster.record(about, 'Warning', 'FailedCreate', `Error creating: ${written.message}`);
};

const remove = (cluster: Cluster, set: Stored, { metadata }: Stored): void => {
  cluster.writes.remove('pods', metadata.namespace ?? '', metadata.name, { uid: metadata.uid });
  cluster.record({ resource, object: set }, 'Normal', 'SuccessfulDelete', `Deleted pod: ${metadata.name}`);
};

const byTarget = (pods: readonly Stored[]): ReadonlyMap<string, readonly Stored[]> => {
  const found = new Map<string, Stored[]>();
  for (const pod of pods) found.set(targetOf(pod), [...(found.get(targetOf(pod)) ?? []), pod]);
  return found;
};

const manage = (cluster: Cluster, set: Stored, nodes: readonly Stored[]): void => {
  const pods = byTarget(podsOf(cluster, set));
  const wanted = new Set(nodes.filter(node => wants(set, node)).map(({ metadata }) => metadata.name));
  for (const name of wanted) {
    const here = pods.get(name) ?? [];
    for (const pod of here) if (isFinished(pod) && !isDeleting(pod)) remove(cluster, set, pod);
    if (here.length === 0) make(cluster, set, name);
    // Of several on one node the oldest stays.
    const alive = here.filter(pod => !isDeleting(pod) && !isFinished(pod));
    for (const pod of alive.slice(1)) remove(cluster, set, pod);
  }
  const unwanted = new Set(nodes.filter(node => !keeps(set, node)).map(({ metadata }) => metadata.name));
  for (const [name, here] of pods) {
    if (unwanted.has(name)) for (const pod of here) if (!isDeleting(pod)) remove(cluster, set, pod);
  }
};

const statusOf = (cluster: Cluster, set: Stored, nodes: readonly Stored[]): JsonObject => {
  const pods = byTarget(podsOf(cluster, set));
  const minReady = Number(at(set, 'spec', 'minReadySeconds') ?? 0);
  const wanted = nodes.filter(node => wants(set, node)).map(({ metadata }) => pods.get(metadata.name) ?? []);
  const having = (is: (pod: Stored) => boolean): number => wanted.filter(here => here.some(is)).length;
  const misplaced = [...pods].filter(([name]) => nodes.some(node => node.metadata.name === name && !wants(set, node))).length;
  const available = having(pod => isAvailable(pod, minReady, cluster.nowMs()));
  return {
    currentNumberScheduled: having(pod => !isDeleting(pod)),
    numberMisscheduled: misplaced,
    desiredNumberScheduled: wanted.length,
    numberReady: having(isReady),
    observedGeneration: set.metadata.generation ?? 0,
    updatedNumberScheduled: having(() => true) || undefined,
    numberAvailable: available || undefined,
    numberUnavailable: wanted.length - available || undefined,
  };
};

const reconcile = (key: string, cluster: Cluster): number | undefined => {
  const [namespace, name] = split(key);
  const set = cluster.store.get(resource, namespace, name);
  if (set === undefined) return undefined;
  const nodes = cluster.store.list('nodes');
  if (set.metadata.deletionTimestamp === undefined) manage(cluster, set, nodes);
  const now = cluster.store.get(resource, namespace, name) ?? set;
  report(cluster, resource, now, statusOf(cluster, now, nodes));
  return undefined;
};

/** Labels and taints decide where its pods run; heartbeats do not. */
const shapeOf = (node: Stored): string =>
  JSON.stringify([strings(node.metadata.labels), at(node, 'spec', 'taints'), text(node, 'metadata', 'uid')]);

export const daemonSetController: Controller = {
  name: 'daemonset-controller',
  keysOf: (change, cluster) => {
    if (change.resource === resource) return change.type === 'removed' ? [] : [keyOf(change.object)];
    if (change.resource === 'pods') return ownerKeys(cluster, resource, 'DaemonSet', change.object);
    if (change.resource !== 'nodes') return [];
    if (change.type === 'changed' && shapeOf(change.before) === shapeOf(change.object)) return [];
    return cluster.store.list(resource).map(keyOf);
  },
  reconcile,
};
