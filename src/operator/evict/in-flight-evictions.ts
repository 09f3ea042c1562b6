import type { Budget } from '../../core/drain/budgets/budget.ts';
import { type InFlightEviction, isCounted, isReflected, reflectionLimitMs } from '../../core/drain/budgets/in-flight-eviction.ts';
import { isLauncher } from '../../core/drain/vm/migration-slots.ts';

/** Of the budgets that have to be seen counting it: the one that is asked, and those that are overruled. */
export const budgetKeysOf = ({ budget, overrules = [] }: InFlightEviction): readonly string[] => [
  ...(budget === undefined ? [] : [budget]),
  ...overrules.map(one => one.budget),
];

/** No budget has to be seen counting it (any more). */
export const hasNoBudget = (inFlightEviction: InFlightEviction): boolean => budgetKeysOf(inFlightEviction).length === 0;

const ofNode = (nodeName: string): string => `node ${nodeName}`;
const ofBudget = (key: string): string => `budget ${key}`;
const launchers = 'launchers of VMs';

const groupsOf = (one: InFlightEviction): readonly string[] => [
  ofNode(one.nodeName),
  ...budgetKeysOf(one).map(ofBudget),
  ...(isLauncher(one) ? [launchers] : []),
];

/**
 * Evictions and deletions under way, of all nodes, until their budgets have counted them. Where a large cluster is drained there are thousands, so
 * nobody who asks about a node or a budget looks at all of them.
 */
export class InFlightEvictions {
  readonly #inFlight = new Map<string, InFlightEviction>();
  readonly #uidsByGroup = new Map<string, Set<string>>();
  /** By uid, of those that are accepted, the oldest first: since when, in milliseconds. */
  readonly #acceptedMs = new Map<string, number>();

  get size(): number {
    return this.#inFlight.size;
  }

  get(uid: string): InFlightEviction | undefined {
    return this.#inFlight.get(uid);
  }

  of(nodeName: string): readonly InFlightEviction[] {
    return this.#in(ofNode(nodeName));
  }

  /** Those that the budget is asked for, or overruled by. */
  takingFrom(key: string): readonly InFlightEviction[] {
    return this.#in(ofBudget(key));
  }

  /** All that counts for what may leave a node whose pods have these budgets: its own, those that take from the budgets, and VMs on their way. */
  about(nodeName: string, budgets: readonly Budget[]): readonly InFlightEviction[] {
    return this.#in(ofNode(nodeName), launchers, ...budgets.map(({ key }) => ofBudget(key)));
  }

  put(inFlightEviction: InFlightEviction): void {
    const { uid, state, at } = inFlightEviction;
    const groups = groupsOf(inFlightEviction);
    this.#leave(uid, groups);
    this.#inFlight.set(uid, inFlightEviction);
    for (const group of groups) {
      const uids = this.#uidsByGroup.get(group);
      if (uids === undefined) this.#uidsByGroup.set(group, new Set([uid]));
      else uids.add(uid);
    }
    if (state === 'accepted') this.#acceptedMs.set(uid, at.epochMilliseconds);
    else this.#acceptedMs.delete(uid);
  }

  end(uid: string): void {
    this.#leave(uid, []);
    this.#inFlight.delete(uid);
    this.#acceptedMs.delete(uid);
  }

  /** The pod's deletion has been seen: every status of its budget that is younger has counted it. */
  podLeft(uid: string, resourceVersion: string): void {
    const inFlightEviction = this.#inFlight.get(uid);
    if (inFlightEviction === undefined || inFlightEviction.deletionVersion !== undefined) return;
    if (inFlightEviction.state === 'accepted' && hasNoBudget(inFlightEviction)) this.end(uid);
    else this.put({ ...inFlightEviction, deletionVersion: resourceVersion });
  }

  /** Ends the in-flight evictions that this budget has counted, and those that their own never shows. */
  settle(budget: Budget, now: Temporal.Instant): void {
    for (const [uid, atMs] of this.#acceptedMs) {
      if (now.epochMilliseconds - atMs <= reflectionLimitMs) break;
      this.end(uid);
    }
    for (const one of this.takingFrom(budget.key)) if (one.state === 'accepted') this.#settle(one, budget, now);
  }

  #settle(inFlightEviction: InFlightEviction, budget: Budget, now: Temporal.Instant): void {
    const { budget: asked, overrules, ...rest } = inFlightEviction;
    const left = overrules?.filter(one => one.budget !== budget.key || !isCounted(inFlightEviction, one, budget, now));
    const isLeft = asked !== undefined && (asked !== budget.key || !isReflected(inFlightEviction, budget, now));
    const next: InFlightEviction = { ...rest, ...(isLeft && { budget: asked }), ...(left && left.length > 0 && { overrules: left }) };
    if (hasNoBudget(next)) this.end(inFlightEviction.uid);
    else this.put(next);
  }

  /** Each once. */
  #in(...groups: readonly string[]): readonly InFlightEviction[] {
    const uids = new Set(groups.flatMap(group => [...(this.#uidsByGroup.get(group) ?? [])]));
    return [...uids].flatMap(uid => this.#inFlight.get(uid) ?? []);
  }

  /** All groups but these. */
  #leave(uid: string, kept: readonly string[]): void {
    const before = this.#inFlight.get(uid);
    for (const group of before === undefined ? [] : groupsOf(before).filter(one => !kept.includes(one))) {
      const uids = this.#uidsByGroup.get(group);
      uids?.delete(uid);
      if (uids?.size === 0) this.#uidsByGroup.delete(group);
    }
  }
}
