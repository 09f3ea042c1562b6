import { compareVersions } from '../../version.ts';
import { type Budget, grantedBy } from './budget.ts';

/** A budget that a deletion does not ask. `healthy`: fewer pods than that are healthy once the budget's status has counted the deletion. */
export type BypassedBudget = { readonly budget: string; readonly healthy: number };

/** An eviction, or a deletion, that has been asked for and whose effect on its budget has not been seen yet. */
export type InFlightEviction = {
  readonly uid: string;
  readonly podKey: string;
  readonly podName: string;
  readonly nodeName: string;
  /** Key of the budget that it takes from; missing when it takes from none. */
  readonly budget?: string;
  /** Of a deletion: what it takes away without asking. Evictions have to leave that to it. */
  readonly overrules?: readonly BypassedBudget[];
  /** queued: not sent yet, can be called back. sent: no answer yet. accepted: the server has agreed. */
  readonly state: 'queued' | 'sent' | 'accepted';
  /** Of the last change of state. */
  readonly at: Temporal.Instant;
  /** The pod's resourceVersion when its deletion was first seen. */
  readonly deletionVersion?: string;
};

/** After an accepted call the budget's new status must arrive within this time, in milliseconds; in practice it takes a few. */
export const reflectionLimitMs = 10_000;

/**
 * The budget's status counts this eviction already: it names the pod as disrupted, or it was written after the pod's deletion (the API
 * server writes the budget first and deletes then, so a status that is younger than the deletion has counted it).
 */
export const isReflected = (inFlightEviction: InFlightEviction, budget: Budget, now: Temporal.Instant): boolean => {
  if (budget.disruptedPods.includes(inFlightEviction.podName)) return true;
  return isYounger(budget, inFlightEviction) || isGivenUp(inFlightEviction, now);
};

const isYounger = (budget: Budget, { deletionVersion }: InFlightEviction): boolean =>
  deletionVersion !== undefined && compareVersions(budget.resourceVersion, deletionVersion) > 0;

/** Its budget would have shown it by now. */
const isGivenUp = ({ state, at }: InFlightEviction, now: Temporal.Instant): boolean =>
  state === 'accepted' && now.epochMilliseconds - at.epochMilliseconds > reflectionLimitMs;

/** The same for a deletion: a status that is younger may come of the eviction of another pod, which counts nothing anew. */
export const isCounted = (
  inFlightEviction: InFlightEviction,
  { healthy }: BypassedBudget,
  budget: Budget,
  now: Temporal.Instant,
): boolean => (isYounger(budget, inFlightEviction) && budget.currentHealthy < healthy) || isGivenUp(inFlightEviction, now);

const takesFrom = (inFlightEviction: InFlightEviction, budget: Budget, now: Temporal.Instant): boolean => {
  if (inFlightEviction.budget === budget.key) return !isReflected(inFlightEviction, budget, now);
  return inFlightEviction.overrules?.some(one => one.budget === budget.key && !isCounted(inFlightEviction, one, budget, now)) === true;
};

/** Pods that the budget's status counts as healthy, and that are on their way to be gone, of all nodes. */
export const reservedDisruptions = (budget: Budget, inFlight: readonly InFlightEviction[], now: Temporal.Instant): number =>
  inFlight.reduce((sum, inFlightEviction) => sum + Number(takesFrom(inFlightEviction, budget, now)), 0);

/** How many pods may be asked for now without ever exceeding what the budget allows, whatever is on its way included, of all nodes. */
export const availableDisruptions = (budget: Budget, inFlight: readonly InFlightEviction[], now: Temporal.Instant): number =>
  Math.max(0, grantedBy(budget) - reservedDisruptions(budget, inFlight, now));
