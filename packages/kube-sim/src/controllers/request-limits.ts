import type { Clock } from '@drydock/utils';

/** Rate limits for the components of a cluster, and speed of its API server. */

/**
 * A token bucket of client-go (flowcontrol.NewTokenBucketRateLimiter): requests a second, and the
 * burst after a rest.
 */
export type ClientLimit = { readonly qps: number; readonly burst: number };

export type RequestLimits = {
  /**
   * Limit of each controller: kube-controller-manager gives every one its own client
   * (`--kube-api-qps`, `--kube-api-burst`).
   */
  readonly controllers?: ClientLimit;
  readonly scheduler?: ClientLimit;
  /**
   * Milliseconds that the API server and its etcd take for a write, one after the other: none when
   * left out.
   */
  readonly writeMs?: number;
};

/**
 * Default limits of the components (KubeControllerManagerConfiguration,
 * KubeSchedulerConfiguration).
 */
export const defaultLimits = {
  controllers: { qps: 20, burst: 30 },
  scheduler: { qps: 50, burst: 100 },
} as const satisfies RequestLimits;

/** Client of the scheduler; all others but `others` are controllers, by their names. */
export const schedulerClient = 'kube-scheduler';

/**
 * Clients whose limits are never reached: kubelets, each with 50 requests a second, users, and
 * event recorders.
 */
export const otherClients = 'others';

/** Limit of a client's requests in flight: the workers of its queue (`--concurrent-*-syncs`). */
const defaultWorkers = 5;
const workersOf: Readonly<Record<string, number>> = {
  controllermanager: 1,
  'daemonset-controller': 2,
  [schedulerClient]: 100,
};

/**
 * Cost of an event in tokens: events use the same client, one after the other, while up to ten pods
 * are created at once: one in seven gets its turn, and the others are late or dropped.
 */
const tokensOfEvent = 0.15;

class TokenBucket {
  readonly #limit: ClientLimit;
  #tokens: number;
  #atMs: number;

  constructor(limit: ClientLimit, nowMs: number) {
    this.#limit = limit;
    this.#tokens = limit.burst;
    this.#atMs = nowMs;
  }

  #fill(nowMs: number): void {
    const { qps, burst } = this.#limit;
    this.#tokens = Math.min(burst, this.#tokens + ((nowMs - this.#atMs) * qps) / 1000);
    this.#atMs = nowMs;
  }

  waitMs(nowMs: number): number {
    this.#fill(nowMs);
    return this.#tokens >= 1 ? 0 : ((1 - this.#tokens) * 1000) / this.#limit.qps;
  }

  take(nowMs: number, tokens: number): void {
    this.#fill(nowMs);
    this.#tokens -= tokens;
  }
}

type Client = { readonly bucket?: TokenBucket; readonly freeAtMs: number[] };

/**
 * Queue of a cluster's writes: each client waits for its own limit and for its responses, and all
 * of them for the API server.
 */
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
    const limit =
      name === otherClients
        ? undefined
        : name === schedulerClient
          ? this.#limits.scheduler
          : this.#limits.controllers;
    const freeAtMs = Array.from({ length: workersOf[name] ?? defaultWorkers }, () => 0);
    const client = { ...(limit && { bucket: new TokenBucket(limit, this.#nowMs) }), freeAtMs };
    this.#clients.set(name, client);
    return client;
  }

  /**
   * Returns milliseconds until this client may start a request: until it has a token and a free
   * worker.
   */
  waitMs(name: string): number {
    const { bucket, freeAtMs } = this.#clientOf(name);
    const now = this.#nowMs;
    return Math.ceil(Math.max(0, bucket?.waitMs(now) ?? 0, Math.min(...freeAtMs) - now));
  }

  /** Counts an event of the controller, in addition to its writes. */
  note(name: string): void {
    this.#clientOf(name).bucket?.take(this.#nowMs, tokensOfEvent);
  }

  /**
   * Counts writes of the client, now. Returns milliseconds until the last one is done. Missing
   * tokens are paid back later.
   */
  write(name: string, times = 1): number {
    const { bucket, freeAtMs } = this.#clientOf(name);
    const now = this.#nowMs;
    bucket?.take(now, times);
    this.#busyUntilMs = Math.max(now, this.#busyUntilMs) + times * (this.#limits.writeMs ?? 0);
    freeAtMs[freeAtMs.indexOf(Math.min(...freeAtMs))] = this.#busyUntilMs;
    return Math.round(this.#busyUntilMs - now);
  }
}
