import type { Clock } from '../../support/clock.ts';

/** How fast the components of a cluster may write, and how fast its API server takes it. */

/** A token bucket of client-go (flowcontrol.NewTokenBucketRateLimiter): so many requests a second, and so many at once after a rest. */
export type ClientLimit = { readonly qps: number; readonly burst: number };

export type RequestLimits = {
  /** Of each controller: kube-controller-manager gives every one a client of its own (`--kube-api-qps`, `--kube-api-burst`). */
  readonly controllers?: ClientLimit;
  readonly scheduler?: ClientLimit;
  /** How long the API server and its etcd take for a write, one after the other, in milliseconds: no time when left out. */
  readonly writeMs?: number;
};

/** What the components allow themselves where nobody has said otherwise (KubeControllerManagerConfiguration, KubeSchedulerConfiguration). */
export const defaultLimits = {
  controllers: { qps: 20, burst: 30 },
  scheduler: { qps: 50, burst: 100 },
} as const satisfies RequestLimits;

/** The client of the scheduler; all others but `others` are controllers, by their names. */
export const schedulerClient = 'kube-scheduler';

/** Clients whose limits are never reached: kubelets, each with 50 requests a second, users, and those who record events. */
export const otherClients = 'others';

/** Requests of one client that are under way at once: the workers of its queue (`--concurrent-*-syncs`). */
const usualWorkers = 5;
const workersOf: Readonly<Record<string, number>> = { controllermanager: 1, 'daemonset-controller': 2, [schedulerClient]: 100 };

/** Events that wait to be written are dropped past so many (maxQueuedEvents of client-go's EventBroadcaster). */
const mostEvents = 1000;

/** How long an event takes while there are tokens, in milliseconds. */
const eventMs = 5;

/**
 * The tokens of one client. Its events go through it too, written by a goroutine of their own (EventBroadcaster.StartRecordingToSink): one after
 * the other as long as there are tokens. Where the workers wait for tokens, it waits in the same line, and has its turn after each of them.
 */
class TokenBucket {
  readonly #limit: ClientLimit;
  readonly #workers: number;
  #tokens: number;
  #events = 0;
  #atMs: number;

  constructor(limit: ClientLimit, workers: number, nowMs: number) {
    this.#limit = limit;
    this.#workers = workers;
    this.#tokens = limit.burst;
    this.#atMs = nowMs;
  }

  #fill(nowMs: number): void {
    const { qps, burst } = this.#limit;
    const elapsedMs = nowMs - this.#atMs;
    this.#tokens += (elapsedMs * qps) / 1000;
    this.#writeEvents(Math.min(this.#tokens - 1, elapsedMs / eventMs));
    this.#tokens = Math.min(burst, this.#tokens);
    this.#atMs = nowMs;
  }

  #writeEvents(most: number): void {
    const written = Math.max(0, Math.min(this.#events, most));
    this.#events -= written;
    this.#tokens -= written;
  }

  waitMs(nowMs: number): number {
    this.#fill(nowMs);
    return this.#tokens >= 1 ? 0 : ((1 - this.#tokens) * 1000) / this.#limit.qps;
  }

  take(nowMs: number, tokens: number): void {
    this.#fill(nowMs);
    this.#tokens -= tokens;
    this.#writeEvents(tokens / this.#workers);
  }

  addEvent(nowMs: number): void {
    this.#fill(nowMs);
    this.#events = Math.min(mostEvents, this.#events + 1);
  }
}

type Client = { readonly bucket?: TokenBucket; readonly freeAtMs: number[] };

/** The writes of a cluster on their way: each client waits for its own limit and for its answers, and all of them for the API server. */
export class RequestQueue {
  readonly #limits: RequestLimits;
  readonly #clock: Clock;
  readonly #clients = new Map<string, Client>();
  #busyUntilMs = 0;

  constructor(limits: RequestLimits, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
  }

  get #nowMs(): number {
    return this.#clock.now().epochMilliseconds;
  }

  #clientOf(name: string): Client {
    const known = this.#clients.get(name);
    if (known !== undefined) return known;
    const limit = name === otherClients ? undefined : name === schedulerClient ? this.#limits.scheduler : this.#limits.controllers;
    const workers = workersOf[name] ?? usualWorkers;
    const freeAtMs = Array.from({ length: workers }, () => 0);
    const client = { ...(limit && { bucket: new TokenBucket(limit, workers, this.#nowMs) }), freeAtMs };
    this.#clients.set(name, client);
    return client;
  }

  /** Milliseconds until this client may begin with something: it has a token and a free worker then. */
  waitMs(name: string): number {
    const { bucket, freeAtMs } = this.#clientOf(name);
    const now = this.#nowMs;
    return Math.ceil(Math.max(0, bucket?.waitMs(now) ?? 0, Math.min(...freeAtMs) - now));
  }

  /** The controller records an event, beside its writes. */
  note(name: string): void {
    this.#clientOf(name).bucket?.addEvent(this.#nowMs);
  }

  /** The client writes so often, now. The answer: milliseconds until the last one is done. What it has no tokens for, it pays back later. */
  write(name: string, times = 1): number {
    const { bucket, freeAtMs } = this.#clientOf(name);
    const now = this.#nowMs;
    bucket?.take(now, times);
    this.#busyUntilMs = Math.max(now, this.#busyUntilMs) + times * (this.#limits.writeMs ?? 0);
    freeAtMs[freeAtMs.indexOf(Math.min(...freeAtMs))] = this.#busyUntilMs;
    return Math.round(this.#busyUntilMs - now);
  }
}
