import type { JsonObject } from '@drydock/apimachinery';
import { fitsSelector } from '@drydock/apimachinery';
import { placeOf, toleratesAll } from '../../actors/node-info.ts';
import { at, objects, part, type Stored, text } from '../../object.ts';
import { isDeleting, isFinished, nodeOf } from '../controller.ts';
import { templateOf } from '../workload.ts';

/**
 * Eligible nodes of a DaemonSet, and the nodes of its pods (daemon_controller.go,
 * util/daemonset_util.go), pure.
 */

/**
 * Tolerations that the controller adds to every pod of a DaemonSet
 * (AddOrUpdateDaemonPodTolerations).
 */
const tolerated: readonly (readonly [key: string, effect: string])[] = [
  ['node.kubernetes.io/not-ready', 'NoExecute'],
  ['node.kubernetes.io/unreachable', 'NoExecute'],
  ['node.kubernetes.io/disk-pressure', 'NoSchedule'],
  ['node.kubernetes.io/memory-pressure', 'NoSchedule'],
  ['node.kubernetes.io/pid-pressure', 'NoSchedule'],
  ['node.kubernetes.io/unschedulable', 'NoSchedule'],
];
const ofHostNetwork = ['node.kubernetes.io/network-unavailable', 'NoSchedule'] as const;

/** Returns the tolerations of its pods. */
export function tolerationsOf(set: Stored): readonly JsonObject[] {
  const spec = part(templateOf(set), 'spec');
  const own = objects(spec['tolerations']);
  const added = [...tolerated, ...(spec['hostNetwork'] === true ? [ofHostNetwork] : [])]
    .map(([key, effect]) => ({ key, operator: 'Exists', effect }))
    .filter(
      ({ key, effect }) =>
        !own.some(
          one => one['key'] === key && one['effect'] === effect && one['operator'] === 'Exists',
        ),
    );
  return [...own, ...added];
}

/** Returns the affinity by which the scheduler binds a pod to this node. */
export function affinityTo(node: string): JsonObject {
  return {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [
          { matchFields: [{ key: 'metadata.name', operator: 'In', values: [node] }] },
        ],
      },
    },
  };
}

/** Returns the node that a pod is for, bound or not. */
function targetOf(pod: Stored): string {
  const bound = nodeOf(pod);
  if (bound !== '') return bound;
  const required = part(
    pod,
    'spec',
    'affinity',
    'nodeAffinity',
    'requiredDuringSchedulingIgnoredDuringExecution',
  );
  const [term] = objects(required['nodeSelectorTerms']);
  const [field] = objects(term?.['matchFields']);
  const values = field?.['values'];
  return Array.isArray(values) && typeof values[0] === 'string' ? values[0] : '';
}

/**
 * Returns its pods by the node they are for, the oldest first; without finished pods that are
 * terminating.
 */
export function byTarget(pods: readonly Stored[]): ReadonlyMap<string, readonly Stored[]> {
  const found = new Map<string, Stored[]>();
  for (const pod of pods.filter(one => !(isFinished(one) && isDeleting(one))).toSorted(byAge))
    found.set(targetOf(pod), [...(found.get(targetOf(pod)) ?? []), pod]);
  return found;
}

/** Compares pods: bound before unbound, then old before young (podByCreationTimestampAndPhase). */
function byAge(one: Stored, other: Stored): number {
  return (
    Number(nodeOf(one) === '') - Number(nodeOf(other) === '') ||
    Date.parse(one.metadata.creationTimestamp) - Date.parse(other.metadata.creationTimestamp) ||
    (one.metadata.name < other.metadata.name ? -1 : 1)
  );
}

/** Whether the set wants a new pod on a node, and whether an existing one may stay. */
export type NodeFit = { readonly wants: boolean; readonly keeps: boolean };

/**
 * Returns a function that checks a node, so that the set's part is computed once. A taint that only
 * repels new pods evicts none (NodeShouldRunDaemonPod). Cordons are ignored.
 */
export function judgeOf(set: Stored): (node: Stored) => NodeFit {
  const spec = part(templateOf(set), 'spec');
  const tolerations = [...tolerationsOf(set)];
  const only = text(spec, 'nodeName');
  return node => {
    if ((only !== '' && only !== node.metadata.name) || !fitsSelector(spec, placeOf(node)))
      return { wants: false, keeps: false };
    const wants = toleratesAll({ tolerations }, node, ['NoSchedule', 'NoExecute']);
    return { wants, keeps: wants || toleratesAll({ tolerations }, node, ['NoExecute']) };
  };
}

export function surgeOf(set: Stored): JsonObject[string] {
  return at(set, 'spec', 'updateStrategy', 'rollingUpdate', 'maxSurge');
}
