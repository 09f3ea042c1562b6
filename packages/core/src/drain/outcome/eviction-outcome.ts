import { isObject, secondsAfter } from '@drydock/apimachinery';
import { type AdmissionRefusal, admissionRefusal } from '../../admission-refusal.ts';

/** Response of the API server to an eviction or a deletion. */
export type EvictionResponse = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: unknown;
};

/** Meaning of a response for the pod: one name for each reaction. */
export type EvictionOutcome =
  /** The deletion of the pod has begun. */
  | { readonly kind: 'accepted' }
  /** The pod is gone, or another pod has its name by now. */
  | { readonly kind: 'gone' }
  /** The server lost a race on the budget or the pod; the pod is still there. */
  | { readonly kind: 'conflict'; readonly message: string }
  /** The budget does not allow the eviction now. */
  | { readonly kind: 'budget'; readonly message: string; readonly retryAfterSeconds?: number }
  /** The disruption controller lags behind: the budget's status cannot be used. */
  | { readonly kind: 'budgetBehind'; readonly message: string }
  /** More than one budget selects the pod: it cannot be evicted until that changes. */
  | { readonly kind: 'multipleBudgets'; readonly message: string }
  /** KubeVirt has started the evacuation of the VM, or carries it out. */
  | { readonly kind: 'evacuating'; readonly message: string }
  /** The VM behind the pod cannot be migrated, and its strategy forbids its end. */
  | { readonly kind: 'notMigratable'; readonly message: string }
  /** The pod is the target, or a remainder, of a migration. */
  | { readonly kind: 'migrationTarget'; readonly message: string }
  /** Another admission webhook or policy refused. */
  | { readonly kind: 'denied'; readonly message: string; readonly retryAfterSeconds?: number }
  /** An admission webhook that fails closed does not respond: nothing has happened. */
  | {
      readonly kind: 'webhookFailed';
      readonly message: string;
      readonly retryAfterSeconds?: number;
    }
  /** The server is busy: the whole client slows down. */
  | { readonly kind: 'throttled'; readonly message: string; readonly retryAfterSeconds?: number }
  /** The namespace is being deleted, and its pods with it. */
  | { readonly kind: 'namespaceTerminating'; readonly message: string }
  /** The operator has no right to do this. */
  | { readonly kind: 'forbidden'; readonly message: string }
  /** The request itself was wrong. */
  | { readonly kind: 'invalid'; readonly message: string }
  /** The server failed, or no response arrived. The eviction may have happened. */
  | { readonly kind: 'failed'; readonly message: string; readonly retryAfterSeconds?: number };

type Status = {
  readonly message?: string;
  readonly reason?: string;
  readonly details?: {
    readonly kind?: string;
    readonly retryAfterSeconds?: number;
    readonly causes?: readonly {
      readonly reason?: string;
      readonly type?: string;
      readonly message?: string;
    }[];
  };
};

/**
 * Returns the text of a response, cut to 1000 characters: it ends up in status fields and events.
 */
function textOf(reply: EvictionResponse, status: Status): string {
  const text =
    status.message ??
    (typeof reply.body === 'string' && reply.body !== ''
      ? reply.body
      : `HTTP status ${reply.status}`);
  return text.trim().slice(0, 1000);
}

function hasCause({ details }: Status, name: string): boolean {
  return details?.causes?.some(({ reason, type }) => reason === name || type === name) ?? false;
}

function causeText({ details }: Status, name: string): string | undefined {
  return details?.causes?.find(({ reason, type }) => reason === name || type === name)?.message;
}

function retryAfter(
  reply: EvictionResponse,
  { details }: Status,
): { readonly retryAfterSeconds?: number } {
  const seconds = Number(reply.headers['retry-after'] ?? details?.retryAfterSeconds ?? Number.NaN);
  return Number.isFinite(seconds) && seconds > 0
    ? { retryAfterSeconds: Math.min(seconds, 300) }
    : {};
}

/**
 * Name of KubeVirt's webhook on evictions (kubevirt v0.2x to v1.9, virt-operator
 * components/webhooks.go): only its texts have this meaning.
 */
const interceptor = 'virt-launcher-eviction-interceptor.kubevirt.io';

/**
 * Interprets the text of KubeVirt's webhook. It uses one code for everything; its texts are the
 * contract (kubevirt v1.9, pod-eviction-admitter).
 */
function interceptorOutcome({ detail, message }: AdmissionRefusal): EvictionOutcome | undefined {
  if (/^(?:Evacuation in progress: )?Eviction triggered evacuation/.test(detail))
    return { kind: 'evacuating', message };
  if (/not live-migratable/.test(detail)) return { kind: 'notMigratable', message };
  if (detail.startsWith('Eviction request for target Pod'))
    return { kind: 'migrationTarget', message };
  return undefined;
}

/**
 * Classifies a refusal by admission. The refusing webhook may choose any code, cause and text: none
 * of these is about the pod, its budget or the server.
 */
function refusedBy(
  refusal: AdmissionRefusal,
  wait: { readonly retryAfterSeconds?: number },
): EvictionOutcome {
  const { kind, webhook, message } = refusal;
  if (kind === 'broken') return { kind: 'webhookFailed', message, ...wait };
  const moved = webhook === interceptor ? interceptorOutcome(refusal) : undefined;
  return moved ?? { kind: 'denied', message, ...wait };
}

function tooMany(reply: EvictionResponse, status: Status, message: string): EvictionOutcome {
  const wait = retryAfter(reply, status);
  return hasCause(status, 'DisruptionBudget')
    ? { kind: 'budget', message: causeText(status, 'DisruptionBudget') ?? message, ...wait }
    : { kind: 'throttled', message, ...wait };
}

function forbidden(status: Status, message: string): EvictionOutcome {
  if (hasCause(status, 'NamespaceTerminating')) return { kind: 'namespaceTerminating', message };
  // Newer servers name the cause; older ones only blame the budget's kind (kubernetes#138003).
  if (hasCause(status, 'DisruptionBudget') || status.details?.kind === 'poddisruptionbudget')
    return { kind: 'budgetBehind', message };
  // A server that has just started does not know its policies and webhooks yet.
  if (message.endsWith('is forbidden: not yet ready to handle request'))
    return { kind: 'throttled', message };
  return { kind: 'forbidden', message };
}

function conflict(status: Status, message: string): EvictionOutcome {
  // Conflicts on budgets and on pods both have code 409. Only a failed UID precondition means that
  // this pod is gone; a lost race does not.
  if (/the UID in the precondition .* does not match the UID in record/i.test(message))
    return { kind: 'gone' };
  return { kind: 'conflict', message };
}

/**
 * Classifies a response by its author first, then by cause, text, and code last (the table of the
 * eviction API, kube-apiserver's eviction.go): policies and webhooks respond with any code, 404 and
 * 409 included.
 */
export function classify(reply: EvictionResponse): EvictionOutcome {
  const status: Status = isObject(reply.body) ? reply.body : {};
  const message = textOf(reply, status);
  const { status: code } = reply;
  if (code >= 200 && code < 300) return { kind: 'accepted' };
  const refusal = admissionRefusal(message);
  if (refusal !== undefined) return refusedBy(refusal, retryAfter(reply, status));
  // Any other 404 is not about the pod: a path that is not served, a proxy in between.
  if (code === 404)
    return status.details?.kind === 'pods' ? { kind: 'gone' } : { kind: 'invalid', message };
  if (code === 409) return conflict(status, message);
  if (code === 429) return tooMany(reply, status, message);
  if (code === 401 || code === 403) return forbidden(status, message);
  if (/more than one PodDisruptionBudget/i.test(message))
    return { kind: 'multipleBudgets', message };
  if (code === 503) return { kind: 'throttled', message, ...retryAfter(reply, status) };
  if (code >= 500) return { kind: 'failed', message, ...retryAfter(reply, status) };
  return { kind: 'invalid', message };
}

/**
 * evict: the subresource pods/eviction. delete: the pod itself, past its budgets. request: an
 * EvictionRequest.
 */
export type EvictionMethod = 'evict' | 'delete' | 'request';

/** The last eviction (or deletion) of a pod that was requested, and its outcome. */
export type Attempt = {
  readonly method: EvictionMethod;
  /** Seconds of grace period; the pod's own if left out. */
  readonly gracePeriodSeconds?: number;
  readonly outcome: EvictionOutcome;
  readonly at: Temporal.Instant;
  /** Number of tries with the same kind of outcome. */
  readonly tries: number;
  /** `key@resourceVersion` of the budget at that time: once it has changed, a retry makes sense. */
  readonly budgetSeen?: string;
  /** True if the pod had ended by then: responses about its containers no longer matter. */
  readonly ended?: true;
};

/** First and longest pause, in seconds. The pause doubles from try to try. */
type Pause = { readonly first: number; readonly longest: number };

const pauses: Readonly<Record<EvictionOutcome['kind'], Pause>> = {
  // The watch delivers the end; the retry covers a deletion that was lost on its way into the
  // store.
  accepted: { first: 30, longest: 300 },
  gone: { first: 30, longest: 300 },
  conflict: { first: 0.1, longest: 5 },
  // A change of the budget requeues the pod; these are only the safety net.
  budget: { first: 30, longest: 300 },
  budgetBehind: { first: 10, longest: 300 },
  multipleBudgets: { first: 60, longest: 300 },
  evacuating: { first: 30, longest: 300 },
  notMigratable: { first: 60, longest: 300 },
  migrationTarget: { first: 10, longest: 300 },
  // No watch shows that a policy was lifted, a webhook repaired or a right granted: all are retried
  // soon, as long as necessary.
  denied: { first: 5, longest: 10 },
  forbidden: { first: 5, longest: 10 },
  webhookFailed: { first: 1, longest: 4 },
  throttled: { first: 1, longest: 60 },
  namespaceTerminating: { first: 5, longest: 300 },
  invalid: { first: 60, longest: 300 },
  failed: { first: 1, longest: 60 },
};

/**
 * Pause where nothing was to be taken from a budget, so that its change would not requeue the pod:
 * the server has enforced the resourceVersion of an unhealthy pod that changes often.
 */
const untaken: Pause = { first: 5, longest: 30 };

/**
 * Returns a number in [0, 1) that is always the same for the same text: it spreads retries without
 * randomness, so that decisions stay pure (FNV-1a).
 */
function spread(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1)
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193) >>> 0;
  return hash / 2 ** 32;
}

/**
 * Returns the time of the next retry, unless a change requeues the pod before. A later time that
 * the server requests takes precedence.
 */
export function retryAt(
  { outcome, at, tries, budgetSeen }: Attempt,
  uid: string,
): Temporal.Instant {
  const { first, longest } =
    outcome.kind === 'budget' && budgetSeen === undefined ? untaken : pauses[outcome.kind];
  const doubled = Math.min(first * 2 ** Math.min(tries - 1, 20), longest);
  const requestedSeconds = 'retryAfterSeconds' in outcome ? (outcome.retryAfterSeconds ?? 0) : 0;
  return secondsAfter(
    at,
    Math.max(doubled * (0.8 + 0.4 * spread(`${uid}${tries}`)), requestedSeconds),
  );
}

/** Reports whether both attempts make the same call. */
export function isSameCall(
  one: Pick<Attempt, 'method' | 'gracePeriodSeconds'>,
  other: Pick<Attempt, 'method' | 'gracePeriodSeconds'>,
): boolean {
  return one.method === other.method && one.gracePeriodSeconds === other.gracePeriodSeconds;
}

/** Returns the attempt that follows `before`. */
export function nextAttempt(before: Attempt | undefined, now: Omit<Attempt, 'tries'>): Attempt {
  return {
    ...now,
    tries:
      before !== undefined && isSameCall(before, now) && before.outcome.kind === now.outcome.kind
        ? before.tries + 1
        : 1,
  };
}
