import { earliest, isBefore, secondsAfter } from '@drydock/apimachinery';
import { isFinished, type Pod } from '../pod/pod.ts';
import { type BlockerInfo, ignoredBlockerInfo, outcomeBlockerInfo } from './blockers/blocker.ts';
import { type Budget, isFreeEviction } from './budgets/budget.ts';
import { type Attempt, retryAt } from './outcome/retry.ts';
import type { PodDecision } from './pod-decision.ts';

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
