import type { Budget } from '../../core/drain/budgets/budget.ts';
import { type InFlightEviction, isCounted, isReflected, reflectionLimitMs } from '../../core/drain/budgets/in-flight-eviction.ts';

/** No budget has to be seen counting it (any more). */
export const takesNothing = ({ budget, overrules = [] }: InFlightEviction): boolean => budget === undefined && overrules.length === 0;

/** Evictions and deletions under way, of all nodes, until their budgets have counted them. */
export class InFlightEvictions {
  readonly #inFlight = new Map<string, InFlightEviction>();
  readonly #uidsByNode = new Map<string, Set<string>>();
  /** By uid, of those that are accepted: since when, in milliseconds. There are few, and each change of a budget looks at all of them. */
  readonly #acceptedMs = new Map<string, number>();

  get(uid: string): InFlightEviction | undefined {
    return this.#inFlight.get(uid);
  }

  all(): readonly InFlightEviction[] {
    return [...this.#inFlight.values()];
  }

  of(nodeName: string): readonly InFlightEviction[] {
    return [...(this.#uidsByNode.get(nodeName) ?? [])].flatMap(uid => this.#inFlight.get(uid) ?? []);
  }

  put(inFlightEviction: InFlightEviction): void {
    const { uid, nodeName, state, at } = inFlightEviction;
    this.#inFlight.set(uid, inFlightEviction);
    const uids = this.#uidsByNode.get(nodeName);
    if (uids === undefined) this.#uidsByNode.set(nodeName, new Set([uid]));
    else uids.add(uid);
    if (state === 'accepted') this.#acceptedMs.set(uid, at.epochMilliseconds);
    else this.#acceptedMs.delete(uid);
  }

  end(uid: string): void {
    const { nodeName = '' } = this.#inFlight.get(uid) ?? {};
    this.#inFlight.delete(uid);
    this.#acceptedMs.delete(uid);
    const uids = this.#uidsByNode.get(nodeName);
    uids?.delete(uid);
    if (uids?.size === 0) this.#uidsByNode.delete(nodeName);
  }

  /** The pod's deletion has been seen: every status of its budget that is younger has counted it. */
  podLeft(uid: string, resourceVersion: string): void {
    const inFlightEviction = this.#inFlight.get(uid);
    if (inFlightEviction === undefined || inFlightEviction.deletionVersion !== undefined) return;
    if (inFlightEviction.state === 'accepted' && takesNothing(inFlightEviction)) this.end(uid);
    else this.put({ ...inFlightEviction, deletionVersion: resourceVersion });
  }

  /** Ends the in-flight evictions that this budget has counted, and those that their own never shows. */
  settle(budget: Budget, now: Temporal.Instant): void {
    const nowMs = now.epochMilliseconds;
    for (const [uid, atMs] of this.#acceptedMs) {
      const inFlightEviction = this.#inFlight.get(uid);
      if (inFlightEviction === undefined || nowMs - atMs > reflectionLimitMs) this.end(uid);
      else if (concerns(inFlightEviction, budget)) this.#settle(inFlightEviction, budget, now);
    }
  }

  #settle(inFlightEviction: InFlightEviction, budget: Budget, now: Temporal.Instant): void {
    const { budget: asked, overrules, ...rest } = inFlightEviction;
    const left = overrules?.filter(one => one.budget !== budget.key || !isCounted(inFlightEviction, one, budget, now));
    const isLeft = asked !== undefined && (asked !== budget.key || !isReflected(inFlightEviction, budget, now));
    const next: InFlightEviction = { ...rest, ...(isLeft && { budget: asked }), ...(left && left.length > 0 && { overrules: left }) };
    if (takesNothing(next)) this.end(inFlightEviction.uid);
    else this.put(next);
  }
}

const concerns = ({ budget, overrules = [] }: InFlightEviction, { key }: Budget): boolean =>
  budget === key || overrules.some(one => one.budget === key);
