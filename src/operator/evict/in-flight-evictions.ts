import type { Budget } from '../../core/drain/budgets/budget.ts';
import { type InFlightEviction, isCounted, isGivenUp, isReflected } from '../../core/drain/budgets/in-flight-eviction.ts';

/** No budget has to be seen counting it (any more). */
export const takesNothing = ({ budget, overrules = [] }: InFlightEviction): boolean => budget === undefined && overrules.length === 0;

/** Evictions and deletions under way, of all nodes, until their budgets have counted them. */
export class InFlightEvictions {
  readonly #inFlight = new Map<string, InFlightEviction>();

  get(uid: string): InFlightEviction | undefined {
    return this.#inFlight.get(uid);
  }

  all(): readonly InFlightEviction[] {
    return [...this.#inFlight.values()];
  }

  of(nodeName: string): readonly InFlightEviction[] {
    return this.all().filter(inFlightEviction => inFlightEviction.nodeName === nodeName);
  }

  put(inFlightEviction: InFlightEviction): void {
    this.#inFlight.set(inFlightEviction.uid, inFlightEviction);
  }

  end(uid: string): void {
    this.#inFlight.delete(uid);
  }

  /** The pod's deletion has been seen: every status of its budget that is younger has counted it. */
  podLeft(uid: string, resourceVersion: string): void {
    const inFlightEviction = this.#inFlight.get(uid);
    if (inFlightEviction === undefined || inFlightEviction.deletionVersion !== undefined) return;
    this.#inFlight.set(uid, { ...inFlightEviction, deletionVersion: resourceVersion });
    if (inFlightEviction.state === 'accepted' && takesNothing(inFlightEviction)) this.#inFlight.delete(uid);
  }

  /** Ends the in-flight evictions that this budget has counted. */
  settle(budget: Budget, now: Temporal.Instant): void {
    for (const inFlightEviction of this.#inFlight.values()) {
      if (inFlightEviction.state !== 'accepted') continue;
      const concerns =
        inFlightEviction.budget === budget.key || inFlightEviction.overrules?.some(one => one.budget === budget.key) === true;
      if (!concerns && !isGivenUp(inFlightEviction, now)) continue;
      const { budget: asked, overrules, ...rest } = inFlightEviction;
      const left = overrules?.filter(one => one.budget !== budget.key || !isCounted(inFlightEviction, one, budget, now));
      const isLeft = asked !== undefined && (asked !== budget.key || !isReflected(inFlightEviction, budget, now));
      const next: InFlightEviction = { ...rest, ...(isLeft && { budget: asked }), ...(left && left.length > 0 && { overrules: left }) };
      if (takesNothing(next) || isGivenUp(inFlightEviction, now)) this.#inFlight.delete(inFlightEviction.uid);
      else this.#inFlight.set(inFlightEviction.uid, next);
    }
  }
}
