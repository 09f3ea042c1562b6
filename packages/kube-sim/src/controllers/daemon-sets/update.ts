import { at, type Stored, strings } from '../../object.ts';
import { scaled } from '../budgets/scaled.ts';
import { isAvailable, isDeleting, isReady } from '../pods.ts';
import { minReadyOf } from '../workload.ts';
import { type NodeFit, surgeOf } from './nodes.ts';

/** Next steps of a DaemonSet's rolling update (update.go), pure. */

export const hashLabel = 'controller-revision-hash';
const generationLabel = 'pod-template-generation';

/**
 * Returns whether a pod has the current template: by its hash or, as in older releases, by its
 * generation.
 */
export function isUpdated(set: Stored, pod: Stored, hash: string): boolean {
  const labels = strings(pod.metadata.labels);
  const generation = generationOf(set);
  return (
    labels[hashLabel] === hash ||
    (generation !== undefined && labels[generationLabel] === generation)
  );
}

export function generationOf({ metadata }: Stored): string | undefined {
  return metadata.annotations?.['deprecated.daemonset.template.generation'];
}

/** State of one set in a round: its pods by node, and the check of each node. */
export type DaemonSetView = {
  readonly set: Stored;
  readonly hash: string;
  readonly nowMs: number;
  readonly byNode: ReadonlyMap<string, readonly Stored[]>;
  readonly verdicts: ReadonlyMap<string, NodeFit>;
  /** Number of nodes on which it wants a pod. */
  readonly desired: number;
};

export type DaemonSetUpdate = {
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
export function rollingPlan(view: DaemonSetView): DaemonSetUpdate {
  const { maxSurge, maxUnavailable } = limits(view);
  return maxSurge === 0 ? replacing(view, maxUnavailable) : surging(view, maxSurge);
}

/**
 * Returns the surplus pods of one node: the oldest stays; in a surge the oldest new one and, until
 * that is available, the oldest old one.
 */
export function surplusOn(view: DaemonSetView, alive: readonly Stored[]): readonly Stored[] {
  const maySurge = scaled(surgeOf(view.set) ?? 0, view.desired, 'up') ?? 0;
  if (alive.length <= 1) return [];
  if (maySurge === 0) return alive.slice(1);
  const [fresh, ...moreFresh] = alive.filter(pod => pod.metadata.labels?.[hashLabel] === view.hash);
  const [old, ...moreOld] = alive.filter(pod => pod.metadata.labels?.[hashLabel] !== view.hash);
  const replaced =
    fresh !== undefined && old !== undefined && (!isReady(old) || isUp(view, fresh)) ? [old] : [];
  return [...moreFresh, ...moreOld, ...replaced];
}
