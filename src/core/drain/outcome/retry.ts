import { secondsAfter } from '../../time.ts';
import type { EvictionOutcome } from './eviction-outcome.ts';

/** evict: the subresource pods/eviction. delete: the pod itself, past its budgets. request: an EvictionRequest. */
export type EvictionMethod = 'evict' | 'delete' | 'request';

/** The last time that a pod's eviction (or deletion) was asked for, and what came of it. */
export type Attempt = {
  readonly method: EvictionMethod;
  /** Seconds that the pod was given to end; its own when left out. */
  readonly gracePeriodSeconds?: number;
  readonly outcome: EvictionOutcome;
  readonly at: Temporal.Instant;
  /** Asked this many times with the same kind of outcome. */
  readonly tries: number;
  /** `key@resourceVersion` of the budget that stood at that time: when it has changed, asking again makes sense. */
  readonly budgetSeen?: string;
  /** The pod had ended by then: answers about what it ran are no longer of interest. */
  readonly ended?: true;
};

/** First and longest pause, in seconds. The pause doubles from try to try. */
type Pause = { readonly first: number; readonly longest: number };

const pauses: Readonly<Record<EvictionOutcome['kind'], Pause>> = {
  // The watch tells of the end; asking again is for the case that the answer was lost on its way into the store.
  accepted: { first: 30, longest: 300 },
  gone: { first: 30, longest: 300 },
  conflict: { first: 0.1, longest: 5 },
  // A change of the budget wakes the pod; these are only the safety net.
  budget: { first: 30, longest: 300 },
  budgetBehind: { first: 10, longest: 300 },
  multipleBudgets: { first: 60, longest: 300 },
  evacuating: { first: 30, longest: 300 },
  notMigratable: { first: 60, longest: 300 },
  migrationTarget: { first: 10, longest: 300 },
  // Nothing tells that a policy has been lifted, a webhook repaired or a right given: all are asked again soon, for as long as it takes.
  denied: { first: 5, longest: 10 },
  forbidden: { first: 5, longest: 10 },
  webhookFailed: { first: 1, longest: 4 },
  throttled: { first: 1, longest: 60 },
  namespaceTerminating: { first: 5, longest: 300 },
  invalid: { first: 60, longest: 300 },
  failed: { first: 1, longest: 60 },
};

/** Nothing was to be taken from a budget, and its change would not wake the pod: the server has enforced the version of a sick pod that changes often. */
const untaken: Pause = { first: 5, longest: 30 };

/** A number in [0, 1) that is always the same for the same text: spreads retries without chance, so that deciding stays pure (FNV-1a). */
const spread = (text: string): number => {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193) >>> 0;
  return hash / 2 ** 32;
};

/** The moment from which on the pod may be asked for again, if nothing wakes it before. What the server asks for counts when it is later. */
export const retryAt = ({ outcome, at, tries, budgetSeen }: Attempt, uid: string): Temporal.Instant => {
  const { first, longest } = outcome.kind === 'budget' && budgetSeen === undefined ? untaken : pauses[outcome.kind];
  const doubled = Math.min(first * 2 ** Math.min(tries - 1, 20), longest);
  const asked = 'retryAfterSeconds' in outcome ? (outcome.retryAfterSeconds ?? 0) : 0;
  return secondsAfter(at, Math.max(doubled * (0.8 + 0.4 * spread(`${uid}${tries}`)), asked));
};

/** The server was asked for the same then. */
export const isSameCall = (
  one: Pick<Attempt, 'method' | 'gracePeriodSeconds'>,
  other: Pick<Attempt, 'method' | 'gracePeriodSeconds'>,
): boolean => one.method === other.method && one.gracePeriodSeconds === other.gracePeriodSeconds;

/** The attempt that follows `before`. */
export const nextAttempt = (before: Attempt | undefined, now: Omit<Attempt, 'tries'>): Attempt => ({
  ...now,
  tries: before !== undefined && isSameCall(before, now) && before.outcome.kind === now.outcome.kind ? before.tries + 1 : 1,
});
