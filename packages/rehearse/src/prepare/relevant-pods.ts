import {
  isObject,
  type JsonObject,
  type LabelSelector,
  matches,
  readSelector,
} from '@drydock/apimachinery';
import { at, items, objects, strings, text } from '@drydock/kube-sim';
import { controllerRef, nameOf, namespaceOf, uidOf } from '../snapshot/workloads.ts';
import { isFinished, isInMotion, isReady } from './workload-state.ts';

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
export const podKinds = new Set(['ReplicaSet', 'StatefulSet', 'Job', 'DaemonSet']);

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
export function busyNodes(
  all: readonly JsonObject[],
  targets: ReadonlySet<string>,
): ReadonlySet<string> {
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
export class RelevantPods {
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
export function relevantPodsOf(
  all: readonly JsonObject[],
  busy: ReadonlySet<string>,
): RelevantPods {
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
