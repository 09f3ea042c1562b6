import type { Clock } from '@drydock/utils';
import { text } from '../object.ts';
import { create } from '../registry/create.ts';
import { remove } from '../registry/delete.ts';
import type { Refused, WriteResult } from '../registry/managed.ts';
import type { RegistryContext } from '../registry/metadata.ts';
import { replace } from '../registry/update.ts';
import type { StoreChange } from '../store/store.ts';
import type { Cluster, Controller, Writes, Written } from './controller.ts';

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

function refused({ failure }: Refused): Written {
  return {
    kind: 'refused',
    code: failure.code,
    reason: failure.reason ?? '',
    message: failure.message,
  };
}

function written(outcome: WriteResult): Written {
  return outcome.kind === 'done' ? { kind: 'stored', object: outcome.object } : refused(outcome);
}

/**
 * Returns the registry's writes for controllers: the same checks as for all clients, without a path
 * or a body in between.
 */
export function writesOn(registry: RegistryContext): Writes {
  return {
    create: (resource, draft) =>
      written(
        create(registry, registry.kinds.of(resource), draft, text(draft, 'metadata', 'namespace')),
      ),
    update: (resource, object, part) => {
      const [namespace, name] = [
        text(object, 'metadata', 'namespace'),
        text(object, 'metadata', 'name'),
      ];
      const options = part === undefined ? {} : { subresource: part };
      return written(
        replace(registry, registry.kinds.of(resource), namespace, name, object, options),
      );
    },
    remove: (resource, namespace, name, { gracePeriodSeconds, uid, propagationPolicy } = {}) => {
      const deletion = remove(registry, registry.kinds.of(resource), namespace, name, {
        ...(gracePeriodSeconds !== undefined && { gracePeriodSeconds }),
        ...(uid !== undefined && { preconditions: { uid } }),
        ...(propagationPolicy !== undefined && { propagationPolicy }),
      });
      return deletion.kind === 'done'
        ? { kind: 'stored', object: deletion.object }
        : refused(deletion);
    },
  };
}

/** Milliseconds between a change and its reconcile: the latency of a real watch. */
const latencyMs = 2;

type QueuedKey = { readonly controller: Controller; readonly key: string };

/**
 * Runs controllers: one key at a time, in the order of the queue, on the clock of the cluster, each
 * within the limit of its client.
 */
export class ControllerRunner {
  readonly #cluster: Cluster;
  readonly #clock: Clock;
  readonly #controllers: readonly Controller[];
  readonly #requests: RequestQueue | undefined;
  readonly #waiting = new Map<string, QueuedKey>();
  readonly #later = new Map<string, () => void>();
  /** Key that is being reconciled. */
  #current: QueuedKey | undefined;
  #scheduled: (() => void) | undefined;
  #unsubscribe: (() => void) | undefined;

  constructor(
    cluster: Cluster,
    clock: Clock,
    controllers: readonly Controller[],
    requests?: RequestQueue,
  ) {
    this.#cluster = cluster;
    this.#clock = clock;
    this.#controllers = controllers;
    this.#requests = requests;
  }

  /** Counts a write of the running controller. */
  wrote(): void {
    if (this.#current !== undefined) this.#requests?.write(this.#current.controller.name);
  }

  /** Subscribes to all following changes. Pass existing objects to `touch`. */
  start(): void {
    this.#unsubscribe = this.#cluster.store.subscribe(change => this.#told(change));
  }

  /** Enqueues the keys that a change would concern: for objects that existed before the start. */
  touch(change: StoreChange): void {
    this.#told(change);
  }

  /** Stops reconciling. */
  stop(): void {
    this.#unsubscribe?.();
    this.#scheduled?.();
    for (const cancel of this.#later.values()) cancel();
    this.#waiting.clear();
    this.#later.clear();
  }

  #told(change: StoreChange): void {
    for (const controller of this.#controllers) {
      for (const key of controller.keysOf(change, this.#cluster)) {
        if (!this.#isOwn(change, controller, key)) this.#want({ controller, key });
      }
    }
  }

  #isOwn({ resource }: StoreChange, controller: Controller, key: string): boolean {
    return (
      controller.settles === resource &&
      this.#current?.controller === controller &&
      this.#current.key === key
    );
  }

  #want(queued: QueuedKey): void {
    const id = `${queued.controller.name} ${queued.key}`;
    if (this.#waiting.has(id)) return;
    this.#waiting.set(id, queued);
    this.#scheduled ??= this.#clock.after(latencyMs, () => this.#work());
  }

  /** Counts an event of the running controller. */
  noted(): void {
    if (this.#current !== undefined) this.#requests?.note(this.#current.controller.name);
  }

  #waitMs({ controller }: QueuedKey): number {
    return this.#requests?.waitMs(controller.name) ?? 0;
  }

  /**
   * Runs one round. Changes by the work itself are reconciled in the next round; so are keys that
   * wait for their client's limit.
   */
  #work(): void {
    this.#scheduled = undefined;
    const round = [...this.#waiting];
    const late: [string, QueuedKey][] = [];
    this.#waiting.clear();
    for (const [id, key] of round) {
      if (this.#waitMs(key) > 0 || !this.#look(id, key)) late.push([id, key]);
    }
    if (late.length > 0) this.#putFirst(late);
  }

  /** Reconciles a key; returns whether it is done. */
  #look(id: string, queued: QueuedKey): boolean {
    this.#later.get(id)?.();
    this.#later.delete(id);
    this.#current = queued;
    const again = queued.controller.reconcile(queued.key, this.#cluster);
    this.#current = undefined;
    if (again === undefined) return true;
    if (again === 'waits') return false;
    this.#later.set(
      id,
      this.#clock.after(again, () => this.#want(queued)),
    );
    return true;
  }

  #putFirst(late: readonly (readonly [string, QueuedKey])[]): void {
    const rest = [...this.#waiting];
    this.#waiting.clear();
    for (const [id, key] of [...late, ...rest]) this.#waiting.set(id, key);
    const soonest = Math.min(...late.map(([, key]) => this.#waitMs(key)));
    this.#scheduled ??= this.#clock.after(Math.max(latencyMs, soonest), () => this.#work());
  }
}
