import type { Budget } from '../core/drain/budget.ts';
import { type Flight, isReflected } from '../core/drain/flight.ts';

/** Evictions under way, of all nodes, until their budgets have counted them. */
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
    if (flight.budget === undefined && flight.state === 'accepted') this.#flights.delete(uid);
  }

  /** Ends the flights that this budget has counted. */
  settle(budget: Budget, now: Temporal.Instant): void {
    for (const flight of this.#flights.values()) {
      if (flight.state === 'accepted' && flight.budget === budget.key && isReflected(flight, budget, now)) this.#flights.delete(flight.uid);
    }
  }
}
