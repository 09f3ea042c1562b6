import type { PodView } from '../../web/dashboard/scene.ts';

/** Nobody remembers for longer which pod has made room for which. */
const memoryMs = 90_000;

/** A pod that takes the place of another one elsewhere. */
export type Move = { readonly pod: PodView; readonly fromUid: string; readonly fromNode: string };

type Departure = { readonly uid: string; readonly node: string; readonly at: number };

/** A pod is not moved: it ends, and its workload gets another one. What people see is a move: this finds out which. */
export class PodMoves {
  readonly #departures = new Map<string, Departure[]>();

  /** A pod is on its way out, or has gone. */
  departs({ workload, uid, node }: PodView, nowMs: number): void {
    if (node === '') return;
    const known = (this.#departures.get(workload) ?? []).filter(({ at }) => nowMs - at < memoryMs);
    if (!known.some(departure => departure.uid === uid)) known.push({ uid, node, at: nowMs });
    this.#departures.set(workload, known);
  }

  /** A pod has come to a node: from where, if it takes the place of one that has departed from another. */
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
