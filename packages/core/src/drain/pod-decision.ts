import { earliest, isBefore, secondsAfter } from '@drydock/apimachinery';
import { isFinished, type Pod } from '../pod/pod.ts';
import {
  type BlockerInfo,
  ignoredBlockerInfo,
  outcomeBlockerInfo,
  terminatingBlockerInfo,
} from './blockers/blocker.ts';
import { type Budget, isFreeEviction } from './budgets/budget.ts';
import {
  type Attempt,
  type EvictionMethod,
  isSameCall,
  retryAt,
} from './outcome/eviction-outcome.ts';
import type { RequestOwner } from './responders/eviction-request.ts';

/** Decision to send nothing now. */
export type PodWait = {
  readonly verdict: 'wait';
  readonly blockerInfo?: BlockerInfo;
  readonly requeueAt?: Temporal.Instant;
  /** Key of the budget that has to allow more. */
  readonly waitsFor?: string;
  /** True if KubeVirt has as many VMs to move as it can. */
  readonly waitsForSlots?: true;
};

/** Decision about one pod now. */
export type PodDecision =
  | PodWait
  | {
      readonly verdict: 'call';
      readonly budget?: Budget;
      /** Seconds of grace period that replace the candidate's. */
      readonly gracePeriodSeconds?: number;
      /** Node that owns the EvictionRequest to the pod's responders. */
      readonly requestFor?: RequestOwner;
    };

/** Evaluates the last response about a pod. */

function seenText(budget: Budget): string {
  return `${budget.key}@${budget.resourceVersion}`;
}

/**
 * Reports whether a change since the refusal makes a retry worthwhile: the budget that was seen
 * then has changed or is gone; or the pod takes from a budget that the watch has delivered only
 * since. Without such a change, nothing known here changes the response.
 */
export function isOutdated(
  pod: Pod,
  { outcome, budgetSeen, ended }: Attempt,
  budgets: readonly Budget[],
): boolean {
  const [budget] = budgets;
  if (isFinished(pod) && ended === undefined) return true;
  if (outcome.kind !== 'budget' && outcome.kind !== 'budgetBehind') return false;
  if (budgetSeen === undefined) return budget !== undefined && !isFreeEviction(pod, budget);
  return budgetSeen !== (budget && seenText(budget));
}

/**
 * Seconds until the retry after a refusal for too many budgets, if at most one is known here: the
 * others are gone, or no watch has delivered them yet.
 */
const onceOneIsLeft = 1;

/** Returns the time of the next attempt, unless a newer budget outdates the last response. */
export function retryTimeFor(
  pod: Pod,
  attempt: Attempt,
  budgets: readonly Budget[],
): Temporal.Instant {
  return attempt.outcome.kind === 'multipleBudgets' && budgets.length < 2
    ? secondsAfter(attempt.at, onceOneIsLeft * attempt.tries)
    : retryAt(attempt, pod.uid);
}

/** Seconds within which an accepted eviction has to be observed on the pod. */
const seenWithin = 30;

/**
 * Returns the blocker that the last response proves: it counts until a newer response, also during
 * a retry.
 */
export function lastingBlocker(
  pod: Pod,
  { outcome, at, tries }: Attempt,
  now: Temporal.Instant,
): BlockerInfo | undefined {
  if (outcome.kind === 'gone') return undefined;
  if (outcome.kind !== 'accepted') return outcomeBlockerInfo(pod, outcome.kind, outcome.message);
  // A retry, because the accepted eviction had no effect, or is about to be one.
  return tries > 1 || !isBefore(now, secondsAfter(at, seenWithin))
    ? ignoredBlockerInfo(pod, tries)
    : undefined;
}

export function waitAfterAttempt(
  pod: Pod,
  attempt: Attempt,
  budgets: readonly Budget[],
  now: Temporal.Instant,
): PodDecision {
  const { outcome } = attempt;
  const requeueAt = retryTimeFor(pod, attempt, budgets);
  const blockerInfo = lastingBlocker(pod, attempt, now);
  if (outcome.kind === 'accepted' || outcome.kind === 'gone') {
    const seenBy = secondsAfter(attempt.at, seenWithin);
    const next = isBefore(now, seenBy) ? earliest([seenBy, requeueAt]) : requeueAt;
    return {
      verdict: 'wait',
      ...(blockerInfo && { blockerInfo }),
      ...(next && { requeueAt: next }),
    };
  }
  const [budget] = budgets;
  return {
    verdict: 'wait',
    requeueAt,
    ...(blockerInfo && { blockerInfo }),
    ...(budget &&
      (outcome.kind === 'budget' || outcome.kind === 'budgetBehind') && { waitsFor: budget.key }),
  };
}

/** Seconds past its grace period after which a terminating pod counts as stuck. */
const overdueAfter = 30;

function waitForEnd(pod: Pod, now: Temporal.Instant): PodWait {
  const end = secondsAfter(pod.deletionTimestamp ?? now, overdueAfter);
  const overdue = !isBefore(now, end);
  return {
    verdict: 'wait',
    blockerInfo: terminatingBlockerInfo(pod, overdue),
    ...(!overdue && { requeueAt: end }),
  };
}

/** A pod, and how the drain wants it to leave. */
type Wanted = {
  readonly pod: Pod;
  readonly method: Exclude<EvictionMethod, 'request'>;
  readonly gracePeriodSeconds?: number;
};

/** Facts beside the pod. */
type Known = {
  /** True if its eviction is in flight, and the response is still to come. */
  readonly isAsked: boolean;
  /**
   * Wait for a responder of the pod's own, if it has its turn: the responder decides how long the
   * pod has.
   */
  readonly responding: PodWait | undefined;
  readonly attempt: Attempt | undefined;
  readonly now: Temporal.Instant;
};

/**
 * Returns the grace period in seconds, if it is shorter than the pod's current one. The API server
 * only ever shortens a grace period.
 */
function shorterGrace({ pod, method, gracePeriodSeconds }: Wanted): number | undefined {
  const wanted = gracePeriodSeconds ?? (method === 'delete' ? pod.graceSeconds : undefined);
  return wanted !== undefined && wanted < pod.deletionGraceSeconds ? wanted : undefined;
}

/**
 * Decides on a terminating pod, whichever client deleted it: it is evicted again where its grace
 * period may be shortened.
 */
export function considerTerminating(
  wanted: Wanted,
  { isAsked, responding, attempt, now }: Known,
): PodDecision {
  const { pod, method } = wanted;
  const waiting = waitForEnd(pod, now);
  const gracePeriodSeconds = shorterGrace(wanted);
  if (gracePeriodSeconds === undefined || isAsked) return waiting;
  const turnEnds = earliest([waiting.requeueAt, responding?.requeueAt]);
  if (responding !== undefined) return { ...waiting, ...(turnEnds && { requeueAt: turnEnds }) };
  if (attempt === undefined || !isSameCall(attempt, { method, gracePeriodSeconds }))
    return { verdict: 'call', gracePeriodSeconds };
  const requeueAt = retryAt(attempt, pod.uid);
  if (!isBefore(now, requeueAt)) return { verdict: 'call', gracePeriodSeconds };
  const refused =
    attempt.outcome.kind === 'accepted' ? undefined : lastingBlocker(pod, attempt, now);
  const next = earliest([requeueAt, waiting.requeueAt]);
  return { ...waiting, ...(next && { requeueAt: next }), ...(refused && { blockerInfo: refused }) };
}
