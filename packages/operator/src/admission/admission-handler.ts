import {
  type JsonObject,
  pathSegment,
  reviewCall,
  reviewed,
  sameJson,
} from '@drydock/apimachinery';
import {
  type AdmissionKind,
  isAdmissionKind,
  isPlanKind,
  type Right,
  rightsFor,
  type WebhookKind,
  webhookTimeoutSeconds,
  withoutRight,
} from '@drydock/apis/admission-rules';
import type { Api } from '@drydock/kube-client';
import {
  type Clock,
  Deadline,
  errorText,
  isDefect,
  type Log,
  type PanicHandler,
} from '@drydock/utils';
import {
  type ReservationSubject,
  Reservations,
  ReservationWaitBudget,
  reservationName,
} from './reservation.ts';
import { type AdmissionVerdict, allowed, denied, type Review } from './review.ts';
import {
  type AdmissionCheck,
  type AdmissionContext,
  type AdmissionTask,
  look,
  metadataOf,
  taskOf,
} from './rules.ts';

/**
 * Checks whether the writer of an object has the rights for its contents (SubjectAccessReview,
 * authorization.k8s.io/v1).
 */

function specFor(
  { group, resource }: WebhookKind,
  { user, namespace }: Review,
  right: Right,
): JsonObject {
  return {
    user: user['username'],
    uid: user['uid'],
    groups: user['groups'],
    extra: user['extra'],
    resourceAttributes: { group, resource, verb: right, namespace },
  };
}

async function ask(
  api: Api,
  kind: WebhookKind,
  review: Review,
  right: Right,
  signal: AbortSignal,
): Promise<AdmissionVerdict> {
  const unknown = (why: string): AdmissionVerdict =>
    denied(
      `could not check whether you have the right ${right} on ${kind.name}, please try again: ${why}`,
    );
  try {
    const status = reviewed(
      await api.call(reviewCall('SubjectAccessReview', specFor(kind, review, right)), signal),
    );
    if (typeof status === 'string') return unknown(status);
    return status['allowed'] === true ? allowed : denied(withoutRight(right, kind));
  } catch (error) {
    if (isDefect(error)) throw error;
    return unknown(errorText(error));
  }
}

/**
 * Reviews the rights that the write needs, one after the other. A right that cannot be reviewed is
 * denied; rejects for defects only.
 */
async function consent(
  api: Api,
  kind: WebhookKind,
  review: Review,
  signal: AbortSignal,
): Promise<AdmissionVerdict> {
  const { object, oldObject, subresource, operation } = review;
  if (object === undefined || subresource !== '') return allowed;
  for (const right of rightsFor(
    kind.resource,
    object,
    operation === 'UPDATE' ? oldObject : undefined,
  )) {
    const verdict = await ask(api, kind, review, right, signal);
    if (verdict.kind === 'denied') return verdict;
  }
  return allowed;
}

/**
 * Function that returns the errors of a MaintenancePlan, the same one that its condition Valid
 * comes from; none if it is valid.
 */
export type PlanProblems = (plan: JsonObject) => readonly string[];

function problemsOf(
  problems: PlanProblems,
  plan: JsonObject,
  defects: PanicHandler,
): readonly string[] {
  try {
    return problems(plan);
  } catch (error) {
    return [`the plan cannot be read: ${defects.textOf('Webhook', 'maintenanceplans', error)}`];
  }
}

function isDeleting(object: JsonObject): boolean {
  return metadataOf(object)['deletionTimestamp'] !== undefined;
}

/**
 * Decides whether a plan may be written as it is, from the request alone. An existing error does
 * not prevent a change of the rest: the plan was stored before this check existed, or while the
 * webhook was away, and may have to be paused, ended or repaired. A plan that is being deleted is
 * never refused.
 */
function planVerdict(
  problems: PlanProblems,
  review: Review,
  defects: PanicHandler,
): AdmissionVerdict {
  const { operation, subresource, object, oldObject } = review;
  if (object === undefined || subresource !== '' || isDeleting(object)) return allowed;
  if (operation === 'UPDATE' && sameJson(object['spec'], oldObject?.['spec'])) return allowed;
  const found = problemsOf(problems, object, defects);
  if (found.length === 0) return allowed;
  const known =
    operation === 'UPDATE' && oldObject !== undefined
      ? problemsOf(problems, oldObject, defects)
      : [];
  const fresh = found.find(problem => !known.includes(problem));
  return fresh === undefined ? allowed : denied(fresh);
}

export type AdmissionHandlerOptions = {
  readonly api: Api;
  readonly clock: Clock;
  readonly log: Log;
  readonly defects: PanicHandler;
  readonly openShift: boolean;
  /** Namespace of the reservations: the operator's own. */
  readonly namespace: string;
  readonly planProblems: PlanProblems;
};

/**
 * Milliseconds within which the webhook responds: a part of the API server's timeout, because a
 * refusal with a reason is worth more than a timeout.
 */
const responseWithinMs = 0.8 * webhookTimeoutSeconds * 1000;

/**
 * Milliseconds between two looks at a reservation: `first`, growing up to `longest`, so that many
 * waiting requests do not keep the API server busy. After the wait budget is spent, `takingOver`
 * applies: others that write the reservation all the time do not keep the request waiting.
 */
const pollMs = { first: 75, longest: 400, takingOver: 10 };

/**
 * Milliseconds that a look under a reservation may take. A longer one might end after the
 * reservation: the API server needs time to store the object as well.
 */
const freshForMs = 1500;

type Check = Extract<AdmissionTask, { readonly kind: 'review' }>;

function subjectOf(
  { group, versions, resource }: AdmissionKind,
  { uid, version }: Review,
  object: JsonObject,
): ReservationSubject {
  const metadata = metadataOf(object);
  const { name, namespace, generation } = metadata;
  const folder = typeof namespace === 'string' ? `/namespaces/${pathSegment(namespace)}` : '';
  // The API server gives an object its uid before it calls the webhook; without one, the uid of the
  // request is used, and the reservation expires.
  return {
    path: `/apis/${group}/${version || (versions[0] ?? '')}${folder}/${resource}/${pathSegment(typeof name === 'string' ? name : '')}`,
    uid: typeof metadata['uid'] === 'string' ? metadata['uid'] : uid,
    generation: typeof generation === 'number' ? generation : 0,
  };
}

/**
 * A handler that decides on requests of all replicas as if one replica processed them in sequence
 * where they depend on each other.
 */
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

  /**
   * Returns the verdict on one request, within 4 seconds. Never rejects; a request whose facts
   * cannot be read is denied, also if the reason is a defect of ours.
   */
  async decide(kind: WebhookKind, review: Review): Promise<AdmissionVerdict> {
    try {
      return await this.#decide(kind, review);
    } catch (error) {
      return denied(this.#options.defects.report('Webhook', kind.name, error));
    }
  }

  async #decide(kind: WebhookKind, review: Review): Promise<AdmissionVerdict> {
    // The name becomes part of a path: a caller could choose what is read with the operator's
    // rights.
    if (review.version !== '' && !kind.versions.includes(review.version))
      return denied(`${kind.name} is supported only in version ${kind.versions.join(' and ')}`);
    using deadline = new Deadline(this.#options.clock, responseWithinMs, [this.#over.signal]);
    const { signal } = deadline;
    const agreed = await consent(this.#options.api, kind, review, signal);
    if (agreed.kind === 'denied') return agreed;
    if (!isAdmissionKind(kind))
      return isPlanKind(kind)
        ? planVerdict(this.#options.planProblems, review, this.#options.defects)
        : agreed;
    const task = taskOf(kind, review);
    if (task.kind === 'answered') return task.verdict;
    const first = await look(this.#ground, kind, task, signal);
    if (first.verdict.kind === 'denied' || first.scope === undefined || review.dryRun)
      return first.verdict;
    // Awaited here: the deadline ends with this block.
    return await this.#inTurn(kind, review, task, first.scope, signal);
  }

  /** Deletes abandoned reservations. Never rejects. */
  sweep(): Promise<void> {
    return this.#guarded(this.#reservations.sweep(this.#over.signal));
  }

  /** Stops all work. Reservations that are still held expire. */
  async close(): Promise<void> {
    this.#over.abort(new Error('the operator is stopping'));
    await Promise.all(this.#settling);
  }

  /**
   * Waits until no other request of the scope is undecided, and looks again then: facts that are
   * read under the reservation stay true.
   */
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
    const patience = new ReservationWaitBudget(clock, one =>
      this.#reservations.isStored(one, signal),
    );
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
      if (verdict.kind === 'allowed' && clock.now().epochMilliseconds - beganMs > freshForMs)
        continue;
      this.#afterwards(verdict.kind === 'allowed' ? 'settle' : 'release', attempt.reservation);
      return verdict;
    }
    return this.#noReservation(task, 'other requests kept reserving it');
  }

  #noReservation({ nodeName }: Check, why: string): AdmissionVerdict {
    this.#options.log.warn('admission failed to reserve a node', { node: nodeName, why });
    return denied(
      `could not reserve node ${nodeName} for this maintenance, please try again: ${why}`,
    );
  }

  /** Settles or releases a reservation after the response. */
  #afterwards(
    what: 'settle' | 'release',
    reservation: Parameters<Reservations['settle']>[0],
  ): void {
    const work = this.#guarded(this.#reservations[what](reservation, this.#over.signal));
    this.#settling.add(work);
    void work.finally(() => this.#settling.delete(work));
  }

  async #guarded(work: Promise<void>): Promise<void> {
    try {
      await work;
    } catch (error) {
      this.#options.defects.report('Webhook', 'reservation', error);
    }
  }
}
