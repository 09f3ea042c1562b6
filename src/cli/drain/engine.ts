import type { Connection } from '../../kube/connect.ts';
import { Operator } from '../../operator/operator.ts';
import type { Clock } from '../../support/clock.ts';
import type { Log } from '../../support/log.ts';
import { NodeDrain, type Tale } from './node-drain.ts';
import type { DrainOrder } from './order.ts';
import { drainRequest } from './request.ts';

type Options = {
  readonly connection: Connection;
  readonly clock: Clock;
  readonly log: Log;
  readonly nodes: readonly string[];
  readonly order: Pick<DrainOrder, 'policy' | 'timeoutSeconds'>;
  readonly tell: (nodeName: string, tale: Tale) => void;
};

/** Drains nodes with the operator's engine: the same judgement, budgets and pace, in a process that ends with them. */
export class DrainEngine {
  readonly #drains: ReadonlyMap<string, NodeDrain>;
  readonly #operator: Operator;
  readonly #tell: Options['tell'];
  readonly #done = new AbortController();

  constructor({ connection, clock, log, nodes, order, tell }: Options) {
    this.#tell = tell;
    const { policy, timeoutSeconds } = order;
    this.#drains = new Map(
      nodes.map(nodeName => {
        const request = drainRequest(nodeName, policy, clock.now());
        return [nodeName, new NodeDrain({ request, timeoutSeconds, tell: (name, tale) => this.#told(name, tale) })] as const;
      }),
    );
    this.#operator = new Operator({
      api: connection,
      watcher: connection,
      recorder: { record: () => {} },
      meter: { evicted: () => {}, wrote: () => {}, decided: () => {} },
      fence: { mayAct: () => true },
      clock,
      log,
      dialects: [],
      terms: { durationSeconds: 0, renewEverySeconds: 0 },
      scope: 'drain',
      decide: (picture, now) => {
        const drain = this.#drains.get(picture.nodeName);
        if (drain === undefined) throw new Error(`nobody has asked for a drain of ${picture.nodeName}`);
        return drain.decide(picture, now);
      },
    });
  }

  get drains(): readonly NodeDrain[] {
    return [...this.#drains.values()];
  }

  /** Resolves when every node is drained or given up, or when the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    if (this.#drains.size === 0) return;
    for (const { request } of this.#drains.values()) this.#operator.ask(request);
    await this.#operator.run(AbortSignal.any([signal, this.#done.signal]));
  }

  #told(nodeName: string, tale: Tale): void {
    this.#tell(nodeName, tale);
    if (tale.kind !== 'ended') return;
    const drain = this.#drains.get(nodeName);
    // What is still queued for it is called back at its next turn, which this brings about.
    if (drain !== undefined) this.#operator.withdraw(drain.request);
    if (this.drains.every(({ hasEnded }) => hasEnded)) this.#done.abort();
  }
}
