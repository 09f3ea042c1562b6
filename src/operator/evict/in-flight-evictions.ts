import type { Budget } from '../../core/drain/budget.ts';
import { type Flight, isCounted, isGivenUp, isReflected } from '../../core/drain/in-flight-eviction.ts';

/** No budget has to be seen counting it (any more). */
export const takesNothing = ({ budget, overrules = [] }: Flight): boolean => budget === undefined && overrules.length === 0;

/** Evictions and deletions under way, of all nodes, until their budgets have counted them. */
export class Flights {
  readonly #flights = new Map<string, Flight>();

  get(uid: string): Flight | undefined {
    return this.#flights.get(uid);
  }

  all(): readonly Flight[] {
    return [...this.#flights.values()];
  }

  of(nodeName: string): readonly Flight[] {
    return this.all().filter(flight => flight.nodeName === nodeName);
  }

  put(flight: Flight): void {
    this.#flights.set(flight.uid, flight);
  }

  end(uid: string): void {
    this.#flights.delete(uid);
  }

  /** The pod's deletion has been seen: every status of its budget that is younger has counted it. */
  podLeft(uid: string, resourceVersion: string): void {
    const flight = this.#flights.get(uid);
    if (flight === undefined || flight.deletionVersion !== undefined) return;
    this.#flights.set(uid, { ...flight, deletionVersion: resourceVersion });
    if (flight.state === 'accepted' && takesNothing(flight)) this.#flights.delete(uid);
  }

  /** Ends the flights that this budget has counted. */
  settle(budget: Budget, now: Temporal.Instant): void {
    for (const flight of this.#flights.values()) {
      if (flight.state !== 'accepted') continue;
      const concerns = flight.budget === budget.key || flight.overrules?.some(one => one.budget === budget.key) === true;
      if (!concerns && !isGivenUp(flight, now)) continue;
      const { budget: asked, overrules, ...rest } = flight;
      const left = overrules?.filter(one => one.budget !== budget.key || !isCounted(flight, one, budget, now));
      const isLeft = asked !== undefined && (asked !== budget.key || !isReflected(flight, budget, now));
      const next: Flight = { ...rest, ...(isLeft && { budget: asked }), ...(left && left.length > 0 && { overrules: left }) };
      if (takesNothing(next) || isGivenUp(flight, now)) this.#flights.delete(flight.uid);
      else this.#flights.set(flight.uid, next);
    }
  }
}
