import type { JsonObject } from '@drydock/apimachinery';
import { at, objects, part, text } from '@drydock/kube-sim';
import { plus, requestsOf } from '@drydock/kube-sim/actors';
import { controllerRef, keyOf, nameOf, namespaceOf, uidOf } from '../snapshot/workloads.ts';
import { busyNodes, podKinds, type RelevantPods, relevantPodsOf } from './relevant-pods.ts';
import { isFinished } from './workload-state.ts';

/**
 * Reduces a large cluster to the relevant pods (relevant-pods.ts), with their whole workloads and
 * budgets. All other pods of a node are replaced by a single one with the sum of their requests.
 */

/** Namespace of the replacement pods. */
const space = 'drydock-rehearsal';

/** Returns a pod with the sum of these pods' requests, without an owner, which is never moved. */
function stopgap(node: string, pods: readonly JsonObject[]): JsonObject {
  const { pods: count = 0, ...sum } = pods
    .map(pod => requestsOf(part(pod, 'spec')))
    .reduce(plus, {});
  const requests = Object.fromEntries(
    Object.entries({ ...sum, pods: count - 1 }).map(([name, value]) => [name, String(value)]),
  );
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `rest-of-${node}`, namespace: space, uid: `rest-of-${node}` },
    spec: {
      nodeName: node,
      containers: [{ name: 'rest', image: 'rest', resources: { requests } }],
      tolerations: [{ operator: 'Exists' }],
    },
    status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
  };
}

/** Returns a DaemonSet for these nodes only, where not all of its pods are included. */
export function narrowed(set: JsonObject, nodes: readonly string[]): JsonObject {
  const terms = [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: [...nodes] }] }];
  const affinity = {
    nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms } },
  };
  const spec = part(set, 'spec');
  return {
    ...set,
    spec: {
      ...spec,
      template: {
        ...part(spec, 'template'),
        spec: { ...part(spec, 'template', 'spec'), affinity },
      },
    },
  };
}

function daemonNodes(relevantPods: RelevantPods): ReadonlyMap<string, readonly string[]> {
  const own = [...relevantPods.kept].filter(
    pod => text(controllerRef(pod), 'kind') === 'DaemonSet',
  );
  const groups = Map.groupBy(own, pod => text(controllerRef(pod), 'uid'));
  return new Map(
    [...groups].map(([uid, pods]) => [uid, pods.map(pod => text(pod, 'spec', 'nodeName'))]),
  );
}

function claimsOf(pods: Iterable<JsonObject>): ReadonlySet<string> {
  const claims = new Set<string>();
  for (const pod of pods)
    for (const volume of objects(at(pod, 'spec', 'volumes'))) {
      const claim = text(volume, 'persistentVolumeClaim', 'claimName');
      if (claim !== '') claims.add(`${namespaceOf(pod)}/${claim}`);
    }
  return claims;
}

/** Returns the relevant objects of other kinds than pods. */
function keptObjects(
  all: readonly JsonObject[],
  relevantPods: RelevantPods,
): readonly JsonObject[] {
  const [daemons, claims] = [daemonNodes(relevantPods), claimsOf(relevantPods.kept)];
  const volumes = new Set(
    all
      .filter(one => one['kind'] === 'PersistentVolumeClaim' && claims.has(keyOf(one)))
      .map(one => text(one, 'spec', 'volumeName')),
  );
  return all.flatMap((object): readonly JsonObject[] => {
    const kind = text(object, 'kind');
    if (kind === 'Pod') return [];
    if (kind === 'PodDisruptionBudget') return relevantPods.budgets.has(object) ? [object] : [];
    if (kind === 'PersistentVolumeClaim') return claims.has(keyOf(object)) ? [object] : [];
    if (kind === 'PersistentVolume') return volumes.has(nameOf(object)) ? [object] : [];
    if (kind === 'VolumeAttachment')
      return volumes.has(text(object, 'spec', 'source', 'persistentVolumeName')) ? [object] : [];
    if (kind === 'DaemonSet')
      return [
        relevantPods.tops.has(uidOf(object))
          ? object
          : narrowed(object, daemons.get(uidOf(object)) ?? ['']),
      ];
    if (kind !== 'Deployment' && !podKinds.has(kind)) return [object];
    return relevantPods.tops.has(uidOf(object)) ||
      relevantPods.tops.has(text(controllerRef(object), 'uid'))
      ? [object]
      : [];
  });
}

/** Number of pods below which a reduction gains nothing. */
export const defaultFewPods = 5000;

/**
 * Returns the objects that are relevant when these nodes are drained, with replacements for all
 * other pods. Small clusters stay unchanged.
 */
export function reduce(
  all: readonly JsonObject[],
  targets: ReadonlySet<string>,
  few: number,
): readonly JsonObject[] {
  const pods = all.filter(one => one['kind'] === 'Pod');
  const busy = busyNodes(all, targets);
  if (pods.length <= few || busy.size > all.filter(one => one['kind'] === 'Node').length / 2)
    return all;
  const relevantPods = relevantPodsOf(all, busy);
  const rest = Map.groupBy(
    pods.filter(pod => !relevantPods.kept.has(pod) && !isFinished(pod)),
    pod => text(pod, 'spec', 'nodeName'),
  );
  return [
    ...keptObjects(all, relevantPods),
    ...relevantPods.kept,
    ...[...rest].map(([node, others]) => stopgap(node, others)),
  ];
}
