import type {
  Api,
  ApiCall,
  ApiResponse,
  StreamRequest,
  StreamResponse,
  Streams,
} from '@drydock/kube-client';
import { ConnectionError } from '@drydock/kube-client';
import { type Failure, unnamed } from '@drydock/kube-sim';
import type { WatchEvent } from '@drydock/kube-sim/api';
import type { Clock } from '@drydock/utils';
import { never, type SimulationContext } from '../simulation-context.ts';
import type { Caller } from './caller.ts';

/** The line between one process and the API server: slow, and it breaks. */

const refusals: readonly (readonly [code: number, why: string])[] = [
  [429, 'too many requests'],
  [500, 'etcdserver: request timed out'],
  [503, 'the server is currently unable to handle the request'],
  [504, 'the server was unable to return a response in the time allotted'],
];

const conflict = unnamed(
  409,
  'Operation cannot be fulfilled: the object has been modified; please apply your changes to the latest version',
);

function responseWith(failure: Failure): ApiResponse {
  return {
    status: failure.code,
    headers: {
      'content-type': 'application/json',
      ...(failure.code === 429 && { 'retry-after': '1' }),
    },
    body: { ...failure, ...(failure.code === 409 && { reason: 'Conflict' }) },
  };
}

type Behavior = 'well' | 'refused' | 'conflict' | 'lost' | 'unanswered';

const defaultTimeoutMs = 30_000;

/** So far behind an API server's cache may be. */
const oldestCacheMs = 20_000;
const newline = Buffer.from('\n');

export class Line implements Api, Streams {
  readonly #world: SimulationContext;
  readonly #caller: Caller;
  readonly #clock: Clock;
  readonly #flows = new Set<Flow>();

  constructor(world: SimulationContext, caller: Caller, clock: Clock) {
    this.#world = world;
    this.#caller = caller;
    this.#clock = clock;
  }

  async call(call: ApiCall, signal?: AbortSignal): Promise<ApiResponse> {
    if (!this.#caller.isAlive()) return never();
    signal?.throwIfAborted();
    this.#world.audit.sends(this.#caller, call);
    this.#world.asked(call.method, call.path);
    const behavior = this.#behaviorOf(call);
    if (call.method === 'GET') this.#hasRead(call, behavior === 'well' || behavior === 'conflict');
    const slow = this.#world.isFaulty() && this.#world.chance() < this.#world.story.calls.slow;
    await this.#pass(this.#transitMs(slow), signal);
    if (behavior === 'lost') return this.#broken(call, false, signal);
    if (behavior === 'refused') return this.#refusal();
    if (behavior === 'conflict') return responseWith(conflict);
    const response = await this.#world.serve(this.#caller, this.#staleOf(call));
    if (!this.#caller.isAlive()) return never();
    if (behavior === 'unanswered') return this.#broken(call, true, signal);
    await this.#pass(this.#transitMs(slow), signal);
    return response;
  }

  async stream(request: StreamRequest, signal: AbortSignal): Promise<StreamResponse> {
    if (!this.#caller.isAlive()) return never();
    signal.throwIfAborted();
    this.#world.asked('WATCH', request.path);
    await this.#pass(this.#transitMs(false), signal);
    if (
      this.#isOut() ||
      (this.#world.isFaulty() && this.#world.chance() < this.#world.story.calls.lost)
    ) {
      this.#hasRead(request, false);
      return this.#broken({ method: 'GET', ...request }, false, signal);
    }
    return this.#open(request, signal);
  }

  /** The process is no more: nothing is told to it. */
  hangUp(): void {
    for (const flow of this.#flows) flow.drop();
  }

  #hasRead({ path, query }: Pick<StreamRequest, 'path' | 'query'>, well: boolean): void {
    const { reads } = this.#world.audit;
    const collection = `${this.#caller.id} ${path} ${query?.['fieldSelector'] ?? ''}`;
    if (well) reads.succeeded(collection);
    else reads.failed(collection, this.#world.clock.nowMs);
  }

  #isOut(): boolean {
    const now = this.#world.sinceStart();
    return this.#world.story.outages.some(({ fromMs, toMs }) => now >= fromMs && now < toMs);
  }

  #behaviorOf(call: ApiCall): Behavior {
    if (!this.#world.isFaulty()) return 'well';
    if (this.#isOut()) return 'lost';
    const { refused, conflict, lost, unanswered } = this.#world.story.calls;
    const drawn = this.#world.chance();
    if (drawn < refused) return 'refused';
    if (drawn < refused + conflict)
      return call.method === 'GET' || call.path.endsWith('/eviction') ? 'well' : 'conflict';
    if (drawn < refused + conflict + lost) return 'lost';
    return drawn < refused + conflict + lost + unanswered ? 'unanswered' : 'well';
  }

  /** In calm times what takes a network takes; never longer than the fence of a leader leaves. */
  #transitMs(slow: boolean): number {
    if (!this.#world.isFaulty()) return 1;
    return slow ? 200 + this.#world.chance() * 3000 : this.#world.chance() * 8;
  }

  async #pass(milliseconds: number, signal?: AbortSignal): Promise<void> {
    await this.#clock.sleep(milliseconds, signal);
    if (!this.#caller.isAlive()) return never();
    signal?.throwIfAborted();
  }

  #refusal(): ApiResponse {
    const [code, why] = refusals[Math.floor(this.#world.chance() * refusals.length)] ?? [500, ''];
    return responseWith(unnamed(code, why));
  }

  /** At once, or when the call's time is up. */
  async #broken(call: ApiCall, mayHaveHappened: boolean, signal?: AbortSignal): Promise<never> {
    const hangs = call.method !== 'GET' || this.#world.story.watches.hangs;
    const inTime = this.#world.chance() < 0.7;
    await this.#pass(
      inTime || !hangs ? this.#world.chance() * 500 : (call.timeoutMs ?? defaultTimeoutMs),
      signal,
    );
    const { method, path } = call;
    throw new ConnectionError(
      { method, path, server: 'simulated' },
      inTime ? 'reset' : 'timeout',
      mayHaveHappened,
      'the connection broke',
    );
  }

  /** A list that may come from a cache comes from one that is behind. */
  #staleOf(call: ApiCall): ApiCall {
    const { story, chance } = this.#world;
    if (call.method !== 'GET' || call.query?.['resourceVersion'] !== 0 || !this.#world.isFaulty())
      return call;
    if (chance() >= story.watches.stale) return call;
    const version = this.#world.versionBefore(chance() * oldestCacheMs);
    return {
      ...call,
      query: { ...call.query, resourceVersion: version, resourceVersionMatch: 'Exact' },
    };
  }

  #open(request: StreamRequest, signal: AbortSignal): StreamResponse {
    const { story, chance } = this.#world;
    const query = new Map(
      Object.entries(request.query ?? {}).flatMap(([key, value]) =>
        value === undefined ? [] : [[key, String(value)]],
      ),
    );
    const isExpired =
      this.#world.isFaulty() &&
      chance() < story.watches.expired * (story.watches.cutEveryMs > 0 ? 1 : 0);
    this.#hasRead(request, !isExpired);
    if (isExpired)
      return {
        kind: 'refused',
        response: responseWith({ ...unnamed(410, 'too old resource version'), reason: 'Expired' }),
      };
    const response = this.#world.cluster.answer({
      method: 'GET',
      path: request.path,
      query,
      accept: request.accept ?? 'application/json',
      contentType: 'application/json',
      userAgent: 'drydock',
      body: { kind: 'none' },
    });
    if (response.kind !== 'watch')
      return {
        kind: 'refused',
        response: { status: response.status, headers: {}, body: response.body },
      };
    const flow = new Flow(this.#world.clock, signal, () => this.#lagMs());
    this.#flows.add(flow);
    const watching = response.open({ event: event => flow.tell(event), ended: () => flow.end() });
    flow.closing(() => {
      watching.close();
      this.#flows.delete(flow);
    });
    if (this.#world.isFaulty() && story.watches.cutEveryMs > 0) {
      const silent = story.watches.hangs && chance() < 0.3;
      this.#clock.after(story.watches.cutEveryMs * (0.2 + 1.6 * chance()), () => {
        if (silent) flow.fallSilent();
        else if (flow.cut(new Error('the connection broke'))) this.#hasRead(request, false);
      });
    }
    return { kind: 'open', chunks: flow };
  }

  #lagMs(): number {
    const { lagMs } = this.#world.story.watches;
    if (!this.#world.isFaulty() || lagMs === 0) return 2;
    // Mostly quick, now and then late.
    return this.#world.chance() < 0.9 ? this.#world.chance() * 20 : this.#world.chance() * lagMs;
  }
}

/** What a watch tells, on its way: it comes in order, and late. */
class Flow implements AsyncIterable<Uint8Array> {
  readonly #clock: Clock;
  readonly #lagMs: () => number;
  readonly #ready: Uint8Array[] = [];
  readonly #deafen: () => void;
  #close = (): void => {};
  #wake: (() => void) | undefined;
  #lastAt = 0;
  #silent = false;
  #over: 'no' | 'ended' | { readonly error: unknown } = 'no';

  constructor(clock: Clock, signal: AbortSignal, lagMs: () => number) {
    this.#clock = clock;
    this.#lagMs = lagMs;
    const aborted = (): void => void this.cut(signal.reason);
    signal.addEventListener('abort', aborted, { once: true });
    // A joined signal with a listener is kept for ever, and the whole story with it.
    this.#deafen = () => signal.removeEventListener('abort', aborted);
  }

  closing(close: () => void): void {
    this.#close = () => {
      this.#deafen();
      close();
    };
  }

  tell(event: WatchEvent): void {
    const bytes = Buffer.concat([Buffer.from(JSON.stringify(event)), newline]);
    this.#later(() => {
      this.#ready.push(bytes);
    });
  }

  end(): void {
    this.#later(() => {
      if (this.#over === 'no') this.#over = 'ended';
    });
  }

  /** Whether it was not over before. */
  cut(error: unknown): boolean {
    if (this.#over !== 'no') return false;
    this.#over = { error };
    this.#close();
    this.#wake?.();
    return true;
  }

  /** Whoever listens never hears of it. */
  drop(): void {
    this.#wake = undefined;
    this.#over = 'ended';
    this.#close();
  }

  /** Nothing comes any more, and nobody says so. */
  fallSilent(): void {
    this.#silent = true;
  }

  #later(run: () => void): void {
    if (this.#silent) return;
    const now = this.#clock.now().epochMilliseconds;
    this.#lastAt = Math.max(now + this.#lagMs(), this.#lastAt);
    this.#clock.after(this.#lastAt - now, () => {
      if (this.#over !== 'no') return;
      run();
      this.#wake?.();
    });
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    for (;;) {
      const next = this.#ready.shift();
      if (next !== undefined) yield next;
      else if (this.#over === 'ended') return this.#deafen();
      else if (this.#over !== 'no') throw this.#over.error;
      else await new Promise<void>(resolve => (this.#wake = resolve));
    }
  }
}
