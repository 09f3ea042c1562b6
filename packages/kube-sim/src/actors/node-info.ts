import {
  amount,
  fitsTerm,
  isObject,
  type JsonObject,
  matches,
  type Place,
  tolerates,
  untoleratedBy,
} from '@drydock/apimachinery';
import type { Clock } from '@drydock/utils';
import { type Cluster, isFinished, nodeOf, phaseOf } from '../controllers/controller.ts';
import {
  at,
  items,
  memoizeOnObject,
  objects,
  part,
  type Stored,
  strings,
  text,
} from '../object.ts';
import type { Store } from '../store/store.ts';

/** Amounts of resources that nodes have and pods request. */

type Amounts = Readonly<Record<string, number>>;

function read(quantities: JsonObject): Amounts {
  return Object.fromEntries(
    Object.entries(quantities).map(([name, value]) => [name, amount(value)]),
  );
}

export function plus(one: Amounts, other: Amounts): Amounts {
  const sum: Record<string, number> = { ...one };
  for (const [name, value] of Object.entries(other)) sum[name] = (sum[name] ?? 0) + value;
  return sum;
}

function limit(one: Amounts, other: Amounts): Amounts {
  const result: Record<string, number> = { ...one };
  for (const [name, value] of Object.entries(other))
    result[name] = Math.max(result[name] ?? 0, value);
  return result;
}

/**
 * Returns the requests of a pod: the sum of its containers, or its largest init container, and one
 * pod.
 */
export function requestsOf(podSpec: JsonObject): Amounts {
  const of = (container: JsonObject): Amounts => read(part(container, 'resources', 'requests'));
  const containers = objects(podSpec['containers']).map(of).reduce(plus, {});
  const initial = objects(podSpec['initContainers']).map(of).reduce(limit, {});
  return plus(limit(containers, initial), { pods: 1 });
}

/** Returns the allocatable resources of a node. */
const allocatable = memoizeOnObject((node: JsonObject): Amounts => {
  const own = part(node, 'status', 'allocatable');
  return read(Object.keys(own).length > 0 ? own : part(node, 'status', 'capacity'));
});

/** Requests as a list, which is iterated for every node. */
export type ResourceRequests = readonly (readonly [name: string, value: number])[];

function isShort([name, value]: ResourceRequests[number], used: Amounts, has: Amounts): boolean {
  return value > 0 && (used[name] ?? 0) + value > (has[name] ?? 0);
}

/** Returns whether every request fits. */
export function fits(asked: ResourceRequests, used: Amounts, has: Amounts): boolean {
  for (const one of asked) if (isShort(one, used, has)) return false;
  return true;
}

/** Returns the names of insufficient resources; empty when the pod fits. */
export function lacking(asked: ResourceRequests, used: Amounts, has: Amounts): readonly string[] {
  return asked.filter(one => isShort(one, used, has)).map(([name]) => name);
}

/** Returns the grace period of a pod in seconds. */
export function graceOf(podSpec: JsonObject): number {
  const seconds = at(podSpec, 'terminationGracePeriodSeconds');
  return typeof seconds === 'number' ? seconds : 30;
}

/** Rules for a pod's nodes, by labels (k8s.io/component-helpers/scheduling/corev1/nodeaffinity). */

/** Returns the fields of a node that the rules read. */
export function placeOf({ metadata: { name, labels = {} } }: Stored): Place {
  return { name, labels };
}

/** Returns the node's preference: the sum of the weights of matching terms. */
export function preference(podSpec: JsonObject, node: Stored): number {
  return objects(
    at(podSpec, 'affinity', 'nodeAffinity', 'preferredDuringSchedulingIgnoredDuringExecution'),
  )
    .filter(one => fitsTerm(part(one, 'preference'), placeOf(node)))
    .reduce((sum, { weight }) => sum + (typeof weight === 'number' ? weight : 0), 0);
}

/** Returns the required terms of a pod's affinity or anti-affinity. */
export function terms(
  podSpec: JsonObject,
  kind: 'podAffinity' | 'podAntiAffinity',
): readonly JsonObject[] {
  return objects(at(podSpec, 'affinity', kind, 'requiredDuringSchedulingIgnoredDuringExecution'));
}

/** Returns the namespaces of a pod affinity term: the pod's own unless it names others. */
export function namespacesOf(term: JsonObject, own: string): readonly string[] {
  const named = items(term['namespaces']).filter(one => typeof one === 'string');
  return named.length === 0 ? [own] : named;
}

/** Returns whether a pod affinity term selects a pod. */
export function termPicks(term: JsonObject, owner: string, pod: Stored): boolean {
  const selector = term['labelSelector'];
  const isNear = namespacesOf(term, owner).includes(pod.metadata.namespace ?? '');
  return isNear && matches(isObject(selector) ? selector : undefined, strings(pod.metadata.labels));
}

/** Present load of one node, read for every pod. `guarded`: its pods with anti-affinity. */
export type NodeInfo = {
  readonly name: string;
  readonly node: Stored;
  readonly guarded: readonly Stored[];
  readonly isCordoned: boolean;
  readonly isTainted: boolean;
  readonly zone: string | undefined;
  readonly used: Amounts;
  readonly has: Amounts;
  /** Free share, from 0 to 100. */
  readonly free: number;
};

const weighed = ['cpu', 'memory', 'pods'];

function freeOf(used: Amounts, has: Amounts): number {
  let share = 0;
  for (const name of weighed) if (has[name]) share += (used[name] ?? 0) / has[name];
  return 100 * (1 - share / weighed.length);
}

/** Requests of a pod, and whether it has anti-affinity. */
type Weight = { readonly asked: ResourceRequests; readonly keepsOthersAway: boolean };

/** A pod's spec stays the same object through all updates of its status. */
const weightIn = memoizeOnObject(
  (spec: JsonObject): Weight => ({
    asked: Object.entries(requestsOf(spec)),
    keepsOthersAway: terms(spec, 'podAntiAffinity').length > 0,
  }),
);

const weightOf = memoizeOnObject((pod: Stored): Weight => weightIn(part(pod, 'spec')));

export function askedBy(pod: Stored): ResourceRequests {
  return weightOf(pod).asked;
}

export function loadOf(store: Store, node: Stored): NodeInfo {
  const { name } = node.metadata;
  const guarded: Stored[] = [];
  const used: Record<string, number> = {};
  for (const pod of store.indexed('pods', 'spec.nodeName', name)) {
    if (isFinished(pod)) continue;
    const { asked, keepsOthersAway } = weightOf(pod);
    if (keepsOthersAway) guarded.push(pod);
    for (const [what, value] of asked) used[what] = (used[what] ?? 0) + value;
  }
  const isCordoned = at(node, 'spec', 'unschedulable') === true;
  const isTainted = items(at(node, 'spec', 'taints')).length > 0;
  const has = allocatable(node);
  const zone = domain(node, 'topology.kubernetes.io/zone');
  return { name, node, guarded, isCordoned, isTainted, zone, used, has, free: freeOf(used, has) };
}

/** Returns the topology domain of a node, by key. */
export function domain(node: Stored | undefined, key: string): string | undefined {
  return strings(node?.metadata.labels)[key];
}

/** Taints and tolerations (k8s.io/component-helpers/scheduling/corev1). */

function taintOf(taint: JsonObject): {
  readonly key: string;
  readonly effect: string;
  readonly value: string;
} {
  return {
    key: text(taint, 'key'),
    effect: text(taint, 'effect'),
    value: text(taint, 'value'),
  };
}

/** Returns the taints of these effects that the pod does not tolerate. */
export function untolerated(
  podSpec: JsonObject,
  node: Stored,
  effects: readonly string[],
): ReturnType<typeof untoleratedBy> {
  const taints = objects(at(node, 'spec', 'taints'));
  return taints.length === 0
    ? []
    : untoleratedBy(
        podSpec,
        taints.map(taintOf).filter(({ effect }) => effects.includes(effect)),
      );
}

/** Returns whether the pod tolerates all of the node's taints of these effects. */
export function toleratesAll(
  podSpec: JsonObject,
  node: Stored,
  effects: readonly string[],
): boolean {
  return untolerated(podSpec, node, effects).length === 0;
}

/**
 * Returns for how long the pod tolerates a NoExecute taint: forever, a number of seconds, or
 * undefined when it does not. The first matching toleration decides.
 */
export function toleratedFor(
  podSpec: JsonObject,
  taint: JsonObject,
): 'forever' | number | undefined {
  const fitting = objects(podSpec['tolerations']).find(toleration =>
    tolerates(toleration, taintOf(taint)),
  );
  if (fitting === undefined) return undefined;
  const seconds = fitting['tolerationSeconds'];
  return typeof seconds === 'number' ? Math.max(0, seconds) : 'forever';
}

/**
 * Interval at which a kubelet syncs an unchanged pod: 60 to 90 s (syncFrequency,
 * workerResyncIntervalJitterFactor).
 */
const [syncMs, jitterMs] = [60_000, 30_000];

/** Returns whether a pod is a mirror of a static pod, which its kubelet runs from a file. */
export function isMirror({ metadata }: Stored): boolean {
  return metadata.annotations?.['kubernetes.io/config.mirror'] !== undefined;
}

/**
 * Static pods continue to run, whatever happens to their mirrors. A kubelet does not act on the
 * deletion of a mirror (HandlePodUpdates leaves out pods without an allocation): it replaces the
 * mirror, and recreates a missing one, at the next sync of the static pod.
 */
export class StaticPods {
  readonly #cluster: Cluster;
  readonly #clock: Clock;
  readonly #isAlive: (node: Stored) => boolean;
  /** Next syncs, by the UID of the terminating or removed mirror. */
  readonly #syncs = new Map<string, () => void>();

  constructor(cluster: Cluster, clock: Clock, isAlive: (node: Stored) => boolean) {
    this.#cluster = cluster;
    this.#clock = clock;
    this.#isAlive = isAlive;
  }

  /** Handles the deletion of a mirror; the kubelet is at a random moment between two syncs. */
  ending(mirror: Stored): void {
    if (!this.#syncs.has(mirror.metadata.uid))
      this.#sync(mirror, Math.round((syncMs + jitterMs) * this.#cluster.random()));
  }

  /**
   * Handles the removal of a mirror: the kubelet syncs its pod at once, finds it unchanged, and
   * creates another mirror at the following sync.
   */
  removed(mirror: Stored): void {
    this.#sync(mirror, this.#usualMs());
  }

  stop(): void {
    for (const cancel of this.#syncs.values()) cancel();
    this.#syncs.clear();
  }

  #usualMs(): number {
    return syncMs + Math.round(jitterMs * this.#cluster.random());
  }

  #sync(mirror: Stored, afterMs: number): void {
    const { uid } = mirror.metadata;
    this.#syncs.get(uid)?.();
    this.#syncs.set(
      uid,
      this.#clock.after(afterMs, () => {
        this.#syncs.delete(uid);
        const node = this.#cluster.store.get('nodes', '', nodeOf(mirror));
        if (node === undefined) return;
        if (!this.#isAlive(node) || !this.#replace(mirror)) this.#sync(mirror, this.#usualMs());
      }),
    );
  }

  /**
   * Replaces a mirror; returns false when the API server rejects the new one: its name may be in
   * use, or the namespace gone.
   */
  #replace(mirror: Stored): boolean {
    const { store, writes } = this.#cluster;
    const { uid, name, namespace = '', labels, annotations, ownerReferences } = mirror.metadata;
    const last = store.get('pods', namespace, name);
    if (last?.metadata.uid === uid)
      writes.remove('pods', namespace, name, { gracePeriodSeconds: 0, uid });
    // The kubelet itself caused this deletion.
    this.#syncs.get(uid)?.();
    this.#syncs.delete(uid);
    const metadata = {
      name,
      namespace,
      ...(labels && { labels }),
      annotations,
      ...(ownerReferences && { ownerReferences }),
    };
    const made = writes.create('pods', {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata,
      spec: part(mirror, 'spec'),
    });
    if (made.kind === 'refused') return false;
    if (phaseOf(mirror) !== 'Pending')
      writes.update('pods', { ...made.object, status: part(mirror, 'status') }, 'status');
    return true;
  }
}
