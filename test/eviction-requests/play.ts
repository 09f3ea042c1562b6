import assert from 'node:assert/strict';
import type { Api } from '../control-plane/objects/api.ts';
import { type Call, controllersAct, type Eviction, type Pod, type Request } from './controllers.ts';

/** What is looked at in each round. */
type Round = {
  readonly pods: readonly Pod[];
  readonly requests: readonly Request[];
  readonly evictions: readonly Eviction[];
};

/** Whoever answers Evictions beside the default responder: what it does in a round. */
export type Responder = (round: Round, now: Temporal.Instant) => readonly Call[];

type Lists<T> = { readonly items: readonly T[] };
const group = '/apis/lifecycle.k8s.io/v1alpha1';

async function roundOf(api: Api): Promise<Round> {
  const [pods, requests, evictions] = await Promise.all([
    api.get<Lists<Pod>>('/api/v1/pods'),
    api.get<Lists<Request>>(`${group}/evictionrequests`),
    api.get<Lists<Eviction>>(`${group}/evictions`),
  ]);
  return { pods: pods.items, requests: requests.items, evictions: evictions.items };
}

function messageOf(body: unknown): string {
  return (body as { readonly message?: string }).message ?? '';
}

/**
 * Plays the controllers, and responders, on an API server, which checks every write. A write that
 * it refuses is a fault of the play.
 */
export class EvictionControllers {
  readonly #api: Api;
  readonly #responders: readonly Responder[];
  readonly #running: Promise<void>;
  readonly refused: string[] = [];
  #stopped = false;

  constructor(api: Api, responders: readonly Responder[] = []) {
    this.#api = api;
    this.#responders = responders;
    this.#running = this.#play();
  }

  async #play(): Promise<void> {
    while (!this.#stopped) {
      const round = await roundOf(this.#api);
      const now = Temporal.Now.instant();
      const calls = [
        ...controllersAct(round, now),
        ...this.#responders.flatMap(responder => responder(round, now)),
      ];
      for (const call of calls) await this.#send(call);
      await new Promise(resolve => setTimeout(resolve, 100));
    }
  }

  async #send({ method, path, body, next }: Call): Promise<void> {
    const reply = await this.#api.call(
      method,
      path,
      body,
      method === 'PATCH' ? 'application/merge-patch+json' : undefined,
    );
    if (next !== undefined) return this.#send(next(reply.status, messageOf(reply.body)));
    // Somebody has written meanwhile, or the object is gone: the next round looks again.
    if (reply.status >= 300 && reply.status !== 409 && reply.status !== 404)
      this.refused.push(`${method} ${path}: ${messageOf(reply.body)}`);
  }

  /** Ends the play, and says whether the API server took every word of it. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#running;
    assert.deepEqual(this.refused, []);
  }
}
