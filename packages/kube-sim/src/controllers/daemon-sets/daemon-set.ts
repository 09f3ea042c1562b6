import type { JsonObject } from '@drydock/apimachinery';
import { at, part, type Stored, strings } from '../../object.ts';
import type { StoreChange } from '../../store/store.ts';
import { scaled } from '../budgets/disruption.ts';
import {
  type Cluster,
  type Controller,
  controllerOf,
  isAvailable,
  isDeleting,
  isFinished,
  isReady,
  keyOf,
  nextAvailableMs,
  nodeOf,
  phaseOf,
  split,
} from '../controller.ts';
import { claim } from '../selectors.ts';
import {
  concerned,
  counted,
  deletePod,
  forgetRevisions,
  makePod,
  minReadyOf,
  podFrom,
  report,
  templateOf,
  updateRevision,
} from '../workload.ts';
import { affinityTo, byTarget, judgeOf, type NodeFit, surgeOf, tolerationsOf } from './nodes.ts';

/** Next steps of a DaemonSet's rolling update (update.go), pure. */

const hashLabel = 'controller-revision-hash';
const generationLabel = 'pod-template-generation';

/**
 * Returns whether a pod has the current template: by its hash or, as in older releases, by its
 * generation.
 */
function isUpdated(set: Stored, pod: Stored, hash: string): boolean {
  const labels = strings(pod.metadata.labels);
  const generation = generationOf(set);
  return (
    labels[hashLabel] === hash ||
    (generation !== undefined && labels[generationLabel] === generation)
  );
}

function generationOf({ metadata }: Stored): string | undefined {
  return metadata.annotations?.['deprecated.daemonset.template.generation'];
}

/** State of one set in a round: its pods by node, and the check of each node. */
type DaemonSetView = {
  readonly set: Stored;
  readonly hash: string;
  readonly nowMs: number;
  readonly byNode: ReadonlyMap<string, readonly Stored[]>;
  readonly verdicts: ReadonlyMap<string, NodeFit>;
  /** Number of nodes on which it wants a pod. */
  readonly desired: number;
};

type DaemonSetUpdate = {
  readonly create: readonly string[];
  readonly remove: readonly Stored[];
};

type Pair = {
  readonly node: string;
  readonly fresh?: Stored;
  readonly old?: Stored;
  readonly crowded: boolean;
};

function pairs({ set, hash, byNode }: DaemonSetView): readonly Pair[] {
  return [...byNode].map(([node, pods]) => {
    const alive = pods.filter(pod => !isDeleting(pod));
    const [fresh, ...moreFresh] = alive.filter(pod => isUpdated(set, pod, hash));
    const [old, ...moreOld] = alive.filter(pod => !isUpdated(set, pod, hash));
    const crowded = moreFresh.length + moreOld.length > 0;
    return {
      node,
      crowded,
      ...(fresh !== undefined && { fresh }),
      ...(old !== undefined && { old }),
    };
  });
}

function isUp({ set, nowMs }: DaemonSetView, pod: Stored): boolean {
  return isAvailable(pod, minReadyOf(set), nowMs);
}

function limits(view: DaemonSetView): {
  readonly maxSurge: number;
  readonly maxUnavailable: number;
} {
  const rolling = at(view.set, 'spec', 'updateStrategy', 'rollingUpdate');
  const maxSurge = scaled(surgeOf(view.set) ?? 0, view.desired, 'up') ?? 0;
  const maxUnavailable = scaled(at(rolling, 'maxUnavailable') ?? 1, view.desired, 'up') ?? 1;
  return { maxSurge, maxUnavailable: maxSurge === 0 && maxUnavailable === 0 ? 1 : maxUnavailable };
}

/**
 * Returns the step of an update without surge: old pods are deleted before new ones are created;
 * unavailable ones at once.
 */
function replacing(view: DaemonSetView, maxUnavailable: number): DaemonSetUpdate {
  const down: Stored[] = [];
  const candidates: Stored[] = [];
  let unavailable = 0;
  for (const { crowded, fresh, old } of pairs(view)) {
    if (crowded || (fresh === undefined) === (old === undefined)) unavailable += 1;
    else if (fresh !== undefined) unavailable += isUp(view, fresh) ? 0 : 1;
    else if (old !== undefined && isUp(view, old)) candidates.push(old);
    else if (old !== undefined) {
      down.push(old);
      unavailable += 1;
    }
  }
  return {
    create: [],
    remove: [...down, ...candidates.slice(0, Math.max(0, maxUnavailable - unavailable))],
  };
}

/**
 * Returns the step of an update with surge: new pods are created beside old ones, which are deleted
 * when the new ones are available.
 */
function surging(view: DaemonSetView, maxSurge: number): DaemonSetUpdate {
  const remove: Stored[] = [];
  const unwanted: Stored[] = [];
  const needed: string[] = [];
  const candidates: string[] = [];
  let [surge, available] = [0, 0];
  for (const { node, crowded, fresh, old } of pairs(view)) {
    if (crowded) surge += 1;
    const shown = old ?? fresh;
    if (!crowded && shown !== undefined && isUp(view, shown)) available += 1;
    if (crowded || old === undefined) continue;
    const wants = view.verdicts.get(node)?.wants === true;
    if (fresh !== undefined && isUp(view, fresh)) remove.push(old);
    else if (fresh !== undefined) surge += 1;
    else if (wants) (isUp(view, old) ? candidates : needed).push(node);
    else (isUp(view, old) ? unwanted : remove).push(old);
  }
  const spare = Math.max(0, available - view.desired);
  const create = [...needed, ...candidates.slice(0, Math.max(0, maxSurge - surge))];
  return { create, remove: [...remove, ...unwanted.slice(0, spare)] };
}

/** Returns the next step of a rolling update. */
function rollingPlan(view: DaemonSetView): DaemonSetUpdate {
  const { maxSurge, maxUnavailable } = limits(view);
  return maxSurge === 0 ? replacing(view, maxUnavailable) : surging(view, maxSurge);
}

/**
 * Returns the surplus pods of one node: the oldest stays; in a surge the oldest new one and, until
 * that is available, the oldest old one.
 */
function surplusOn(view: DaemonSetView, alive: readonly Stored[]): readonly Stored[] {
  const maySurge = scaled(surgeOf(view.set) ?? 0, view.desired, 'up') ?? 0;
  if (alive.length <= 1) return [];
  if (maySurge === 0) return alive.slice(1);
  const [fresh, ...moreFresh] = alive.filter(pod => pod.metadata.labels?.[hashLabel] === view.hash);
  const [old, ...moreOld] = alive.filter(pod => pod.metadata.labels?.[hashLabel] !== view.hash);
  const replaced =
    fresh !== undefined && old !== undefined && (!isReady(old) || isUp(view, fresh)) ? [old] : [];
  return [...moreFresh, ...moreOld, ...replaced];
}

/** DaemonSets (k8s.io/kubernetes/pkg/controller/daemon): a pod on every eligible node. */

const resource = 'daemonsets.apps';
const by = 'daemonset-controller';
const owning = { apiVersion: 'apps/v1', kind: 'DaemonSet' };
const labelling = { owning, hashLabel };

/** Limit of pods created or deleted in one step (BurstReplicas). */
const burst = 250;
const retryMs = 1000;

function draftOf(set: Stored, hash: string, node: string): JsonObject {
  const generation = generationOf(set);
  const labels = {
    [hashLabel]: hash,
    ...(generation !== undefined && { 'pod-template-generation': generation }),
  };
  const affinity = { ...part(templateOf(set), 'spec', 'affinity'), ...affinityTo(node) };
  const spec = { affinity, tolerations: [...tolerationsOf(set)] };
  return podFrom(set, owning, {
    metadata: { generateName: `${set.metadata.name}-`, labels },
    spec,
  });
}

/** Executes a plan; returns why pods could not be created. */
function carryOut(
  cluster: Cluster,
  { set, hash }: DaemonSetView,
  { create, remove }: DaemonSetUpdate,
): string | undefined {
  const maker = { by, resource, owner: set };
  let failure: string | undefined;
  for (const node of create.slice(0, burst)) {
    failure = makePod(cluster, maker, draftOf(set, hash, node));
    if (failure !== undefined) break;
  }
  for (const pod of remove.slice(0, burst)) deletePod(cluster, maker, pod);
  return failure;
}

/** Records the event for a finished pod that is replaced. */
function sayEnded(cluster: Cluster, set: Stored, pod: Stored, node: string): void {
  const failed = phaseOf(pod) === 'Failed';
  const what = `daemon pod ${pod.metadata.namespace}/${pod.metadata.name} on node ${node}`;
  cluster.record({
    by,
    about: { resource, object: set },
    type: failed ? 'Warning' : 'Normal',
    reason: failed ? 'FailedDaemonPod' : 'SucceededDaemonPod',
    message: failed
      ? `Found failed ${what}, will try to kill it`
      : `Found succeeded ${what}, will try to delete it`,
  });
}

/** Returns where pods are missing and where they are surplus (podsShouldBeOnNode). */
function planOf(cluster: Cluster, view: DaemonSetView): DaemonSetUpdate {
  const create: string[] = [];
  const remove: Stored[] = [];
  for (const [node, { wants, keeps }] of view.verdicts) {
    const here = view.byNode.get(node) ?? [];
    const present = here.filter(pod => !isDeleting(pod));
    if (!keeps) remove.push(...present);
    else if (here.length === 0 && wants) create.push(node);
    if (!keeps) continue;
    for (const pod of present.filter(isFinished)) {
      sayEnded(cluster, view.set, pod, node);
      remove.push(pod);
    }
    remove.push(
      ...surplusOn(
        view,
        present.filter(pod => !isFinished(pod)),
      ),
    );
  }
  for (const [node, here] of view.byNode)
    if (!view.verdicts.has(node))
      remove.push(...here.filter(pod => nodeOf(pod) === '' && !isDeleting(pod)));
  return { create, remove };
}

function statusOf({ set, hash, nowMs, byNode, verdicts }: DaemonSetView): JsonObject {
  const wanted = [...verdicts].filter(([, { wants }]) => wants);
  const first = wanted.flatMap(([node]) => byNode.get(node)?.[0] ?? []);
  const misplaced = [...verdicts].filter(([node, { wants }]) => !wants && byNode.has(node)).length;
  const available = first.filter(
    pod => isReady(pod) && isAvailable(pod, minReadyOf(set), nowMs),
  ).length;
  return {
    currentNumberScheduled: first.length,
    numberMisscheduled: misplaced,
    desiredNumberScheduled: wanted.length,
    numberReady: first.filter(isReady).length,
    observedGeneration: set.metadata.generation ?? 0,
    updatedNumberScheduled: first.filter(pod => isUpdated(set, pod, hash)).length || undefined,
    numberAvailable: available || undefined,
    numberUnavailable: wanted.length - available || undefined,
  };
}

function viewOf(cluster: Cluster, set: Stored, hash: string): DaemonSetView {
  const judge = judgeOf(set);
  const verdicts = new Map<string, NodeFit>(
    cluster.store.list('nodes').map(node => [node.metadata.name, judge(node)]),
  );
  return {
    set,
    hash,
    nowMs: cluster.nowMs(),
    byNode: byTarget(claim(cluster, set, { resource: 'pods', owning })),
    verdicts,
    desired: [...verdicts.values()].filter(({ wants }) => wants).length,
  };
}

function reconcile(key: string, cluster: Cluster): number | undefined {
  const [namespace, name] = split(key);
  const set = cluster.store.get(resource, namespace, name);
  if (set === undefined || isDeleting(set)) return undefined;
  const revision = updateRevision(cluster, set, labelling);
  if (revision === undefined) return retryMs;
  const view = viewOf(cluster, set, revision.metadata.labels?.[hashLabel] ?? '');
  const plan = planOf(cluster, view);
  const idle = plan.create.length + plan.remove.length === 0;
  const rolls = idle && at(set, 'spec', 'updateStrategy', 'type') !== 'OnDelete';
  const failure = carryOut(cluster, view, rolls ? rollingPlan(view) : plan);
  const after = viewOf(cluster, set, view.hash);
  const pods = [...after.byNode.values()].flat();
  const live = new Set(pods.map(({ metadata }) => metadata.labels?.[hashLabel]));
  forgetRevisions(
    cluster,
    set,
    one => one.metadata.uid === revision.metadata.uid || live.has(one.metadata.labels?.[hashLabel]),
  );
  report(cluster, resource, cluster.store.get(resource, namespace, name) ?? set, statusOf(after));
  return failure === undefined ? nextAvailableMs(pods, minReadyOf(set), cluster.nowMs()) : retryMs;
}

const ofPods = concerned(resource, 'DaemonSet', 'pods');

/**
 * Returns the sets that the change of a node affects: a missing pod, or a surplus one
 * (syncNodeUpdate).
 */
function ofNode({ type, object }: StoreChange, cluster: Cluster): readonly string[] {
  const sets = cluster.store.list(resource);
  if (sets.length === 0) return [];
  const present = new Set(
    cluster.store
      .indexed('pods', 'spec.nodeName', object.metadata.name)
      .flatMap(pod => controllerOf(pod)?.uid ?? []),
  );
  return sets
    .filter(set => {
      if (type === 'removed') return judgeOf(set)(object).wants;
      const { wants, keeps } = judgeOf(set)(object);
      const here = present.has(set.metadata.uid);
      return (
        (wants && !here) || (!keeps && here) || (here && counted(set, 'numberMisscheduled') > 0)
      );
    })
    .map(keyOf);
}

/**
 * Returns whether labels and taints are unchanged, which decide where pods run; heartbeats do not.
 */
function isSame(before: Stored, object: Stored): boolean {
  return (
    before.metadata.labels === object.metadata.labels && at(before, 'spec') === at(object, 'spec')
  );
}

export const daemonSetController: Controller = {
  name: by,
  keysOf: (change, cluster) => {
    if (change.resource !== 'nodes') return ofPods(change, cluster);
    if (change.type === 'changed' && isSame(change.before, change.object)) return [];
    return ofNode(change, cluster);
  },
  reconcile,
};
