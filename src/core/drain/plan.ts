import { byKey, isGuarded, isTerminating, type Pod } from '../pod/pod.ts';
import { earliest, isBefore, secondsAfter } from '../time.ts';
import { budgetHindrance, type Hindrance, multipleBudgetsHindrance, outcomeHindrance, terminatingHindrance } from './blocker.ts';
import { type Budget, budgetsOf, costsNothing } from './budget.ts';
import { type Flight, freeOf } from './flight.ts';
import { type Attempt, retryAt } from './retry.ts';
import { keepsComing, oneMore, ownerKey, type Returns, staysUntil } from './returns.ts';

/** A pod that has to go, and how. */
export type Leaver = {
  readonly pod: Pod;
  readonly wave: number;
  readonly method: 'evict' | 'delete';
  /** Seconds; the pod's own when left out. */
  readonly gracePeriodSeconds?: number;
  /** A rung of the ladder has overruled its budgets: the deletion is announced as a disruption first. */
  readonly escalated: boolean;
};

/** One call to make now. */
export type PodCall = Leaver & {
  /** The budget that it takes from, with the version that allowed it. */
  readonly budget?: Budget;
};

/** What is known beside the pods. */
export type Surroundings = {
  readonly budgets: readonly Budget[];
  /** Of all nodes: budgets do not end at a node. */
  readonly flights: readonly Flight[];
  /** By the pod's uid. */
  readonly attempts: ReadonlyMap<string, Attempt>;
  /** Since when the node is held; pods that were created later should not be there. */
  readonly heldSince?: Temporal.Instant;
  /** By owner. */
  readonly returns: ReadonlyMap<string, Returns>;
  readonly now: Temporal.Instant;
};

export type Plan = {
  readonly calls: readonly PodCall[];
  readonly hindrances: readonly Hindrance[];
  /** Keys of the budgets that have to allow more before the rest can go. */
  readonly waitsFor: readonly string[];
  readonly again?: Temporal.Instant;
  /** By owner, with the calls of this plan. */
  readonly returns: ReadonlyMap<string, Returns>;
};

/** What becomes of one pod now. */
type Verdict =
  | { readonly verdict: 'call'; readonly budget?: Budget }
  | { readonly verdict: 'wait'; readonly hindrance?: Hindrance; readonly again?: Temporal.Instant; readonly waitsFor?: string };

/** Seconds past its grace period after which a terminating pod counts as stuck. */
const overdueAfter = 30;

/** Somebody waits for a budget: its change is what wakes, and this many seconds are the safety net. */
const lookAgainAfter = 60;

const waitForEnd = (pod: Pod, now: Temporal.Instant): Verdict => {
  const end = secondsAfter(pod.deletionTimestamp ?? now, overdueAfter);
  const overdue = !isBefore(now, end);
  return { verdict: 'wait', hindrance: terminatingHindrance(pod, overdue), ...(!overdue && { again: end }) };
};

const seenText = (budget: Budget): string => `${budget.key}@${budget.resourceVersion}`;

/** Something has happened since the refusal that makes the answer worth asking for again. */
const isOutdated = ({ outcome, budgetSeen }: Attempt, budgets: readonly Budget[]): boolean => {
  const [budget] = budgets;
  if (outcome.kind === 'multipleBudgets') return budgets.length < 2;
  if (outcome.kind !== 'budget' && outcome.kind !== 'budgetBehind') return false;
  return budgets.length === 0 || (budget !== undefined && budgetSeen !== undefined && budgetSeen !== seenText(budget));
};

const waitAfterAttempt = (pod: Pod, attempt: Attempt, budgets: readonly Budget[]): Verdict => {
  const { outcome } = attempt;
  const again = retryAt(attempt, pod.uid);
  if (outcome.kind === 'accepted' || outcome.kind === 'gone') return { verdict: 'wait', again };
  const [budget] = budgets;
  return {
    verdict: 'wait',
    again,
    hindrance: outcomeHindrance(pod, outcome.kind, outcome.message),
    ...(budget && (outcome.kind === 'budget' || outcome.kind === 'budgetBehind') && { waitsFor: budget.key }),
  };
};

/** Created after the node was held. The API server's times are whole seconds, rounded down. */
const isLate = (pod: Pod, { heldSince }: Pick<Surroundings, 'heldSince'>): boolean =>
  heldSince !== undefined && isBefore(secondsAfter(heldSince, 1), pod.createdAt);

/** Keeps count of what the budgets have to give while the pods of one plan take from them. */
class Purse {
  readonly #left = new Map<string, number>();
  readonly #surroundings: Surroundings;

  constructor(surroundings: Surroundings) {
    this.#surroundings = surroundings;
  }

  /** Takes one disruption from the budget; false when there is none left. */
  take(budget: Budget): boolean {
    const left = this.#left.get(budget.key) ?? freeOf(budget, this.#surroundings.flights, this.#surroundings.now);
    this.#left.set(budget.key, Math.max(0, left - 1));
    return left > 0;
  }
}

const askBudget = (pod: Pod, budgets: readonly Budget[], purse: Purse): Verdict => {
  const [budget, ...others] = budgets;
  if (budget === undefined) return { verdict: 'call' };
  if (others.length > 0) return { verdict: 'wait', hindrance: multipleBudgetsHindrance(pod, budgets) };
  if (costsNothing(pod, budget)) return { verdict: 'call' };
  if (purse.take(budget)) return { verdict: 'call', budget };
  return { verdict: 'wait', hindrance: budgetHindrance(pod, budget), waitsFor: budget.key };
};

/** Only for pods that have not been asked for yet: what has begun goes on. */
const comesAgain = (pod: Pod, { returns, now, ...surroundings }: Surroundings): Verdict | undefined => {
  if (!isLate(pod, surroundings)) return undefined;
  const before = returns.get(ownerKey(pod));
  const until = staysUntil(before, now);
  return before && until && { verdict: 'wait', hindrance: keepsComing(pod, before), again: until };
};

const consider = ({ pod, method }: Leaver, surroundings: Surroundings, purse: Purse): Verdict => {
  const { attempts, budgets, flights, now } = surroundings;
  if (isTerminating(pod)) return waitForEnd(pod, now);
  if (flights.some(({ uid, state }) => uid === pod.uid && state !== 'accepted')) return { verdict: 'wait' };
  const guards = isGuarded(pod) && method === 'evict' ? budgetsOf(pod, budgets) : [];
  const attempt = attempts.get(pod.uid);
  if (attempt === undefined) {
    const coming = comesAgain(pod, surroundings);
    if (coming !== undefined) return coming;
  }
  if (attempt !== undefined && attempt.method === method && isBefore(now, retryAt(attempt, pod.uid)) && !isOutdated(attempt, guards)) {
    return waitAfterAttempt(pod, attempt, guards);
  }
  return askBudget(pod, guards, purse);
};

/** Pods that are not Ready cost no budget and go first; the name decides the rest, so that the plan never depends on the order given. */
const byTurn = (one: Leaver, other: Leaver): number => Number(one.pod.ready) - Number(other.pod.ready) || byKey(one.pod, other.pod);

const laterWave = ({ pod }: Leaver): Hindrance => ({
  cause: 'EarlierWave',
  pod: { namespace: pod.namespace, name: pod.name },
  message: 'waits until the pods of an earlier wave are gone',
});

const returnsAfter = (calls: readonly PodCall[], { attempts, returns, now, ...surroundings }: Surroundings): Plan['returns'] => {
  const late = calls.filter(({ pod }) => isLate(pod, surroundings) && !attempts.has(pod.uid));
  const owners = new Set(late.map(({ pod }) => ownerKey(pod)));
  return new Map([...returns, ...[...owners].map(owner => [owner, oneMore(returns.get(owner), now)] as const)]);
};

/**
 * Which pods to ask for now, why the others wait, and when to look again. A wave starts when nothing of the one before is left. Pure and
 * total; calls never exceed what a budget allows, evictions of other nodes included.
 */
export const plan = (leavers: readonly Leaver[], surroundings: Surroundings): Plan => {
  const current = Math.min(...leavers.map(({ wave }) => wave));
  const purse = new Purse(surroundings);
  const calls: PodCall[] = [];
  const hindrances: Hindrance[] = [];
  const waitsFor = new Set<string>();
  const moments: (Temporal.Instant | undefined)[] = [];
  for (const leaver of leavers.toSorted(byTurn)) {
    if (leaver.wave !== current && !isTerminating(leaver.pod)) {
      hindrances.push(laterWave(leaver));
      continue;
    }
    const verdict = consider(leaver, surroundings, purse);
    if (verdict.verdict === 'call') {
      calls.push({ ...leaver, ...(verdict.budget && { budget: verdict.budget }) });
      continue;
    }
    if (verdict.hindrance !== undefined) hindrances.push(verdict.hindrance);
    if (verdict.waitsFor !== undefined) waitsFor.add(verdict.waitsFor);
    moments.push(verdict.again);
  }
  const safetyNet = waitsFor.size > 0 ? secondsAfter(surroundings.now, lookAgainAfter) : undefined;
  const again = earliest([...moments, safetyNet]);
  return { calls, hindrances, waitsFor: [...waitsFor].sort(), returns: returnsAfter(calls, surroundings), ...(again && { again }) };
};
