import { reasonOfId } from '@drydock/core/drain';
import { emptyMemo, type ReconcileMemo } from '@drydock/core/maintenance';
import type { Problem } from '@drydock/core/request';
import type { Overview } from '../ports.ts';

/** Memory of one node. */
type NodeState = {
  readonly notes: ReconcileMemo;
  /** Number of pods left at the last pass: the fewer, the earlier the node's turn. */
  readonly remaining: number;
  /** Number of failed passes in a row. */
  readonly failures: number;
  readonly trouble?: Problem;
};

const blank: NodeState = { notes: emptyMemo, remaining: 0, failures: 0 };

/** First and longest pause after a lost race, in seconds. */
const pause = { first: 0.02, longest: 5 };

/** Memory of all nodes between two passes. Its loss costs calls, never safety. */
export class NodeStates {
  readonly #nodeStates = new Map<string, NodeState>();

  of(nodeName: string): NodeState {
    return this.#nodeStates.get(nodeName) ?? blank;
  }

  note(nodeName: string, notes: ReconcileMemo, remaining: number): void {
    this.#nodeStates.set(nodeName, { ...this.of(nodeName), notes, remaining });
  }

  succeeded(nodeName: string): void {
    const { trouble: _trouble, ...nodeState } = this.of(nodeName);
    if (this.#nodeStates.has(nodeName))
      this.#nodeStates.set(nodeName, { ...nodeState, failures: 0 });
  }

  /** Remembers a refused write, so that it is reported to waiting requests. */
  refused(nodeName: string, message: string): void {
    this.#nodeStates.set(nodeName, {
      ...this.of(nodeName),
      trouble: { reason: 'WriteRefused', message: `cannot write: ${message}` },
    });
  }

  /** Marks the report on this request as not stored, so that it is written again. */
  unsaid(nodeName: string, requestKey: string): void {
    const nodeState = this.of(nodeName);
    const reported = new Map([...nodeState.notes.reported].filter(([key]) => key !== requestKey));
    this.#nodeStates.set(nodeName, { ...nodeState, notes: { ...nodeState.notes, reported } });
  }

  /** Counts a failed pass. Returns the seconds until the next try. */
  failed(nodeName: string): number {
    const nodeState = this.of(nodeName);
    this.#nodeStates.set(nodeName, { ...nodeState, failures: nodeState.failures + 1 });
    return Math.min(pause.first * 2 ** Math.min(nodeState.failures, 20), pause.longest);
  }

  /** Counts the blockers of this moment, by cause. */
  blockers(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    for (const { notes } of this.#nodeStates.values()) {
      for (const id of notes.blockedSince.keys()) {
        const reason = reasonOfId(id);
        counts.set(reason, (counts.get(reason) ?? 0) + 1);
      }
    }
    return counts;
  }

  /** Counts the VMs by state, on the nodes that are worked on. */
  vms(): Overview['vms'] {
    const all = [...this.#nodeStates.values()].flatMap(({ notes }) => [
      ...(notes.vms?.vms.values() ?? []),
    ]);
    return [...Map.groupBy(all, ({ platform, state }) => `${platform} ${state}`)].map(
      ([key, vms]) => {
        const [platform = '', state = ''] = key.split(' ');
        return { platform, state, count: vms.length };
      },
    );
  }

  forget(nodeName: string): void {
    this.#nodeStates.delete(nodeName);
  }
}
