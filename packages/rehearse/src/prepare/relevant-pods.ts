import {
  isObject,
  type JsonObject,
  type LabelSelector,
  matches,
  readSelector,
} from '@drydock/apimachinery';
import { at, items, objects, part, strings, text } from '@drydock/kube-sim';
import { plus, requestsOf } from '@drydock/kube-sim/actors';
import { controllerRef, keyOf, nameOf, namespaceOf, uidOf } from '../snapshot/workloads.ts';

function isFinished(pod: JsonObject): boolean {
  return ['Succeeded', 'Failed'].includes(text(pod, 'status', 'phase'));
}

function isReady(object: JsonObject): boolean {
  return objects(at(object, 'status', 'conditions')).some(
    one => one['type'] === 'Ready' && one['status'] === 'True',
  );
}

/**
 * Returns whether a workload is not in its desired state, so that it creates or deletes pods on its
 * own.
 */
function isInMotion(workload: JsonObject): boolean {
  const wanted = at(workload, 'spec', 'replicas') ?? (workload['kind'] === 'Job' ? undefined : 1);
  const generation = Number(at(workload, 'metadata', 'generation') ?? 0);
  if (workload['kind'] === 'Job') return at(workload, 'status', 'completionTime') === undefined;
  if (workload['kind'] === 'DaemonSet') {
    const counts = ['currentNumberScheduled', 'numberReady', 'updatedNumberScheduled'].map(field =>
      Number(at(workload, 'status', field) ?? 0),
    );
    return counts.some(
      count => count !== Number(at(workload, 'status', 'desiredNumberScheduled') ?? 0),
    );
  }
  const fields =
    workload['kind'] === 'ReplicaSet'
      ? ['replicas', 'readyReplicas']
      : ['replicas', 'readyReplicas', 'updatedReplicas'];
  const isSeen = Number(at(workload, 'status', 'observedGeneration') ?? 0) >= generation;
  return !isSeen || fields.some(field => Number(at(workload, 'status', field) ?? 0) !== wanted);
}

/**
 * Selection of the pods that are relevant when some nodes are drained. A pod is relevant if
 *
 * 1. it is on a node that pods leave (`busyNodes`),
 * 2. it acts on its own: it is unscheduled, terminating, or not Ready, repels others, or is part of
 *   a VM (`isActor`),
 * 3. its workload is not in its desired state (`isInMotion`),
 * 4. it belongs to the workload of a relevant pod; DaemonSets are excluded, because their pods
 *   stay,
 * 5. a relevant pod's affinity or topology spread selects it, or
 * 6. a budget of a relevant pod covers it.
 *
 * Rules 4 to 6 are applied until nothing more is added.
 */

/** Kinds whose pods are recreated. */
const podKinds = new Set(['ReplicaSet', 'StatefulSet', 'Job', 'DaemonSet']);

function requiredTerms(pod: JsonObject, kind: string): readonly JsonObject[] {
  return objects(
    at(pod, 'spec', 'affinity', kind, 'requiredDuringSchedulingIgnoredDuringExecution'),
  );
}

/**
 * Returns whether a pod acts whether or not it is on a drained node: it waits for room, frees some,
 * repels others, or is part of a VM.
 */
function isActor(pod: JsonObject): boolean {
  const owner = text(controllerRef(pod), 'kind');
  return (
    text(pod, 'spec', 'nodeName') === '' ||
    at(pod, 'metadata', 'deletionTimestamp') !== undefined ||
    (!isReady(pod) && !isFinished(pod)) ||
    requiredTerms(pod, 'podAntiAffinity').length > 0 ||
    owner === 'VirtualMachineInstance'
  );
}

/**
 * Returns nodes whose pods leave them: the targets, those of other maintenances, and those that
 * repel their pods.
 */
function busyNodes(all: readonly JsonObject[], targets: ReadonlySet<string>): ReadonlySet<string> {
  const busy = new Set(targets);
  for (const object of all) {
    if (object['kind'] === 'Maintenance' || object['kind'] === 'NodeMaintenance')
      busy.add(text(object, 'spec', 'nodeName'));
    if (object['kind'] !== 'Node') continue;
    const pushes = objects(at(object, 'spec', 'taints')).some(
      ({ effect }) => effect === 'NoExecute',
    );
    if (
      pushes ||
      !isReady(object) ||
      strings(at(object, 'metadata', 'annotations'))['drydock.dev/before'] !== undefined
    )
      busy.add(nameOf(object));
  }
  return busy;
}

/** Selection of pods by a selector, in namespaces. */
type Pick = {
  readonly namespaces: readonly string[] | 'all';
  readonly selector: LabelSelector | undefined;
};

function picksOf(pod: JsonObject): readonly Pick[] {
  const own = [namespaceOf(pod)];
  const ofTerm = (term: JsonObject): Pick => {
    const named = items(term['namespaces']).map(String);
    return {
      namespaces: isObject(term['namespaceSelector']) ? 'all' : named.length > 0 ? named : own,
      selector: readSelector(term['labelSelector']),
    };
  };
  const spread = objects(at(pod, 'spec', 'topologySpreadConstraints')).map(one => ({
    namespaces: own,
    selector: readSelector(one['labelSelector']),
  }));
  return [
    ...requiredTerms(pod, 'podAffinity').map(ofTerm),
    ...requiredTerms(pod, 'podAntiAffinity').map(ofTerm),
    ...spread,
  ];
}

/** Grows the set of relevant pods by their workloads, budgets and affinities. */
class RelevantPods {
  readonly kept = new Set<JsonObject>();
  readonly #fresh: JsonObject[] = [];
  readonly #bySpace: ReadonlyMap<string, readonly JsonObject[]>;
  readonly #byTop: ReadonlyMap<string, readonly JsonObject[]>;
  readonly #budgets: ReadonlyMap<string, readonly JsonObject[]>;
  readonly #top: (pod: JsonObject) => string;
  readonly #picked = new Set<string>();
  readonly tops = new Set<string>();
  readonly budgets = new Set<JsonObject>();

  constructor(all: readonly JsonObject[]) {
    const pods = all.filter(one => one['kind'] === 'Pod');
    const above = new Map(
      all
        .filter(one => one['kind'] === 'ReplicaSet')
        .map(set => [uidOf(set), text(controllerRef(set), 'uid') || uidOf(set)]),
    );
    this.#top = pod => {
      const uid = text(controllerRef(pod), 'uid');
      return above.get(uid) ?? uid;
    };
    this.#bySpace = Map.groupBy(pods, namespaceOf);
    this.#byTop = Map.groupBy(pods, this.#top);
    this.#budgets = Map.groupBy(
      all.filter(one => one['kind'] === 'PodDisruptionBudget'),
      namespaceOf,
    );
  }

  keep(pod: JsonObject): void {
    if (this.kept.has(pod)) return;
    this.kept.add(pod);
    this.#fresh.push(pod);
  }

  keepTop(uid: string): void {
    if (uid === '' || this.tops.has(uid)) return;
    this.tops.add(uid);
    for (const pod of this.#byTop.get(uid) ?? []) this.keep(pod);
  }

  grow(): void {
    for (let pod = this.#fresh.pop(); pod !== undefined; pod = this.#fresh.pop()) {
      // Pods of a DaemonSet stay on their nodes, independently of each other.
      if (text(controllerRef(pod), 'kind') !== 'DaemonSet') this.keepTop(this.#top(pod));
      for (const pick of picksOf(pod)) this.#keepPicked(pick);
      for (const budget of this.#budgets.get(namespaceOf(pod)) ?? []) this.#keepBudget(budget, pod);
    }
  }

  #keepBudget(budget: JsonObject, pod: JsonObject): void {
    if (this.budgets.has(budget)) return;
    const selector = readSelector(at(budget, 'spec', 'selector'));
    if (!matches(selector, strings(at(pod, 'metadata', 'labels')))) return;
    this.budgets.add(budget);
    this.#keepPicked({ namespaces: [namespaceOf(budget)], selector });
  }

  #keepPicked(pick: Pick): void {
    const id = JSON.stringify(pick);
    if (this.#picked.has(id)) return;
    this.#picked.add(id);
    const spaces = pick.namespaces === 'all' ? [...this.#bySpace.keys()] : pick.namespaces;
    for (const name of spaces)
      for (const pod of this.#bySpace.get(name) ?? [])
        if (matches(pick.selector, strings(at(pod, 'metadata', 'labels')))) this.keep(pod);
  }
}

/** Returns the relevant pods, and their workloads and budgets. */
function relevantPodsOf(all: readonly JsonObject[], busy: ReadonlySet<string>): RelevantPods {
  const relevantPods = new RelevantPods(all);
  const pods = all.filter(one => one['kind'] === 'Pod');
  for (const pod of pods)
    if (busy.has(text(pod, 'spec', 'nodeName')) || isActor(pod)) relevantPods.keep(pod);
  for (const object of all)
    if (
      (object['kind'] === 'Deployment' || podKinds.has(text(object, 'kind'))) &&
      isInMotion(object)
    )
      relevantPods.keepTop(uidOf(object));
  relevantPods.grow();
  return relevantPods;
}

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
