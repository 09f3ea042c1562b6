import { secondsBetween } from '@drydock/apimachinery';
import { reasonOfId } from '@drydock/core/drain';
import { emptyMemo, type ReconcileMemo } from '@drydock/core/maintenance';
import type { Node } from '@drydock/core/node';
import type { MaintenanceRequest, Problem } from '@drydock/core/request';
import type { Fence } from '@drydock/kube-client';
import type { Clock, PanicHandler } from '@drydock/utils';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import type { AlertSilencer, Overview } from '../ports.ts';

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

/** Counts maintenances by kind and state. */
export function countedByState(
  all: readonly (readonly [kind: string, state: string])[],
): Overview['maintenances'] {
  const counts = new Map<
    string,
    { readonly kind: string; readonly state: string; readonly count: number }
  >();
  for (const [kind, state] of all) {
    const key = `${kind}/${state}`;
    counts.set(key, { kind, state, count: (counts.get(key)?.count ?? 0) + 1 });
  }
  return [...counts.values()];
}

/**
 * Returns the seconds that the longest complete drain of the existing maintenances took; nothing if
 * none is complete.
 */
export function maxDrain(requests: Iterable<MaintenanceRequest>): {
  readonly drainSeconds?: number;
} {
  let longest: number | undefined;
  for (const { history } of requests) {
    const { drainStartedAt, drainedAt } = history;
    if (drainStartedAt && drainedAt)
      longest = Math.max(longest ?? 0, secondsBetween(drainStartedAt, drainedAt));
  }
  return longest === undefined ? {} : { drainSeconds: longest };
}

/** Reports the held nodes to the silencer of alerts. */

/** Milliseconds to gather changes: nodes are often held and released together. */
const gatherMs = 1000;

/** Milliseconds until the next try after a defect of ours. */
const againMs = 60_000;

type NodeSilencerOptions = {
  readonly cache: Pick<ClusterCache, 'nodes' | 'unsynced' | 'subscribe'>;
  readonly silencer: AlertSilencer;
  readonly fence: Fence;
  readonly clock: Clock;
  readonly defects: PanicHandler;
};

export class NodeSilencer {
  readonly #options: NodeSilencerOptions;
  #wake: () => void = () => {};
  #silenced: ReadonlySet<string> = new Set();

  constructor(options: NodeSilencerOptions) {
    this.#options = options;
  }

  /**
   * Runs until the signal is aborted. Silences stay for their requested time: another replica takes
   * over.
   */
  async run(signal: AbortSignal): Promise<void> {
    const { cache, clock } = this.#options;
    const look = ({ name, holdRecord }: Node): void => {
      if ((holdRecord !== undefined) !== this.#silenced.has(name)) this.#wake();
    };
    const unsubscribe = cache.subscribe({ node: look, complete: () => this.#wake() });
    try {
      while (!signal.aborted) {
        const againMs = await this.#silence(signal);
        const woken = new AbortController();
        this.#wake = () => woken.abort();
        for (const node of cache.nodes.values()) look(node);
        await clock.sleep(againMs, AbortSignal.any([signal, woken.signal]));
        await clock.sleep(gatherMs, signal);
      }
    } finally {
      unsubscribe();
    }
  }

  /** Returns the milliseconds until the next time, if nothing happens before. */
  async #silence(signal: AbortSignal): Promise<number> {
    const { cache, silencer, fence, defects } = this.#options;
    // Before all nodes are known, the held ones are not known either.
    if (!fence.mayAct() || cache.unsynced.length > 0) return gatherMs;
    const held = [...cache.nodes.values()].filter(({ holdRecord }) => holdRecord !== undefined);
    this.#silenced = new Set(held.map(({ name }) => name));
    try {
      return await silencer.silence(this.#silenced, signal);
    } catch (error) {
      if (signal.aborted) return 0;
      // A refusal of an alertmanager is returned as a value: a throw is a defect of ours, and no
      // reason for the other loops to end.
      defects.report('Process', 'silences', error);
      return againMs;
    }
  }
}
