import { type Node, readNode } from '@drydock/core/node';
import { drainRequest } from '@drydock/core/request';
import type { Connection } from '@drydock/kube-client';
import { vitalGet } from '@drydock/kube-client';
import { noMeter } from '@drydock/operator';
import { NodeReconciler } from '@drydock/operator/node';
import type { Clock, Log } from '@drydock/utils';
import { PanicHandler } from '@drydock/utils';
import { nodePath } from '../shared/nodes.ts';
import type { DrainOptions } from './drain-options.ts';
import { type DrainUpdate, NodeDrain } from './node-drain.ts';

/** Milliseconds between reads of the nodes: a kubelet's readiness changes within 40 s. */
const readNodesEveryMs = 5000;

type Options = {
  readonly connection: Connection;
  readonly clock: Clock;
  readonly log: Log;
  readonly drainOptions: Pick<DrainOptions, 'policy' | 'timeoutSeconds'>;
  readonly tell: (nodeName: string, update: DrainUpdate) => void;
};

/**
 * Drains nodes with the operator's engine: the same decisions, budgets and pace, in a process that
 * ends with them. Reads budgets and DaemonSets while the nodes are still being cordoned; does
 * nothing to a node before `ask` names it.
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
      defects: new PanicHandler({ log }),
      adapters: [],
      terms: { durationSeconds: 0, renewEverySeconds: 0 },
      scope: 'drain',
      decide: (snapshot, now) => {
        const drain = this.#drains.get(snapshot.nodeName);
        if (drain === undefined)
          throw new Error(`nobody has asked for a drain of ${snapshot.nodeName}`);
        return drain.decide(snapshot, now);
      },
    });
  }

  get drains(): readonly NodeDrain[] {
    return [...this.#drains.values()];
  }

  /** Resolves when every requested node is drained or given up, or when the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const end = AbortSignal.any([signal, this.#done.signal]);
    try {
      await Promise.all([this.#operator.run(end), this.#followNodes(end)]);
    } finally {
      this.#done.abort();
    }
  }

  /** Requests the drain of these nodes, and no others. Each is already cordoned. */
  ask(nodes: readonly Node[]): void {
    const { drainOptions, clock } = this.#options;
    for (const node of nodes) {
      const request = drainRequest(node.name, drainOptions.policy, clock.now());
      const { timeoutSeconds } = drainOptions;
      this.#drains.set(
        node.name,
        new NodeDrain({
          request,
          node,
          timeoutSeconds,
          tell: (name, update) => this.#told(name, update),
        }),
      );
      this.#operator.addRequest(request);
    }
    this.#allAsked = true;
    this.#endWhenDone();
  }

  /**
   * Reads the nodes of running drains periodically: a silent kubelet is reported as the cause of
   * the delays that follow.
   */
  async #followNodes(signal: AbortSignal): Promise<void> {
    const { clock, connection, log } = this.#options;
    while (!signal.aborted) {
      await clock.sleep(readNodesEveryMs, signal);
      for (const drain of this.drains.filter(({ hasEnded }) => !hasEnded)) {
        const { nodeName } = drain.request;
        if (signal.aborted) return;
        const found = await vitalGet(connection, nodePath(nodeName), error =>
          log.debug('failed to read a node', { node: nodeName, error }),
        );
        if (found?.status !== 200) continue;
        drain.node = readNode(found.body);
        this.#operator.enqueue(nodeName);
      }
    }
  }

  #told(nodeName: string, update: DrainUpdate): void {
    this.#options.tell(nodeName, update);
    if (update.kind !== 'ended') return;
    const drain = this.#drains.get(nodeName);
    // Removing the request triggers another reconcile, which cancels what is still queued for the
    // node.
    if (drain !== undefined) this.#operator.removeRequest(drain.request);
    this.#endWhenDone();
  }

  #endWhenDone(): void {
    if (this.#allAsked && this.drains.every(({ hasEnded }) => hasEnded)) this.#done.abort();
  }
}
