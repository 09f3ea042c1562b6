import { drainRequest } from '../../core/request/ad-hoc.ts';
import type { Connection } from '../../kube/connect.ts';
import { NodeReconciler } from '../../operator/node/node-reconciler.ts';
import { noMeter } from '../../operator/ports.ts';
import type { Clock } from '../../support/clock.ts';
import type { Log } from '../../support/log.ts';
import type { DrainOptions } from './drain-options.ts';
import { type DrainUpdate, NodeDrain } from './node-drain.ts';

type Options = {
  readonly connection: Connection;
  readonly clock: Clock;
  readonly log: Log;
  readonly drainOptions: Pick<DrainOptions, 'policy' | 'timeoutSeconds'>;
  readonly tell: (nodeName: string, update: DrainUpdate) => void;
};

/**
 * Drains nodes with the operator's engine: the same judgement, budgets and pace, in a process that ends with them. It reads budgets and
 * DaemonSets while the nodes are still being cordoned; nothing happens to a node before it is asked for.
 */
export class DrainEngine {
  readonly #drains = new Map<string, NodeDrain>();
  readonly #options: Options;
  readonly #operator: NodeReconciler;
  readonly #done = new AbortController();
  #allAsked = false;

  constructor(options: Options) {
    this.#options = options;
    const { connection, clock, log } = options;
    this.#operator = new NodeReconciler({
      api: connection,
      watcher: connection,
      recorder: { record: () => {} },
      meter: noMeter,
      fence: { mayAct: () => true },
      clock,
      log,
      adapters: [],
      terms: { durationSeconds: 0, renewEverySeconds: 0 },
      scope: 'drain',
      decide: (snapshot, now) => {
        const drain = this.#drains.get(snapshot.nodeName);
        if (drain === undefined) throw new Error(`nobody has asked for a drain of ${snapshot.nodeName}`);
        return drain.decide(snapshot, now);
      },
    });
  }

  get drains(): readonly NodeDrain[] {
    return [...this.#drains.values()];
  }

  /** Resolves when every node that was asked for is drained or given up, or when the signal is aborted. */
  run(signal: AbortSignal): Promise<void> {
    return this.#operator.run(AbortSignal.any([signal, this.#done.signal]));
  }

  /** These nodes, and no others. Each is cordoned by now. */
  ask(nodes: readonly string[]): void {
    const { drainOptions, clock } = this.#options;
    for (const nodeName of nodes) {
      const request = drainRequest(nodeName, drainOptions.policy, clock.now());
      const { timeoutSeconds } = drainOptions;
      this.#drains.set(nodeName, new NodeDrain({ request, timeoutSeconds, tell: (name, update) => this.#told(name, update) }));
      this.#operator.ask(request);
    }
    this.#allAsked = true;
    this.#endWhenDone();
  }

  #told(nodeName: string, update: DrainUpdate): void {
    this.#options.tell(nodeName, update);
    if (update.kind !== 'ended') return;
    const drain = this.#drains.get(nodeName);
    // What is still queued for it is called back at its next turn, which this brings about.
    if (drain !== undefined) this.#operator.withdraw(drain.request);
    this.#endWhenDone();
  }

  #endWhenDone(): void {
    if (this.#allAsked && this.drains.every(({ hasEnded }) => hasEnded)) this.#done.abort();
  }
}
