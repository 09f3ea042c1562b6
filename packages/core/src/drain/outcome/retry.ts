import { secondsAfter } from '@drydock/apimachinery';
import type { EvictionOutcome } from './eviction-outcome.ts';

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
  const asked = 'retryAfterSeconds' in outcome ? (outcome.retryAfterSeconds ?? 0) : 0;
  return secondsAfter(at, Math.max(doubled * (0.8 + 0.4 * spread(`${uid}${tries}`)), asked));
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
