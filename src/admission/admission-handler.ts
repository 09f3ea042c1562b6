import {
  type AdmissionKind,
  isAdmissionKind,
  isPlanKind,
  type WebhookKind,
  webhookTimeoutSeconds,
} from '../apis/admission-rules/admission.ts';
import type { JsonObject } from '../core/json.ts';
import type { Api } from '../operator/ports.ts';
import type { Clock } from '../support/clock.ts';
import { Deadline } from '../support/deadline.ts';
import type { Log } from '../support/log.ts';
import type { PanicHandler } from '../support/panic-handler.ts';
import { consent } from './consent.ts';
import { type PlanProblems, planVerdict } from './plan-rules.ts';
import { type ReservationSubject, Reservations, reservationName } from './reservation.ts';
import { ReservationWaitBudget } from './reservation-wait-budget.ts';
import { type AdmissionVerdict, denied, type Review } from './review.ts';
import { type AdmissionCheck, type AdmissionContext, type AdmissionTask, look, metadataOf, taskOf } from './rules.ts';

export type AdmissionHandlerOptions = {
  readonly api: Api;
  readonly clock: Clock;
  readonly log: Log;
  readonly defects: PanicHandler;
  readonly openShift: boolean;
  /** Where reservations are kept: the operator's own namespace. */
  readonly namespace: string;
  readonly planProblems: PlanProblems;
};

/** Of the time that the API server gives the webhook: a refusal with a reason is worth more than its own. */
const responseWithinMs = 0.8 * webhookTimeoutSeconds * 1000;

/** A reservation is looked at again after so many milliseconds, ever more of them up to the second number: a crowd that waits must not keep the API server busy. Whoever has waited
 * long enough is not kept off by others who write it all the time. */
const pollMs = { first: 75, longest: 400, takingOver: 10 };

/** A look that took longer than this under a reservation might end after it: the API server needs time to store the object as well. */
const freshForMs = 1500;

type Check = Extract<AdmissionTask, { readonly kind: 'review' }>;

const subjectOf = ({ group, versions, resource }: AdmissionKind, { uid, version }: Review, object: JsonObject): ReservationSubject => {
  const metadata = metadataOf(object);
  const { name, namespace, generation } = metadata;
  const folder = typeof namespace === 'string' ? `/namespaces/${encodeURIComponent(namespace)}` : '';
  // The API server gives an object its uid before it asks; without one, the request's stands for it and the reservation runs its course.
  return {
    path: `/apis/${group}/${version || (versions[0] ?? '')}${folder}/${resource}/${encodeURIComponent(typeof name === 'string' ? name : '')}`,
    uid: typeof metadata['uid'] === 'string' ? metadata['uid'] : uid,
    generation: typeof generation === 'number' ? generation : 0,
  };
};

/** Decides over requests, across all replicas as if there were one that takes them one after the other where they depend on each other. */
export class AdmissionHandler {
  readonly #options: AdmissionHandlerOptions;
  readonly #ground: AdmissionContext;
  readonly #reservations: Reservations;
  readonly #over = new AbortController();
  readonly #settling = new Set<Promise<void>>();

  constructor(options: AdmissionHandlerOptions) {
    this.#options = options;
    this.#ground = { api: options.api, openShift: options.openShift, namespace: options.namespace };
    this.#reservations = new Reservations(options);
  }

  /** The answer to one request, within 4 seconds. Never rejects; what cannot be looked up is denied, and so is what a defect of ours keeps from being looked up. */
  async decide(kind: WebhookKind, review: Review): Promise<AdmissionVerdict> {
    try {
      return await this.#decide(kind, review);
    } catch (error) {
      return denied(this.#options.defects.tell('Webhook', kind.name, error));
    }
  }

  async #decide(kind: WebhookKind, review: Review): Promise<AdmissionVerdict> {
    // It becomes part of a path: whoever calls could choose what is read with the operator's rights.
    if (review.version !== '' && !kind.versions.includes(review.version))
      return denied(`${kind.name} is supported only in version ${kind.versions.join(' and ')}`);
    using deadline = new Deadline(this.#options.clock, responseWithinMs, [this.#over.signal]);
    const { signal } = deadline;
    const agreed = await consent(this.#options.api, kind, review, signal);
    if (agreed.kind === 'denied') return agreed;
    if (!isAdmissionKind(kind)) return isPlanKind(kind) ? planVerdict(this.#options.planProblems, review, this.#options.defects) : agreed;
    const task = taskOf(kind, review);
    if (task.kind === 'answered') return task.verdict;
    const first = await look(this.#ground, kind, task, signal);
    if (first.verdict.kind === 'denied' || first.scope === undefined || review.dryRun) return first.verdict;
    // Awaited here: the deadline ends with this block.
    return await this.#inTurn(kind, review, task, first.scope, signal);
  }

  /** Forgets reservations that nobody will ever come back to. Never rejects. */
  sweep(): Promise<void> {
    return this.#guarded(this.#reservations.sweep(this.#over.signal));
  }

  /** Lets go of everything. Reservations that are still held run out. */
  async close(): Promise<void> {
    this.#over.abort(new Error('the operator is stopping'));
    await Promise.all(this.#settling);
  }

  /** Waits until no other request of the scope is undecided, and looks again then: what is seen under the reservation stays true. */
  async #inTurn(
    kind: AdmissionKind,
    review: Review,
    task: Check,
    scope: NonNullable<AdmissionCheck['scope']>,
    signal: AbortSignal,
  ): Promise<AdmissionVerdict> {
    const { clock } = this.#options;
    const name = reservationName(kind.name, scope);
    const subject = subjectOf(kind, review, task.object);
    const patience = new ReservationWaitBudget(clock, one => this.#reservations.isStored(one, signal));
    for (let pause = pollMs.first; !signal.aborted; ) {
      const beganMs = clock.now().epochMilliseconds;
      const attempt = await this.#reservations.take(name, subject, patience.isOver, signal);
      if (attempt.kind === 'failed') return this.#noReservation(task, attempt.why);
      if (attempt.kind === 'taken') {
        await patience.waitsFor(attempt.by);
        await clock.sleep(patience.isOver ? pollMs.takingOver : pause, signal);
        pause = Math.min(pause * 1.5, pollMs.longest);
        continue;
      }
      const { verdict } = await look(this.#ground, kind, task, signal);
      if (verdict.kind === 'allowed' && clock.now().epochMilliseconds - beganMs > freshForMs) continue;
      this.#afterwards(verdict.kind === 'allowed' ? 'settle' : 'release', attempt.reservation);
      return verdict;
    }
    return this.#noReservation(task, 'other requests kept reserving it');
  }

  #noReservation({ nodeName }: Check, why: string): AdmissionVerdict {
    this.#options.log.warn('admission failed to reserve a node', { node: nodeName, why });
    return denied(`could not reserve node ${nodeName} for this maintenance, please try again: ${why}`);
  }

  /** The answer does not wait for it. */
  #afterwards(what: 'settle' | 'release', reservation: Parameters<Reservations['settle']>[0]): void {
    const work = this.#guarded(this.#reservations[what](reservation, this.#over.signal));
    this.#settling.add(work);
    void work.finally(() => this.#settling.delete(work));
  }

  async #guarded(work: Promise<void>): Promise<void> {
    try {
      await work;
    } catch (error) {
      this.#options.defects.tell('Webhook', 'reservation', error);
    }
  }
}
