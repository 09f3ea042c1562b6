import type { Pod } from '../../../core/pod/pod.ts';
import { timeText } from '../../../core/time.ts';
import type { Change } from '../../../operator/ports.ts';
import type { PodCountsView, PodPhase, PodView, WorkloadView } from '../scene.ts';
import { ViewStore } from '../views/view-store.ts';
import { podPhase, podView } from '../views/views.ts';
import { LowestAvailability } from '../views/workload-lows.ts';
import type { ObjectIndex } from './object-index.ts';

/** Beyond these, pods are counted and not told one by one. */
const maxPods = 1500;
const maxNodes = 150;
/** Of these, what a cluster has to come below to be told one by one again: one at the limit does not go to and fro. */
const backAt = 0.8;

const countsOf = (node: string, pods: readonly Pod[]): PodCountsView => {
  const counts: { [Phase in PodPhase]?: number } = {};
  for (const pod of pods) {
    const phase = podPhase(pod);
    counts[phase] = (counts[phase] ?? 0) + 1;
  }
  return { key: node, ...counts };
};

/** The pods of the cluster as they are shown: one by one while they are few, else how many of them each node has. */
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

  /** Answers the nodes that it is about. */
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

  /** Brings everything up to date. True: what was told one by one is counted from now on, or the other way round. */
  settle(now: Temporal.Instant): boolean {
    this.#workloads.judge(timeText(now));
    this.#showLows();
    const isTurned = this.#turn();
    for (const node of this.#stale) this.#count(node);
    this.#stale.clear();
    return isTurned;
  }

  /** The pods of a node, one by one, however many there are in the cluster. */
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
