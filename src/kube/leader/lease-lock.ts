import type { Api, ApiCall, ApiResponse } from '../../operator/ports.ts';
import type { Clock } from '../../support/clock.ts';
import { isDefect, type PanicHandler } from '../../support/panic-handler.ts';
import { heldBy, holderOf, type LeaseObject, leaseOf, released } from './lease-record.ts';

/** Who claims which Lease. */
export type LockOptions = {
  readonly api: Api;
  readonly clock: Clock;
  readonly defects: PanicHandler;
  /** Milliseconds since any fixed moment, not moved by anybody who sets the time. */
  readonly uptime: () => number;
  readonly namespace: string;
  readonly name: string;
  readonly identity: string;
  /** What the identities of earlier processes of the same pod begin with. They are over: they cannot have the Lease any more. */
  readonly ownPrefix?: string | undefined;
  readonly durationMs: number;
  /** Of one request. */
  readonly timeoutMs: number;
};

/** How one try went. `since*` are from before the request was sent: no contender can have seen the renewal earlier. */
export type Lock =
  | { readonly kind: 'held'; readonly sinceMs: number; readonly sinceUptimeMs: number }
  | { readonly kind: 'taken'; readonly holder: string }
  /** The API server has an older Lease than it has shown before: its data is that of a backup. */
  | { readonly kind: 'rewound' }
  | { readonly kind: 'failed'; readonly why: string };

/** What was seen of the Lease last, and when that began to be so. The remote clock is never believed. */
type Observation = { readonly lease: LeaseObject; readonly version: string; readonly atUptimeMs: number };

/** One contender's view of one Lease, and its tries to get or keep it. */
export class LeaseLock {
  readonly #options: LockOptions;
  readonly #path: string;
  #seen: Observation | undefined;
  /** The newest version that a read or write has shown. */
  #newest: bigint | undefined;

  constructor(options: LockOptions) {
    this.#options = options;
    this.#path = `/apis/coordination.k8s.io/v1/namespaces/${options.namespace}/leases`;
  }

  /** Gets the Lease if it is free, has run out, or is ours already; else says who has it. Never rejects. */
  async attempt(signal: AbortSignal): Promise<Lock> {
    const { identity, uptime } = this.#options;
    try {
      // The holder writes straight away on what it wrote last, as client-go does; a conflict shows whether that was right.
      const known = this.#seen;
      if (known !== undefined && holderOf(known.lease) === identity) {
        const lock = await this.#write(known.lease, signal);
        if (lock !== undefined) return lock;
      }
      const lease = await this.#read(signal);
      if (lease === undefined) return await this.#create(signal);
      if (this.#isRewound(lease)) return { kind: 'rewound' };
      const holder = holderOf(lease);
      const isFree = holder === '' || holder === identity || this.#isEarlierSelf(holder);
      if (!isFree && uptime() < this.#runsOutAtMs()) return { kind: 'taken', holder };
      return (await this.#write(lease, signal)) ?? { kind: 'failed', why: 'somebody else wrote the lease at the same time' };
    } catch (error) {
      return { kind: 'failed', why: this.#options.defects.textOf('Process', this.#path, error) };
    }
  }

  /** Takes note of the Lease as a watch has shown it; answers whether it is free now. */
  saw(lease: LeaseObject): boolean {
    this.#observe(lease);
    return holderOf(lease) === '';
  }

  /** Milliseconds until the Lease as it was seen last has run out; 0 where nobody has seen it. */
  runsOutInMs(): number {
    return this.#seen === undefined ? 0 : Math.max(0, this.#runsOutAtMs() - this.#options.uptime());
  }

  /** Gives the Lease back, if it is still ours. Never rejects; when it cannot be done, others wait until it runs out. */
  async release(signal: AbortSignal): Promise<boolean> {
    try {
      const lease = await this.#read(signal);
      if (lease === undefined || holderOf(lease) !== this.#options.identity) return false;
      const response = await this.#call('PUT', `/${this.#options.name}`, signal, released(lease, this.#options.clock.now()));
      return response.status === 200;
    } catch (error) {
      if (isDefect(error)) this.#options.defects.tell('Process', this.#path, error);
      return false;
    }
  }

  /** Undefined after a conflict: the Lease must be read before anything can be said. */
  async #write(lease: LeaseObject, signal: AbortSignal): Promise<Lock | undefined> {
    const { clock, identity, durationMs, name } = this.#options;
    const began = this.#moment();
    const response = await this.#call('PUT', `/${name}`, signal, heldBy(lease, identity, durationMs, clock.now()));
    if (response.status === 409 || response.status === 404) {
      if (response.status === 404) this.#seen = undefined;
      return undefined;
    }
    return this.#written(response, began);
  }

  async #create(signal: AbortSignal): Promise<Lock> {
    const { clock, identity, durationMs, name, namespace } = this.#options;
    const lease: LeaseObject = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name, namespace } };
    const began = this.#moment();
    return this.#written(await this.#call('POST', '', signal, heldBy(lease, identity, durationMs, clock.now())), began);
  }

  #written(response: ApiResponse, began: { readonly sinceMs: number; readonly sinceUptimeMs: number }): Lock {
    if (response.status !== 200 && response.status !== 201) return { kind: 'failed', why: explain(response) };
    const lease = leaseOf(response);
    this.#observe(lease);
    return this.#isRewound(lease) ? { kind: 'rewound' } : { kind: 'held', ...began };
  }

  async #read(signal: AbortSignal): Promise<LeaseObject | undefined> {
    const response = await this.#call('GET', `/${this.#options.name}`, signal);
    if (response.status === 404) return undefined;
    if (response.status !== 200) throw new Error(explain(response));
    const lease = leaseOf(response);
    this.#observe(lease);
    return lease;
  }

  /**
   * A restored etcd counts its revisions from those of the backup. Versions of one resource can be compared (KEP-5504); before Kubernetes 1.35 that is so without having been
   * promised.
   */
  #isRewound({ metadata }: LeaseObject): boolean {
    const { resourceVersion = '' } = metadata;
    if (!/^\d{1,20}$/.test(resourceVersion)) return false;
    const version = BigInt(resourceVersion);
    const before = this.#newest;
    this.#newest = version;
    return before !== undefined && version < before;
  }

  #observe(lease: LeaseObject): void {
    const version = JSON.stringify(lease.spec ?? {});
    // Only a change of the record starts the wait anew; when it was made by its own account does not matter.
    const atUptimeMs = this.#seen?.version === version ? this.#seen.atUptimeMs : this.#options.uptime();
    this.#seen = { lease, version, atUptimeMs };
  }

  #isEarlierSelf(holder: string): boolean {
    const { ownPrefix } = this.#options;
    return ownPrefix !== undefined && holder.startsWith(ownPrefix);
  }

  #runsOutAtMs(): number {
    const { durationMs } = this.#options;
    if (this.#seen === undefined) return this.#options.uptime() + durationMs;
    const { lease, atUptimeMs } = this.#seen;
    const seconds = lease.spec?.leaseDurationSeconds ?? 0;
    return atUptimeMs + (seconds > 0 ? seconds * 1000 : durationMs);
  }

  #moment(): { readonly sinceMs: number; readonly sinceUptimeMs: number } {
    return { sinceMs: this.#options.clock.now().epochMilliseconds, sinceUptimeMs: this.#options.uptime() };
  }

  #call(method: ApiCall['method'], suffix: string, signal: AbortSignal, body?: LeaseObject): Promise<ApiResponse> {
    const { api, timeoutMs } = this.#options;
    return api.call({ method, path: `${this.#path}${suffix}`, body, priority: 'vital', timeoutMs }, signal);
  }
}

const explain = ({ status, body }: ApiResponse): string => {
  const message = typeof body === 'object' && body !== null && 'message' in body ? String(body.message) : '';
  return `the API server responded with ${status}${message === '' ? '' : `: ${message}`}`;
};
