import { timeText } from '@drydock/apimachinery';
import type { Pod } from '@drydock/core/pod';
import type { Change } from '@drydock/kube-client';
import type { PodCountsView, PodPhase, PodView, WorkloadView } from '../scene.ts';
import { ViewStore } from '../views/view-store.ts';
import { podPhase, podView } from '../views/views.ts';
import { LowestAvailability } from '../views/workload-lows.ts';
import type { ObjectIndex } from './object-index.ts';

/** Limits of pods and nodes up to which pods are listed one by one. */
const maxPods = 1500;
const maxNodes = 150;
/**
 * Share of the limits below which pods are listed again: a cluster near the limit does not
 * alternate.
 */
const backAt = 0.8;

function countsOf(node: string, pods: readonly Pod[]): PodCountsView {
  const counts: { [Phase in PodPhase]?: number } = {};
  for (const pod of pods) {
    const phase = podPhase(pod);
    counts[phase] = (counts[phase] ?? 0) + 1;
  }
  return { key: node, ...counts };
}

/** Pods of the cluster as shown: one by one while they are few, else as counts by node. */
export class PodWatch {
  readonly lows = new ViewStore<WorkloadView>();
  pods = new ViewStore<PodView>();
  counts = new ViewStore<PodCountsView>();
  readonly #objectIndex: ObjectIndex;
  readonly #workloads = new LowestAvailability();
  readonly #stale = new Set<string>();
  #isCounted = false;

  constructor(objectIndex: ObjectIndex) {
    this.#objectIndex = objectIndex;
  }

  get isCounted(): boolean {
    return this.#isCounted;
  }

  /** Applies a change; returns the affected nodes. */
  told(change: Change<Pod>): readonly string[] {
    const { object } = change;
    const isGone = change.type === 'removed';
    this.#workloads.changed(this.#objectIndex.pods.get(object.key), isGone ? undefined : object);
    const nodes = this.#objectIndex.pods.apply(change);
    if (this.#isCounted) for (const node of nodes) this.#stale.add(node);
    else if (isGone) this.pods.drop(object.key);
    else this.pods.put(podView(object));
    return nodes;
  }

  /** Updates everything. Returns true when the mode has changed between single pods and counts. */
  settle(now: Temporal.Instant): boolean {
    this.#workloads.judge(timeText(now));
    this.#showLows();
    const isTurned = this.#turn();
    for (const node of this.#stale) this.#count(node);
    this.#stale.clear();
    return isTurned;
  }

  /** Returns the pods of a node, one by one, however many the cluster has. */
  on(node: string): readonly PodView[] {
    return this.#objectIndex.pods.in(node).map(podView);
  }

  #turn(): boolean {
    const { nodes, pods } = this.#objectIndex;
    const share = this.#isCounted ? backAt : 1;
    const isCounted = nodes.size > maxNodes * share || pods.size > maxPods * share;
    if (isCounted === this.#isCounted) return false;
    this.#isCounted = isCounted;
    this.pods = new ViewStore();
    this.counts = new ViewStore();
    if (isCounted) for (const node of pods.groups()) this.#stale.add(node);
    else for (const pod of pods.values()) this.pods.put(podView(pod));
    return true;
  }

  #count(node: string): void {
    const pods = this.#objectIndex.pods.in(node);
    if (pods.length === 0) this.counts.drop(node);
    else if (this.#isCounted) this.counts.put(countsOf(node, pods));
  }

  #showLows(): void {
    const worst = this.#workloads.worst();
    const keys = new Set(worst.map(({ key }) => key));
    for (const { key } of this.lows.values()) if (!keys.has(key)) this.lows.drop(key);
    for (const view of worst) this.lows.put(view);
  }
}
