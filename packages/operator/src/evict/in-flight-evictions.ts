import type { Budget } from '@drydock/core/drain';
import {
  type InFlightEviction,
  isCounted,
  isLauncher,
  isReflected,
  reflectionLimitMs,
} from '@drydock/core/drain';

/**
 * Returns the budgets whose status has to count it: the one that it takes from, and those that it
 * overrules.
 */
export function budgetKeysOf({ budget, overrules = [] }: InFlightEviction): readonly string[] {
  return [...(budget === undefined ? [] : [budget]), ...overrules.map(one => one.budget)];
}

/** Reports whether no budget's status has to count it (any more). */
export function hasNoBudget(inFlightEviction: InFlightEviction): boolean {
  return budgetKeysOf(inFlightEviction).length === 0;
}

function ofNode(nodeName: string): string {
  return `node ${nodeName}`;
}
function ofBudget(key: string): string {
  return `budget ${key}`;
}
const launchers = 'launchers of VMs';

function groupsOf(one: InFlightEviction): readonly string[] {
  return [
    ofNode(one.nodeName),
    ...budgetKeysOf(one).map(ofBudget),
    ...(isLauncher(one) ? [launchers] : []),
  ];
}

/**
 * An index of the in-flight evictions and deletions of all nodes, until their budgets have counted
 * them. There are thousands while a large cluster is drained, so a lookup by node or budget does
 * not scan all of them.
 */
export class InFlightEvictions {
  readonly #inFlight = new Map<string, InFlightEviction>();
  readonly #uidsByGroup = new Map<string, Set<string>>();
  /** Milliseconds since the epoch since when they are accepted, by uid, the oldest first. */
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

  /** Returns those that take from the budget or overrule it. */
  takingFrom(key: string): readonly InFlightEviction[] {
    return this.#in(ofBudget(key));
  }

  /**
   * Returns all that affects which pods may leave a node whose pods have these budgets: its own,
   * those that take from the budgets, and in-flight VMs.
   */
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

  /**
   * Records that the pod's deletion has been observed: every newer status of its budget has counted
   * it.
   */
  podLeft(uid: string, resourceVersion: string): void {
    const inFlightEviction = this.#inFlight.get(uid);
    if (inFlightEviction === undefined || inFlightEviction.deletionVersion !== undefined) return;
    if (inFlightEviction.state === 'accepted' && hasNoBudget(inFlightEviction)) this.end(uid);
    else this.put({ ...inFlightEviction, deletionVersion: resourceVersion });
  }

  /**
   * Ends the in-flight evictions that this budget has counted, and those that their own budget
   * never shows.
   */
  settle(budget: Budget, now: Temporal.Instant): void {
    for (const [uid, atMs] of this.#acceptedMs) {
      if (now.epochMilliseconds - atMs <= reflectionLimitMs) break;
      this.end(uid);
    }
    for (const one of this.takingFrom(budget.key))
      if (one.state === 'accepted') this.#settle(one, budget, now);
  }

  #settle(inFlightEviction: InFlightEviction, budget: Budget, now: Temporal.Instant): void {
    const { budget: asked, overrules, ...rest } = inFlightEviction;
    const left = overrules?.filter(
      one => one.budget !== budget.key || !isCounted(inFlightEviction, one, budget, now),
    );
    const isLeft =
      asked !== undefined && (asked !== budget.key || !isReflected(inFlightEviction, budget, now));
    const next: InFlightEviction = {
      ...rest,
      ...(isLeft && { budget: asked }),
      ...(left && left.length > 0 && { overrules: left }),
    };
    if (hasNoBudget(next)) this.end(inFlightEviction.uid);
    else this.put(next);
  }

  /** Returns the members of the groups, each once. */
  #in(...groups: readonly string[]): readonly InFlightEviction[] {
    const uids = new Set(groups.flatMap(group => [...(this.#uidsByGroup.get(group) ?? [])]));
    return [...uids].flatMap(uid => this.#inFlight.get(uid) ?? []);
  }

  /** Removes it from all groups but these. */
  #leave(uid: string, kept: readonly string[]): void {
    const before = this.#inFlight.get(uid);
    for (const group of before === undefined
      ? []
      : groupsOf(before).filter(one => !kept.includes(one))) {
      const uids = this.#uidsByGroup.get(group);
      uids?.delete(uid);
      if (uids?.size === 0) this.#uidsByGroup.delete(group);
    }
  }
}
