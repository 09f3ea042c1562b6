import type { JsonObject } from '../json.ts';
import type { State } from '../phase/report.ts';
import type { Dialect } from './dialect.ts';
import type { DrainPolicy } from './policy.ts';

/** How far a maintenance goes. Announce touches nothing; Cordon keeps new pods away; Drain empties the node. */
export type Stage = 'Announce' | 'Cordon' | 'Drain';

/** Who laid hands on the request first: nobody yet, this operator, or the one that it replaces. */
export type Claim = 'none' | 'ours' | 'takenOver';

/** What the stored status says of the past. Everything else is observed anew each time. */
export type History = {
  /** Missing before the first status. */
  readonly state?: State;
  readonly drainStartedAt?: Temporal.Instant;
  /** The first time that the drain was complete. */
  readonly drainedAt?: Temporal.Instant;
  /** Pods that this maintenance has been asked to move so far, and how many of them have left. */
  readonly toEvict: number;
  readonly gone: number;
  readonly leaseErrors: number;
  readonly failure?: Failure;
  /** By `blockerId`, as far as the kind stores its blockers. */
  readonly blockedSince: ReadonlyMap<string, Temporal.Instant>;
};

/** A status that has never been written. */
export const noHistory: History = { toEvict: 0, gone: 0, leaseErrors: 0, blockedSince: new Map() };

export type Failure = 'NodeNotFound' | 'LeaseLost' | 'DeadlineExceeded' | 'GivenBack';

/** A maintenance as the core sees it, whatever kind it came from. */
export type Request = {
  /** Unique among all served kinds: `plural.group/namespace/name`. */
  readonly key: string;
  readonly dialect: Dialect;
  readonly name: string;
  readonly namespace?: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation: number;
  readonly createdAt: Temporal.Instant;
  readonly deleting: boolean;
  readonly finalizers: readonly string[];
  readonly claim: Claim;
  readonly nodeName: string;
  readonly reason?: string;
  readonly requester?: string;
  readonly stage: Stage;
  readonly policy: DrainPolicy;
  readonly history: History;
  /** The status as stored, to write only what differs. */
  readonly status: JsonObject;
};

/** The annotation that says who claimed a request: an object with the finalizer and without it was claimed by the operator before us. */
export const claimAnnotation = 'drydock.dev/claim';

/** Oldest first; the name decides between objects of one second, so that every observer finds the same order. */
export const byAge = (one: Request, other: Request): number =>
  Temporal.Instant.compare(one.createdAt, other.createdAt) || (one.key < other.key ? -1 : 1);

/** It has our finalizer, so the node may not be forgotten before it is given back. */
export const hasFinalizer = (request: Request): boolean => request.finalizers.includes(request.dialect.finalizer);
