import type { PodView } from '../../src/scene.ts';

/** Milliseconds for which departures are remembered. */
const memoryMs = 90_000;

/** A pod that takes the place of another one elsewhere. */
export type Move = { readonly pod: PodView; readonly fromUid: string; readonly fromNode: string };

type Departure = { readonly uid: string; readonly node: string; readonly at: number };

/**
 * Detects moves: a pod is never moved, but ends, and its workload gets another one, which users see
 * as a move.
 */
export class PodMoves {
  readonly #departures = new Map<string, Departure[]>();

  /** Records a pod that terminates, or is gone. */
  departs({ workload, uid, node }: PodView, nowMs: number): void {
    if (node === '') return;
    const known = (this.#departures.get(workload) ?? []).filter(({ at }) => nowMs - at < memoryMs);
    if (!known.some(departure => departure.uid === uid)) known.push({ uid, node, at: nowMs });
    this.#departures.set(workload, known);
  }

  /**
   * Records a pod on its node; returns the move if it takes the place of one that has departed from
   * another node.
   */
  arrives(pod: PodView, nowMs: number): Move | undefined {
    const known = this.#departures.get(pod.workload) ?? [];
    const index = known.findIndex(({ node, at }) => node !== pod.node && nowMs - at < memoryMs);
    const [departure] = index === -1 ? [] : known.splice(index, 1);
    if (known.length === 0) this.#departures.delete(pod.workload);
    return departure && { pod, fromUid: departure.uid, fromNode: departure.node };
  }

  forget(): void {
    this.#departures.clear();
  }
}
