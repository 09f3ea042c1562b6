import { isFinished, type Pod } from '../pod/pod.ts';
import { earliest, isBefore, secondsAfter } from '../time.ts';
import { type BlockerInfo, ignoredBlockerInfo, outcomeBlockerInfo } from './blockers/blocker.ts';
import { type Budget, isFreeEviction } from './budgets/budget.ts';
import { type Attempt, retryAt } from './outcome/retry.ts';
import type { PodDecision } from './pod-decision.ts';

/** What the last answer about a pod comes to. */

const seenText = (budget: Budget): string => `${budget.key}@${budget.resourceVersion}`;

/**
 * Something has happened since the refusal that makes the answer worth asking for again: the budget that was seen then has changed or is gone; or none
 * was known then that the pod takes from, and a watch has told of one since. As long as none has, nothing that is known here changes the answer.
 */
export const isOutdated = (pod: Pod, { outcome, budgetSeen, ended }: Attempt, budgets: readonly Budget[]): boolean => {
  const [budget] = budgets;
  if (isFinished(pod) && ended === undefined) return true;
  if (outcome.kind !== 'budget' && outcome.kind !== 'budgetBehind') return false;
  if (budgetSeen === undefined) return budget !== undefined && !isFreeEviction(pod, budget);
  return budgetSeen !== (budget && seenText(budget));
};

/** Too many budgets, and one at most is known here: the others have gone, or no watch has told of them yet. In seconds. */
const onceOneIsLeft = 1;

/** When it is asked for again, if nothing has made the answer outdated. */
export const retryTimeFor = (pod: Pod, attempt: Attempt, budgets: readonly Budget[]): Temporal.Instant =>
  attempt.outcome.kind === 'multipleBudgets' && budgets.length < 2
    ? secondsAfter(attempt.at, onceOneIsLeft * attempt.tries)
    : retryAt(attempt, pod.uid);

/** Seconds after which an eviction that was accepted has to be seen on the pod. */
const seenWithin = 30;

/** What an attempt has taught about the pod: it counts until a newer answer, also while the pod is asked for once more. */
export const lastingBlocker = (pod: Pod, { outcome, at, tries }: Attempt, now: Temporal.Instant): BlockerInfo | undefined => {
  if (outcome.kind === 'gone') return undefined;
  if (outcome.kind !== 'accepted') return outcomeBlockerInfo(pod, outcome.kind, outcome.message);
  // Asked once more because nothing has come of it, or about to be.
  return tries > 1 || !isBefore(now, secondsAfter(at, seenWithin)) ? ignoredBlockerInfo(pod, tries) : undefined;
};

export const waitAfterAttempt = (pod: Pod, attempt: Attempt, budgets: readonly Budget[], now: Temporal.Instant): PodDecision => {
  const { outcome } = attempt;
  const requeueAt = retryTimeFor(pod, attempt, budgets);
  const blockerInfo = lastingBlocker(pod, attempt, now);
  if (outcome.kind === 'accepted' || outcome.kind === 'gone') {
    const seenBy = secondsAfter(attempt.at, seenWithin);
    const next = isBefore(now, seenBy) ? earliest([seenBy, requeueAt]) : requeueAt;
    return { verdict: 'wait', ...(blockerInfo && { blockerInfo }), ...(next && { requeueAt: next }) };
  }
  const [budget] = budgets;
  return {
    verdict: 'wait',
    requeueAt,
    ...(blockerInfo && { blockerInfo }),
    ...(budget && (outcome.kind === 'budget' || outcome.kind === 'budgetBehind') && { waitsFor: budget.key }),
  };
};
