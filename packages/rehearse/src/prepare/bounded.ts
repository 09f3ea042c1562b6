import type { JsonObject } from '@drydock/apimachinery';
import { at, part, text } from '@drydock/kube-sim';
import { controllerRef, nameOf, namespaceOf, uidOf, workloadText } from '../snapshot/workloads.ts';
import { narrowed } from './reduce.ts';

/**
 * Limit of pods that a rehearsal creates beyond those of the copy, for all workloads together. A
 * workload may request two thousand million pods, which no cluster ever creates, and which would
 * end the rehearsal.
 */
export const maxMissingPods = 20_000;

/** Field with the wanted number of pods, by kind. */
const countFields: Readonly<Record<string, string>> = {
  Deployment: 'replicas',
  ReplicaSet: 'replicas',
  StatefulSet: 'replicas',
  Job: 'parallelism',
};

type Asked = { readonly object: JsonObject; readonly wanted: number; readonly there: number };

/**
 * Returns the number of pods of each controller, by its UID: those of a ReplicaSet count for its
 * Deployment too.
 */
function podsByController(all: readonly JsonObject[]): ReadonlyMap<string, number> {
  const above = new Map(
    all
      .filter(one => one['kind'] === 'ReplicaSet')
      .map(set => [uidOf(set), text(controllerRef(set), 'uid')]),
  );
  const counts = new Map<string, number>();
  for (const pod of all) {
    const uid = pod['kind'] === 'Pod' ? text(controllerRef(pod), 'uid') : '';
    for (const one of [uid, above.get(uid) ?? ''])
      if (one !== '') counts.set(one, (counts.get(one) ?? 0) + 1);
  }
  return counts;
}

function wantedBy(object: JsonObject, nodes: number): number {
  const { kind } = object;
  if (kind === 'DaemonSet') return nodes;
  const field = typeof kind === 'string' ? countFields[kind] : undefined;
  const count = field === undefined ? 0 : Number(at(object, 'spec', field) ?? 1);
  return Number.isFinite(count) ? count : Number.MAX_SAFE_INTEGER;
}

function limited(
  { object, there }: Asked,
  nodesOf: (object: JsonObject) => readonly string[],
): JsonObject {
  if (object['kind'] === 'DaemonSet') return narrowed(object, nodesOf(object));
  return {
    ...object,
    spec: { ...part(object, 'spec'), [countFields[text(object, 'kind')] ?? 'replicas']: there },
  };
}

function noteOf({ object, wanted, there }: Asked): string {
  const workload = workloadText({
    kind: text(object, 'kind'),
    namespace: namespaceOf(object),
    name: nameOf(object),
  });
  return `${workload} asks for ${wanted} pods and has ${there}: no more are made, for a rehearsal makes ${maxMissingPods} missing pods at most`;
}

/**
 * Returns the objects, with workloads that request too many pods reduced to their present size, and
 * a sentence for each of these. Workloads that miss the fewest pods keep theirs.
 */
export function bounded(all: readonly JsonObject[]): {
  readonly objects: readonly JsonObject[];
  readonly notes: readonly string[];
} {
  const counts = podsByController(all);
  const nodes = all.filter(one => one['kind'] === 'Node').length;
  const asked = all
    .map(
      (object): Asked => ({
        object,
        wanted: wantedBy(object, nodes),
        there: counts.get(uidOf(object)) ?? 0,
      }),
    )
    .filter(({ wanted, there }) => wanted > there)
    .toSorted((one, other) => one.wanted - one.there - (other.wanted - other.there));
  let left = maxMissingPods;
  const tooLarge = new Map<JsonObject, Asked>();
  for (const one of asked) {
    const missing = one.wanted - one.there;
    if (missing > left) tooLarge.set(one.object, one);
    // A ReplicaSet's pods are those of its Deployment.
    else if (one.object['kind'] !== 'ReplicaSet' || controllerRef(one.object) === undefined)
      left -= missing;
  }
  if (tooLarge.size === 0) return { objects: all, notes: [] };
  const nodesOf = (set: JsonObject): readonly string[] =>
    all
      .filter(pod => pod['kind'] === 'Pod' && text(controllerRef(pod), 'uid') === uidOf(set))
      .map(pod => text(pod, 'spec', 'nodeName'));
  const objects = all.map(object => {
    const one = tooLarge.get(object);
    return one === undefined ? object : limited(one, nodesOf);
  });
  return { objects, notes: [...tooLarge.values()].map(noteOf) };
}
