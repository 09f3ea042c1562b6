import type { Node } from '@drydock/core/node';
import type { Fence } from '@drydock/kube-client';
import type { Clock, PanicHandler } from '@drydock/utils';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import type { AlertSilencer } from '../ports.ts';

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
  #told: ReadonlySet<string> = new Set();

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
      if ((holdRecord !== undefined) !== this.#told.has(name)) this.#wake();
    };
    const unsubscribe = cache.subscribe({ node: look, complete: () => this.#wake() });
    try {
      while (!signal.aborted) {
        const againMs = await this.#tell(signal);
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
  async #tell(signal: AbortSignal): Promise<number> {
    const { cache, silencer, fence, defects } = this.#options;
    // Before all nodes are known, the held ones are not known either.
    if (!fence.mayAct() || cache.unsynced.length > 0) return gatherMs;
    const held = [...cache.nodes.values()].filter(({ holdRecord }) => holdRecord !== undefined);
    this.#told = new Set(held.map(({ name }) => name));
    try {
      return await silencer.silence(this.#told, signal);
    } catch (error) {
      if (signal.aborted) return 0;
      // A refusal of an alertmanager is returned as a value: a throw is a defect of ours, and no
      // reason for the other loops to end.
      defects.tell('Process', 'silences', error);
      return againMs;
    }
  }
}
