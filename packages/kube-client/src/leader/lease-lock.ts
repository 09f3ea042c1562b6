import { type Clock, isDefect, type PanicHandler } from '@drydock/utils';
import type { Api, ApiCall, ApiResponse, CachedObject } from '../api.ts';
import { identify } from '../watch/reflector-store.ts';

/** Spec of a coordination.k8s.io/v1 Lease; other fields are kept unchanged. */
type LeaseSpec = {
  readonly holderIdentity?: string;
  readonly leaseDurationSeconds?: number;
  readonly acquireTime?: string;
  readonly renewTime?: string;
  readonly leaseTransitions?: number;
};

/** A Lease as sent over the wire. */
export type LeaseObject = {
  readonly apiVersion: 'coordination.k8s.io/v1';
  readonly kind: 'Lease';
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly resourceVersion?: string;
  };
  readonly spec?: LeaseSpec;
};

/** Returns the Lease of a response with status 200 or 201. */
function leaseOf(response: ApiResponse): LeaseObject {
  return response.body as LeaseObject;
}

/** Returns the holder; empty when the Lease is free. */
function holderOf(lease: LeaseObject): string {
  return lease.spec?.holderIdentity ?? '';
}

/**
 * Returns the Lease with this candidate as its holder (client-go leaderelection: a change of holder
 * counts as a transition and sets the time of acquisition).
 */
function heldBy(
  lease: LeaseObject,
  identity: string,
  durationMs: number,
  now: Temporal.Instant,
): LeaseObject {
  const isNew = holderOf(lease) !== identity;
  const time = microTime(now);
  const { acquireTime = time, leaseTransitions = 0 } = lease.spec ?? {};
  const isFirst = lease.metadata.resourceVersion === undefined;
  const spec: LeaseSpec = {
    ...lease.spec,
    holderIdentity: identity,
    leaseDurationSeconds: Math.ceil(durationMs / 1000),
    acquireTime: isNew ? time : acquireTime,
    renewTime: time,
    leaseTransitions: isNew && !isFirst ? leaseTransitions + 1 : leaseTransitions,
  };
  return { ...lease, spec };
}

/** Returns the released Lease: without a holder, and with a duration of one second. */
function released(lease: LeaseObject, now: Temporal.Instant): LeaseObject {
  const time = microTime(now);
  return {
    ...lease,
    spec: {
      ...lease.spec,
      holderIdentity: '',
      leaseDurationSeconds: 1,
      acquireTime: time,
      renewTime: time,
    },
  };
}

/** Formats a meta/v1 MicroTime. */
function microTime(instant: Temporal.Instant): string {
  return instant.toString({ fractionalSecondDigits: 6 });
}

/** Returns the Lease from a watch event; undefined for values that are not Kubernetes objects. */
export function watchedLease(
  raw: unknown,
): (CachedObject & { readonly lease: LeaseObject }) | undefined {
  const identity = identify(raw);
  return identity && { key: identity.name, ...identity, lease: raw as LeaseObject };
}

/** Options of a lock: the Lease and the identity that claims it. */
export type LockOptions = {
  readonly api: Api;
  readonly clock: Clock;
  readonly defects: PanicHandler;
  /** Monotonic milliseconds since any fixed moment, unaffected by changes of the clock. */
  readonly uptime: () => number;
  readonly namespace: string;
  readonly name: string;
  readonly identity: string;
  /**
   * Common prefix of the identities of earlier processes of the same pod. They have ended and
   * cannot hold the Lease any more.
   */
  readonly ownPrefix?: string | undefined;
  readonly durationMs: number;
  /** Timeout of one request, in milliseconds. */
  readonly timeoutMs: number;
};

/**
 * Outcome of one attempt. `since*` are times before the request was sent: no candidate can have
 * seen the renewal earlier.
 */
export type Lock =
  | { readonly kind: 'held'; readonly sinceMs: number; readonly sinceUptimeMs: number }
  | { readonly kind: 'taken'; readonly holder: string }
  /** The API server returned an older Lease than before: its data comes from a backup. */
  | { readonly kind: 'rewound' }
  | { readonly kind: 'failed'; readonly why: string };

/**
 * Last seen state of the Lease, and since when it is unchanged. The remote clock is not trusted.
 */
type Observation = {
  readonly lease: LeaseObject;
  readonly version: string;
  readonly atUptimeMs: number;
};

/** One candidate's view of one Lease, and its attempts to acquire or renew it. */
export class LeaseLock {
  readonly #options: LockOptions;
  readonly #path: string;
  #seen: Observation | undefined;
  /** Last version that a read or write has returned. */
  #newest: bigint | undefined;

  constructor(options: LockOptions) {
    this.#options = options;
    this.#path = `/apis/coordination.k8s.io/v1/namespaces/${options.namespace}/leases`;
  }

  /**
   * Acquires the Lease if it is free, expired, or already held by this process; otherwise returns
   * its holder. Never rejects.
   */
  async attempt(signal: AbortSignal): Promise<Lock> {
    const { identity, uptime } = this.#options;
    try {
      // The holder updates its last written record without reading, as client-go does; a conflict
      // shows whether that was right.
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
      return (
        (await this.#write(lease, signal)) ?? {
          kind: 'failed',
          why: 'somebody else wrote the lease at the same time',
        }
      );
    } catch (error) {
      return { kind: 'failed', why: this.#options.defects.textOf('Process', this.#path, error) };
    }
  }

  /** Records the Lease from a watch; returns whether it is free now. */
  saw(lease: LeaseObject): boolean {
    this.#observe(lease);
    return holderOf(lease) === '';
  }

  /** Returns the milliseconds until the last seen Lease expires; 0 when none has been seen. */
  runsOutInMs(): number {
    return this.#seen === undefined ? 0 : Math.max(0, this.#runsOutAtMs() - this.#options.uptime());
  }

  /**
   * Releases the Lease if this process still holds it. Never rejects; when the release fails,
   * others wait until the Lease expires.
   */
  async release(signal: AbortSignal): Promise<boolean> {
    try {
      const lease = await this.#read(signal);
      if (lease === undefined || holderOf(lease) !== this.#options.identity) return false;
      const response = await this.#call(
        'PUT',
        `/${this.#options.name}`,
        signal,
        released(lease, this.#options.clock.now()),
      );
      return response.status === 200;
    } catch (error) {
      if (isDefect(error)) this.#options.defects.report('Process', this.#path, error);
      return false;
    }
  }

  /** Writes the Lease. Returns undefined after a conflict: the Lease must be read first. */
  async #write(lease: LeaseObject, signal: AbortSignal): Promise<Lock | undefined> {
    const { clock, identity, durationMs, name } = this.#options;
    const began = this.#moment();
    const response = await this.#call(
      'PUT',
      `/${name}`,
      signal,
      heldBy(lease, identity, durationMs, clock.now()),
    );
    if (response.status === 409 || response.status === 404) {
      if (response.status === 404) this.#seen = undefined;
      return undefined;
    }
    return this.#written(response, began);
  }

  async #create(signal: AbortSignal): Promise<Lock> {
    const { clock, identity, durationMs, name, namespace } = this.#options;
    const lease: LeaseObject = {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name, namespace },
    };
    const began = this.#moment();
    return this.#written(
      await this.#call('POST', '', signal, heldBy(lease, identity, durationMs, clock.now())),
      began,
    );
  }

  #written(
    response: ApiResponse,
    began: { readonly sinceMs: number; readonly sinceUptimeMs: number },
  ): Lock {
    if (response.status !== 200 && response.status !== 201)
      return { kind: 'failed', why: explain(response) };
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
   * Returns whether the Lease is older than before. A restored etcd counts its revisions from the
   * backup's. Versions of one resource can be compared (KEP-5504); before Kubernetes 1.35 that
   * holds without being promised.
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
    // Only a change of the record restarts the wait; the timestamps in the record do not matter.
    const atUptimeMs =
      this.#seen?.version === version ? this.#seen.atUptimeMs : this.#options.uptime();
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
    return {
      sinceMs: this.#options.clock.now().epochMilliseconds,
      sinceUptimeMs: this.#options.uptime(),
    };
  }

  #call(
    method: ApiCall['method'],
    suffix: string,
    signal: AbortSignal,
    body?: LeaseObject,
  ): Promise<ApiResponse> {
    const { api, timeoutMs } = this.#options;
    return api.call(
      { method, path: `${this.#path}${suffix}`, body, priority: 'vital', timeoutMs },
      signal,
    );
  }
}

function explain({ status, body }: ApiResponse): string {
  const message =
    typeof body === 'object' && body !== null && 'message' in body ? String(body.message) : '';
  return `the API server responded with ${status}${message === '' ? '' : `: ${message}`}`;
}
