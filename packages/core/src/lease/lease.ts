import {
  isBefore,
  type JsonObject,
  microTimeText,
  readTime,
  secondsAfter,
} from '@drydock/apimachinery';
import type { Node } from '../node/node.ts';
import { type LeaseName, leaseKey } from '../request/request.ts';

/** A coordination.k8s.io/v1 Lease, as stored. */
export type Lease = {
  /** Key `namespace/name`. */
  readonly key: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly holder?: string;
  readonly durationSeconds?: number;
  readonly acquireTime?: Temporal.Instant;
  readonly renewTime?: Temporal.Instant;
  readonly transitions?: number;
};

type RawLease = {
  readonly metadata: {
    readonly namespace: string;
    readonly name: string;
    readonly uid: string;
    readonly resourceVersion: string;
  };
  readonly spec?: {
    readonly holderIdentity?: string;
    readonly leaseDurationSeconds?: number;
    readonly acquireTime?: string;
    readonly renewTime?: string;
    readonly leaseTransitions?: number;
  };
};

/** Reads the needed fields of a Lease. */
export function readLease(raw: unknown): Lease {
  const { metadata, spec } = raw as RawLease;
  const acquireTime = readTime(spec?.acquireTime);
  const renewTime = readTime(spec?.renewTime);
  return {
    key: `${metadata.namespace}/${metadata.name}`,
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    ...(spec?.holderIdentity !== undefined && { holder: spec.holderIdentity }),
    ...(spec?.leaseDurationSeconds !== undefined && { durationSeconds: spec.leaseDurationSeconds }),
    ...(acquireTime && { acquireTime }),
    ...(renewTime && { renewTime }),
    ...(spec?.leaseTransitions !== undefined && { transitions: spec.leaseTransitions }),
  };
}

/** Duration of a node lease, and interval of its renewals, in seconds. */
export type LeaseTerms = { readonly durationSeconds: number; readonly renewEverySeconds: number };

/** Decision about a node's lease. */
export type LeaseDecision =
  /** The lease is ours; the next look is at `renewAt`. */
  | { readonly state: 'held'; readonly renewAt: Temporal.Instant }
  /** The lease is available. */
  | { readonly state: 'create' | 'update'; readonly body: JsonObject }
  /** Another holder has the lease; it ends at `until` unless renewed. */
  | { readonly state: 'foreign'; readonly message: string; readonly until: Temporal.Instant };

/** Returns when the lease ends; undefined if it lacks the fields to be valid at all. */
function endOf({ renewTime, durationSeconds }: Lease): Temporal.Instant | undefined {
  return renewTime === undefined || durationSeconds === undefined
    ? undefined
    : secondsAfter(renewTime, durationSeconds);
}

/**
 * Reports whether a foreign lease is valid: it counts while it runs; one that was renewed in the
 * future is not believed (seed contract, chapter 5).
 */
function isValid(lease: Lease, now: Temporal.Instant): boolean {
  const end = endOf(lease);
  return (
    end !== undefined &&
    !isBefore(end, now) &&
    lease.renewTime !== undefined &&
    !isBefore(now, lease.renewTime)
  );
}

/** Returns the text of the seed operators' lease library. */
function heldByOther(lease: Lease): string {
  return `can't update or invalidate the lease because it is held by different owner: ${lease.holder === undefined || lease.holder === '' ? 'unknown' : lease.holder}`;
}

function ownerReferences(node: Node): JsonObject[] {
  return [{ apiVersion: 'v1', kind: 'Node', name: node.name, uid: node.uid }];
}

function creation(
  { namespace, name, holder }: LeaseName,
  node: Node,
  now: Temporal.Instant,
  terms: LeaseTerms,
): JsonObject {
  return {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name, namespace, ownerReferences: ownerReferences(node) },
    spec: {
      holderIdentity: holder,
      leaseDurationSeconds: terms.durationSeconds,
      acquireTime: microTimeText(now),
      renewTime: microTimeText(now),
      leaseTransitions: 0,
    },
  };
}

/**
 * Returns the update of a lease. Every write also sets the owner to exactly the node, and the
 * duration to the configured one.
 */
function update(lease: Lease, node: Node, terms: LeaseTerms, changed: JsonObject): JsonObject {
  return {
    metadata: { resourceVersion: lease.resourceVersion, ownerReferences: ownerReferences(node) },
    spec: { leaseDurationSeconds: terms.durationSeconds, ...changed },
  };
}

/** Returns the fields of a takeover: acquired and renewed now, one transition more. */
function taken(lease: Lease, holder: string, now: Temporal.Instant): JsonObject {
  return {
    holderIdentity: holder,
    acquireTime: microTimeText(now),
    renewTime: microTimeText(now),
    leaseTransitions: (lease.transitions ?? 0) + 1,
  };
}

function renewOwn(
  lease: Lease,
  name: LeaseName,
  node: Node,
  now: Temporal.Instant,
  terms: LeaseTerms,
): LeaseDecision {
  const end = endOf(lease);
  if (end === undefined || (isBefore(end, now) && lease.acquireTime === undefined)) {
    return { state: 'update', body: update(lease, node, terms, taken(lease, name.holder, now)) };
  }
  const renewAt = secondsAfter(end, terms.renewEverySeconds - terms.durationSeconds);
  if (isBefore(now, renewAt)) return { state: 'held', renewAt };
  return { state: 'update', body: update(lease, node, terms, { renewTime: microTimeText(now) }) };
}

/**
 * Decides about the node lease as the seed operators do (seed contract, chapter 5), with one
 * difference: our own lease that still runs is renewed when it is due, not at every look.
 */
export function requestLease(
  lease: Lease | undefined,
  name: LeaseName,
  node: Node,
  now: Temporal.Instant,
  terms: LeaseTerms,
): LeaseDecision {
  if (lease === undefined) return { state: 'create', body: creation(name, node, now, terms) };
  if (lease.holder === name.holder) return renewOwn(lease, name, node, now, terms);
  const until = endOf(lease);
  if (until !== undefined && isValid(lease, now))
    return { state: 'foreign', message: heldByOther(lease), until };
  return { state: 'update', body: update(lease, node, terms, taken(lease, name.holder, now)) };
}

/**
 * Reports whether the lease is ours to delete. One without a holder belongs to no operator, so it
 * may be deleted as well.
 */
export function mayRelease(lease: Lease, holder: string): boolean {
  return lease.holder === undefined || lease.holder === '' || lease.holder === holder;
}

/**
 * Reports whether the lease was released and left behind for the next operator, as the KubeVirt
 * operator does (seed contract, chapter 10.4).
 */
export function isBlank({ durationSeconds, acquireTime, renewTime, transitions }: Lease): boolean {
  return (
    durationSeconds === undefined &&
    acquireTime === undefined &&
    renewTime === undefined &&
    transitions === undefined
  );
}

/** Reports whether the holder has the node according to the lease, expired or not. */
export function isTaken(lease: Lease, holder: string): boolean {
  return lease.holder === holder && !isBlank(lease);
}

/** Returns the patch that makes a lease blank. The holder stays, as that operator leaves it. */
export function blanked({ resourceVersion }: Lease): JsonObject {
  return {
    metadata: { resourceVersion },
    spec: {
      leaseDurationSeconds: null,
      acquireTime: null,
      renewTime: null,
      leaseTransitions: null,
    },
  };
}

/** Reports whether one of these leases exists and its holder has the node. */
export function isLeased(
  names: readonly LeaseName[],
  leases: { readonly get: (key: string) => Lease | undefined },
): boolean {
  return names.some(name => {
    const lease = leases.get(leaseKey(name));
    return lease !== undefined && isTaken(lease, name.holder);
  });
}
