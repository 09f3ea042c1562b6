import type { ApiResponse, CachedObject } from '../../operator/ports.ts';
import { identify } from '../watch/raw-object.ts';

/** The spec of a coordination.k8s.io/v1 Lease; fields that are not named here are kept as they are. */
type LeaseSpec = {
  readonly holderIdentity?: string;
  readonly leaseDurationSeconds?: number;
  readonly acquireTime?: string;
  readonly renewTime?: string;
  readonly leaseTransitions?: number;
};

/** A Lease as it goes over the wire. */
export type LeaseObject = {
  readonly apiVersion: 'coordination.k8s.io/v1';
  readonly kind: 'Lease';
  readonly metadata: { readonly name: string; readonly namespace: string; readonly resourceVersion?: string };
  readonly spec?: LeaseSpec;
};

/** The Lease of an answer with status 200 or 201. */
export const leaseOf = (response: ApiResponse): LeaseObject => response.body as LeaseObject;

/** Who holds it; empty when nobody does. */
export const holderOf = (lease: LeaseObject): string => lease.spec?.holderIdentity ?? '';

/** The Lease with this contender as its holder (client-go leaderelection: a change of holder counts as a transition and starts anew). */
export const heldBy = (lease: LeaseObject, identity: string, durationMs: number, now: Temporal.Instant): LeaseObject => {
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
};

/** The Lease released: nobody holds it, and nobody has to wait longer than a second for it. */
export const released = (lease: LeaseObject, now: Temporal.Instant): LeaseObject => {
  const time = microTime(now);
  return { ...lease, spec: { ...lease.spec, holderIdentity: '', leaseDurationSeconds: 1, acquireTime: time, renewTime: time } };
};

/** meta/v1 MicroTime. */
const microTime = (instant: Temporal.Instant): string => instant.toString({ fractionalSecondDigits: 6 });

/** A Lease as a watch shows it; undefined for what is no object of Kubernetes. */
export const watchedLease = (raw: unknown): (CachedObject & { readonly lease: LeaseObject }) | undefined => {
  const identity = identify(raw);
  return identity && { key: identity.name, ...identity, lease: raw as LeaseObject };
};
