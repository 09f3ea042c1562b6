import { compareVersions } from '@drydock/apimachinery';
import { type Budget, grantedBy } from './budget.ts';

/**
 * A budget that a deletion bypasses. `healthy`: once the budget's status has counted the deletion,
 * fewer pods than this are healthy.
 */
export type BypassedBudget = { readonly budget: string; readonly healthy: number };

/**
 * An eviction, or a deletion, that was requested and whose effect on its budget has not been
 * observed yet.
 */
export type InFlightEviction = {
  readonly uid: string;
  readonly podKey: string;
  readonly podName: string;
  readonly nodeName: string;
  /** Key of the budget that it takes from; missing if it takes from none. */
  readonly budget?: string;
  /** Budgets that a deletion bypasses; evictions have to leave that share to the deletion. */
  readonly overrules?: readonly BypassedBudget[];
  /**
   * State. queued: not sent yet, can be cancelled. sent: no response yet. accepted: the server has
   * agreed.
   */
  readonly state: 'queued' | 'sent' | 'accepted';
  /** Time of the last change of state. */
  readonly at: Temporal.Instant;
  /** resourceVersion of the pod when its deletion was first observed. */
  readonly deletionVersion?: string;
};

/**
 * Milliseconds within which the budget's new status must arrive after an accepted call; in practice
 * it takes a few.
 */
export const reflectionLimitMs = 10_000;

/**
 * Reports whether the budget's status counts this eviction already: it names the pod as disrupted,
 * or it was written after the pod's deletion (the API server writes the budget first and deletes
 * then, so a status that is newer than the deletion has counted it).
 */
export function isReflected(
  inFlightEviction: InFlightEviction,
  budget: Budget,
  now: Temporal.Instant,
): boolean {
  if (budget.disruptedPods.includes(inFlightEviction.podName)) return true;
  return isYounger(budget, inFlightEviction) || isGivenUp(inFlightEviction, now);
}

function isYounger(budget: Budget, { deletionVersion }: InFlightEviction): boolean {
  return (
    deletionVersion !== undefined && compareVersions(budget.resourceVersion, deletionVersion) > 0
  );
}

/** Reports whether the time is over within which the budget would have shown it. */
function isGivenUp({ state, at }: InFlightEviction, now: Temporal.Instant): boolean {
  return state === 'accepted' && now.epochMilliseconds - at.epochMilliseconds > reflectionLimitMs;
}

/**
 * Reports the same for a deletion: a newer status may result from the eviction of another pod, and
 * does not count this one.
 */
export function isCounted(
  inFlightEviction: InFlightEviction,
  { healthy }: BypassedBudget,
  budget: Budget,
  now: Temporal.Instant,
): boolean {
  return (
    (isYounger(budget, inFlightEviction) && budget.currentHealthy < healthy) ||
    isGivenUp(inFlightEviction, now)
  );
}

function takesFrom(
  inFlightEviction: InFlightEviction,
  budget: Budget,
  now: Temporal.Instant,
): boolean {
  if (inFlightEviction.budget === budget.key) return !isReflected(inFlightEviction, budget, now);
  return (
    inFlightEviction.overrules?.some(
      one => one.budget === budget.key && !isCounted(inFlightEviction, one, budget, now),
    ) === true
  );
}

/**
 * Counts the pods of all nodes that the budget's status counts as healthy and that are about to
 * leave.
 */
export function reservedDisruptions(
  budget: Budget,
  inFlight: readonly InFlightEviction[],
  now: Temporal.Instant,
): number {
  return inFlight.reduce(
    (sum, inFlightEviction) => sum + Number(takesFrom(inFlightEviction, budget, now)),
    0,
  );
}

/**
 * Returns how many pods may be evicted now without ever exceeding the budget, with all in-flight
 * evictions of all nodes included.
 */
export function availableDisruptions(
  budget: Budget,
  inFlight: readonly InFlightEviction[],
  now: Temporal.Instant,
): number {
  return Math.max(0, grantedBy(budget) - reservedDisruptions(budget, inFlight, now));
}
