import type { ApiResponse, CachedObject } from '../api.ts';
import { identify } from '../watch/raw-object.ts';

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
export function leaseOf(response: ApiResponse): LeaseObject {
  return response.body as LeaseObject;
}

/** Returns the holder; empty when the Lease is free. */
export function holderOf(lease: LeaseObject): string {
  return lease.spec?.holderIdentity ?? '';
}

/**
 * Returns the Lease with this candidate as its holder (client-go leaderelection: a change of holder
 * counts as a transition and sets the time of acquisition).
 */
export function heldBy(
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
export function released(lease: LeaseObject, now: Temporal.Instant): LeaseObject {
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
