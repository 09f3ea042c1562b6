import { secondsBetween } from '../time.ts';
import { compareVersions } from '../version.ts';
import type { Budget } from './budget.ts';

/** An eviction that has been asked for and whose effect on its budget has not been seen yet. */
export type Flight = {
  readonly uid: string;
  readonly podKey: string;
  readonly podName: string;
  readonly nodeName: string;
  /** Key of the budget that it takes from; missing when it takes from none. */
  readonly budget?: string;
  /** queued: not sent yet, can be called back. sent: no answer yet. accepted: the server has agreed. */
  readonly state: 'queued' | 'sent' | 'accepted';
  /** Of the last change of state. */
  readonly at: Temporal.Instant;
  /** The pod's resourceVersion when its deletion was first seen. */
  readonly deletionVersion?: string;
};

/** After an accepted eviction the budget's new status must arrive within this time, in seconds; it is milliseconds in practice. */
const reflectionLimit = 10;

/**
 * The budget's status counts this eviction already: it names the pod as disrupted, or it was written after the pod's deletion (the API
 * server writes the budget first and deletes then, so a status that is younger than the deletion has counted it).
 */
export const isReflected = (flight: Flight, budget: Budget, now: Temporal.Instant): boolean => {
  if (budget.disruptedPods.includes(flight.podName)) return true;
  if (flight.deletionVersion !== undefined && compareVersions(budget.resourceVersion, flight.deletionVersion) > 0) return true;
  return flight.state === 'accepted' && secondsBetween(flight.at, now) > reflectionLimit;
};

/** How many pods may be asked for now without ever exceeding what the budget allows, evictions on their way included, of all nodes. */
export const freeOf = (budget: Budget, flights: readonly Flight[], now: Temporal.Instant): number => {
  if (!budget.fresh || budget.syncFailure !== undefined) return 0;
  const reserved = flights.filter(flight => flight.budget === budget.key && !isReflected(flight, budget, now)).length;
  return Math.max(0, budget.disruptionsAllowed - reserved);
};
