import { createHash } from 'node:crypto';
import { isObject, type JsonObject, pathSegment, statusMessage } from '@drydock/apimachinery';
import type { Api, ApiCall, ApiResponse } from '@drydock/kube-client';
import { type Clock, errorText, isDefect } from '@drydock/utils';
import { getLive } from './review.ts';
import type { ReservationScope } from './rules.ts';

/**
 * Reservations. An object is stored only after the webhook has responded, so two requests that are
 * processed together would not see each other. A request that is about to be allowed therefore
 * takes a reservation first: a Lease in the operator's namespace, which all replicas see. It names
 * the object, so that others can see when that object is stored; and it expires, because the object
 * may never be stored.
 */

/**
 * Milliseconds for which others wait for objects that are not stored. The API server stores one
 * within milliseconds, or never.
 */
const patienceMs = 2000;

/**
 * Milliseconds for which a reservation is kept for an object that is not stored yet: the API server
 * may call further webhooks about it.
 */
const keptMs = 5000;

/**
 * Milliseconds after which a reservation counts as abandoned, however far apart the clocks of two
 * replicas are.
 */
const leftBehindMs = 60_000;

const label = 'drydock.dev/admission';
const annotation = 'drydock.dev/reserved-for';

/**
 * The object of a reservation: its path, its uid, and the generation from which it counts as
 * stored.
 */
export type ReservationSubject = {
  readonly path: string;
  readonly uid: string;
  readonly generation: number;
};

/** A reservation that was created. */
export type Reservation = {
  readonly name: string;
  readonly resourceVersion: string;
  readonly subject: ReservationSubject;
};

/**
 * Result of an attempt. `taken`: for another object that may be stored at any moment; `by` is
 * missing if another request was only faster.
 */
export type ReservationAttempt =
  | { readonly kind: 'held'; readonly reservation: Reservation }
  | { readonly kind: 'taken'; readonly by?: ReservationSubject }
  | { readonly kind: 'failed'; readonly why: string };

export type ReservationOptions = {
  readonly api: Api;
  readonly clock: Clock;
  readonly namespace: string;
};

const nobody: ReservationSubject = { path: '', uid: '', generation: 0 };

type Stored = {
  readonly metadata: {
    readonly resourceVersion: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec?: { readonly renewTime?: string };
};

function subjectIn({ metadata }: Stored): ReservationSubject | undefined {
  try {
    const subject: unknown = JSON.parse(metadata.annotations?.[annotation] ?? '');
    return isObject(subject) && typeof subject['path'] === 'string'
      ? (subject as ReservationSubject)
      : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Resolves with the API server's response; undefined if it cannot be reached. Rejects for defects
 * only.
 */
function answered(
  api: Api,
  call: ApiCall,
  signal: AbortSignal | undefined,
): Promise<ApiResponse | undefined> {
  return api.call(call, signal).catch((error: unknown) => {
    if (isDefect(error)) throw error;
    return undefined;
  });
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

/**
 * Returns the name of the Lease: one for each kind and node, and one for the whole control plane.
 */
export function reservationName(kindName: string, scope: ReservationScope): string {
  return scope.kind === 'controlPlane'
    ? 'drydock-admission-control-plane'
    : `drydock-admission-${hash(`${kindName}/${scope.name}`)}`;
}

/** A store of reservations: creates, takes over and releases them. */
export class Reservations {
  readonly #options: ReservationOptions;
  readonly #collection: string;

  constructor(options: ReservationOptions) {
    this.#options = options;
    this.#collection = `/apis/coordination.k8s.io/v1/namespaces/${pathSegment(options.namespace)}/leases`;
  }

  /**
   * Takes the reservation if it is free, abandoned, or its object is stored by now; in any case
   * with `force`. Rejects for defects only.
   */
  async take(
    name: string,
    subject: ReservationSubject,
    force: boolean,
    signal: AbortSignal,
  ): Promise<ReservationAttempt> {
    const found = await getLive(this.#options.api, `${this.#collection}/${name}`, signal);
    if (found.kind === 'unreadable') return { kind: 'failed', why: found.why };
    if (found.kind === 'missing')
      return this.#write('POST', this.#collection, name, subject, undefined, signal);
    const stored = found.value as unknown as Stored;
    const { resourceVersion } = stored.metadata;
    const by = subjectIn(stored);
    if (
      !force &&
      by !== undefined &&
      !this.#isLeftBehind(stored) &&
      by.uid !== subject.uid &&
      !(await this.isStored(by, signal))
    )
      return { kind: 'taken', by };
    // The whole Lease is replaced: in its few seconds nothing of others belongs on it, and
    // leftovers of a previous operator must not stay.
    return this.#write(
      'PUT',
      `${this.#collection}/${name}`,
      name,
      subject,
      resourceVersion,
      signal,
    );
  }

  /** Releases it if it is still this one. If that fails, it expires. Rejects for defects only. */
  async release({ name, resourceVersion }: Reservation, signal?: AbortSignal): Promise<void> {
    const body = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { resourceVersion } };
    await answered(
      this.#options.api,
      { method: 'DELETE', path: `${this.#collection}/${name}`, body },
      signal,
    );
  }

  /**
   * Releases it as soon as its object is stored, or when it has expired. Rejects for defects only.
   */
  async settle(reservation: Reservation, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const end = this.#now() + keptMs;
    for (
      let pause = 50;
      !signal.aborted && this.#now() < end && !(await this.isStored(reservation.subject, signal));
      pause *= 2
    ) {
      await clock.sleep(Math.min(pause, Math.max(0, end - this.#now())), signal);
    }
    if (!signal.aborted) await this.release(reservation, signal);
  }

  /**
   * Deletes reservations that former operators have left behind; failures do no harm. Rejects for
   * defects only.
   */
  async sweep(signal: AbortSignal): Promise<void> {
    const { api } = this.#options;
    const list = await answered(
      api,
      { method: 'GET', path: this.#collection, query: { labelSelector: label } },
      signal,
    );
    const items = list?.status === 200 && isObject(list.body) ? list.body['items'] : undefined;
    for (const raw of Array.isArray(items) ? items : []) {
      const stored = raw as Stored & { readonly metadata: { readonly name: string } };
      if (!this.#isLeftBehind(stored)) continue;
      const { name, resourceVersion } = stored.metadata;
      await this.release({ name, resourceVersion, subject: nobody }, signal);
    }
  }

  #isLeftBehind({ spec }: Stored): boolean {
    const renewed = Date.parse(spec?.renewTime ?? '');
    return !(this.#now() - renewed < leftBehindMs);
  }

  /** Reports whether the object exists, at the expected generation. Rejects for defects only. */
  async isStored(
    { path, uid, generation }: ReservationSubject,
    signal: AbortSignal,
  ): Promise<boolean> {
    const found = await getLive(this.#options.api, path, signal);
    if (found.kind !== 'found') return false;
    const metadata = found.value['metadata'] as
      | { readonly uid?: string; readonly generation?: number }
      | undefined;
    return metadata?.uid === uid && (metadata.generation ?? 0) >= generation;
  }

  async #write(
    method: 'POST' | 'PUT',
    path: string,
    name: string,
    subject: ReservationSubject,
    resourceVersion: string | undefined,
    signal: AbortSignal,
  ): Promise<ReservationAttempt> {
    const body = this.#leaseFor(name, subject, resourceVersion);
    try {
      const response = await this.#options.api.call({ method, path, body }, signal);
      // Another request was faster; the next look shows which. A Lease that is gone in the meantime
      // is free.
      if (response.status === 409 || (response.status === 404 && method === 'PUT'))
        return { kind: 'taken' };
      if (response.status !== 200 && response.status !== 201)
        return { kind: 'failed', why: statusMessage(response) };
      const { metadata } = response.body as Stored;
      return {
        kind: 'held',
        reservation: { name, resourceVersion: metadata.resourceVersion, subject },
      };
    } catch (error) {
      if (isDefect(error)) throw error;
      return { kind: 'failed', why: errorText(error) };
    }
  }

  #leaseFor(
    name: string,
    subject: ReservationSubject,
    resourceVersion: string | undefined,
  ): JsonObject {
    const { clock, namespace } = this.#options;
    const now = clock.now().toString({ fractionalSecondDigits: 6 });
    return {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: {
        name,
        namespace,
        labels: { [label]: 'reservation' },
        annotations: { [annotation]: JSON.stringify(subject) },
        resourceVersion,
      },
      spec: {
        holderIdentity: subject.uid,
        leaseDurationSeconds: patienceMs / 1000,
        acquireTime: now,
        renewTime: now,
      },
    };
  }

  #now(): number {
    return this.#options.clock.now().epochMilliseconds;
  }
}

/**
 * A budget for how long one request waits for the reservations of others, in total. Reservations
 * for objects that are then stored cost nothing, however many there are; a client that reserves
 * again and again and stores nothing, under one uid or many, delays others by no more than this.
 * Its reservation is taken over then, and the decision is based on what is stored; the operator
 * checks the quorum once more before it changes a node.
 */
export class ReservationWaitBudget {
  readonly #clock: Clock;
  readonly #isStored: (subject: ReservationSubject) => Promise<boolean>;
  #holder: { readonly subject: ReservationSubject; readonly sinceMs: number } | undefined;
  #lostMs = 0;

  constructor(clock: Clock, isStored: (subject: ReservationSubject) => Promise<boolean>) {
    this.#clock = clock;
    this.#isStored = isStored;
  }

  /** True if the budget is spent. */
  get isOver(): boolean {
    return (
      this.#lostMs + (this.#holder === undefined ? 0 : this.#now() - this.#holder.sinceMs) >=
      patienceMs
    );
  }

  /**
   * Records the object that the reservation is for at the moment; undefined if that could not be
   * read.
   */
  async waitsFor(subject: ReservationSubject | undefined): Promise<void> {
    if (subject === undefined || subject.uid === this.#holder?.subject.uid) return;
    const before = this.#holder;
    this.#holder = { subject, sinceMs: this.#now() };
    if (before !== undefined && !(await this.#isStored(before.subject)))
      this.#lostMs += this.#holder.sinceMs - before.sinceMs;
  }

  #now(): number {
    return this.#clock.now().epochMilliseconds;
  }
}
