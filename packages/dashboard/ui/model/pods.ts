import { type ReadonlySignal, type Signal, signal } from '@preact/signals';
import type { PodCountsView, PodView } from '../../src/scene.ts';
import { collator } from './order.ts';
import { type Move, PodMoves } from './pod-moves.ts';

function byWorkload(one: PodView, other: PodView): number {
  return (
    Number(one.stays) - Number(other.stays) ||
    collator.compare(one.workload, other.workload) ||
    collator.compare(one.key, other.key)
  );
}

const noPods: readonly PodView[] = [];

/** Returns the sum of a node's counted pods. */
export function podTotal(counts: PodCountsView | undefined): number {
  const { running = 0, starting = 0, leaving = 0, pending = 0, done = 0 } = counts ?? {};
  return running + starting + leaving + pending + done;
}

/** Pods of the dashboard, as signals by node: each of them, or in a large cluster their counts. */
export class Pods {
  /** Number of all pods, whether listed or counted. */
  readonly count = signal(0);
  readonly #on = new Map<string, Signal<readonly PodView[]>>();
  readonly #pods = new Map<string, PodView>();
  readonly #counts = new Map<string, PodCountsView>();
  readonly #countsOn = new Map<string, Signal<PodCountsView | undefined>>();
  readonly #moves = new PodMoves();
  readonly #now: () => number;
  readonly #moved: (move: Move) => void;
  /** Number of the counted pods. */
  #counted = 0;

  constructor(now: () => number, moved: (move: Move) => void) {
    this.#now = now;
    this.#moved = moved;
  }

  /**
   * Returns the pods of a node, those of one workload together; for the empty name, the unscheduled
   * ones.
   */
  on(node: string): ReadonlySignal<readonly PodView[]> {
    return this.#podsSignal(node);
  }

  /**
   * Returns the counts of a node; undefined where its pods are listed, and where there are none.
   */
  countsOn(node: string): ReadonlySignal<PodCountsView | undefined> {
    return this.#countsSignal(node);
  }

  keys(): ReadonlyMap<string, PodView> {
    return this.#pods;
  }

  countedNodes(): ReadonlyMap<string, PodCountsView> {
    return this.#counts;
  }

  /** Forgets departures before another scene arrives: its pods take no other's place. */
  forgetMoves(): void {
    this.#moves.forget();
  }

  /** Shows requested pods of a node until the next update. */
  show(node: string, pods: readonly PodView[]): void {
    this.#podsSignal(node).value = pods.toSorted(byWorkload);
  }

  /** Applies changes; returns the moves. */
  apply(pods: readonly PodView[], gone: readonly string[]): readonly Move[] {
    const touched = new Map<string, Map<string, PodView>>();
    const on = (node: string): Map<string, PodView> => {
      const known =
        touched.get(node) ??
        new Map(
          this.#podsSignal(node)
            .peek()
            // Without those that were only requested.
            .filter(({ key }) => this.#pods.has(key))
            .map(pod => [pod.key, pod]),
        );
      touched.set(node, known);
      return known;
    };
    const arrived: PodView[] = [];
    const drop = (key: string): PodView | undefined => {
      const before = this.#pods.get(key);
      if (before === undefined) return undefined;
      on(before.node).delete(key);
      this.#pods.delete(key);
      return before;
    };
    for (const key of gone) this.#depart(drop(key));
    for (const pod of pods) {
      const before = drop(pod.key);
      if (before !== undefined && (before.uid !== pod.uid || pod.phase === 'leaving'))
        this.#depart(before);
      if (pod.node !== '' && (before === undefined || before.uid !== pod.uid || before.node === ''))
        arrived.push(pod);
      this.#pods.set(pod.key, pod);
      on(pod.node).set(pod.key, pod);
    }
    const moves = arrived.flatMap(pod => this.#moves.arrives(pod, this.#now()) ?? []);
    for (const move of moves) this.#moved(move);
    for (const [node, known] of touched)
      this.#podsSignal(node).value = [...known.values()].sort(byWorkload);
    this.#total();
    return moves;
  }

  /** Applies changes for nodes whose pods are counted. */
  applyCounts(counts: readonly PodCountsView[], gone: readonly string[]): void {
    for (const key of gone) this.#setCounts(key, undefined);
    for (const view of counts) this.#setCounts(view.key, view);
    this.#total();
  }

  #total(): void {
    this.count.value = this.#pods.size + this.#counted;
  }

  #setCounts(node: string, counts: PodCountsView | undefined): void {
    this.#counted += podTotal(counts) - podTotal(this.#counts.get(node));
    if (counts === undefined) this.#counts.delete(node);
    else this.#counts.set(node, counts);
    const shown = this.#countsOn.get(node);
    if (shown !== undefined) shown.value = counts;
  }

  #depart(pod: PodView | undefined): void {
    if (pod !== undefined) this.#moves.departs(pod, this.#now());
  }

  #podsSignal(node: string): Signal<readonly PodView[]> {
    const known = this.#on.get(node) ?? signal(noPods);
    this.#on.set(node, known);
    return known;
  }

  #countsSignal(node: string): Signal<PodCountsView | undefined> {
    const known = this.#countsOn.get(node) ?? signal(this.#counts.get(node));
    this.#countsOn.set(node, known);
    return known;
  }
}
