import { byKey, isFinished, isGuarded, isTerminating, type Pod } from '../pod/pod.ts';
import { earliest, isBefore, secondsAfter, secondsBetween } from '../time.ts';
import { roomFor } from '../vm/room.ts';
import type { Guest, VmsKnown } from '../vm/vm-pod.ts';
import { budgetHindrance, type Hindrance, multipleBudgetsHindrance, outcomeHindrance, terminatingHindrance } from './blocker.ts';
import { type Budget, budgetsOf, costsNothing } from './budget.ts';
import { type Flight, freeOf, type Overruled, reservedOf } from './in-flight-eviction.ts';
import type { Verdict } from './pod-decision.ts';
import { keepsComing, oneMore, ownerKey, type Returns, staysUntil } from './recreations.ts';
import { type Attempt, retryAt } from './retry.ts';
import { guestTurn, Room } from './vm-pod-decision.ts';

/** A pod that has to go, and how. */
export type Leaver = {
  readonly pod: Pod;
  readonly wave: number;
  readonly method: 'evict' | 'delete';
  /** Seconds; the pod's own when left out. */
  readonly gracePeriodSeconds?: number;
  /** A rung of the ladder has overruled its budgets: the deletion is announced as a disruption first. */
  readonly escalated: boolean;
  /** The guest is shut down because it cannot be moved and the policy says so: announced as the above. */
  readonly shutsDownVm?: true;
  /** A request has agreed to VMs being shut down by their eviction. */
  readonly mayStopVm?: true;
};

/** One call to make now. */
export type PodCall = Leaver & {
  /** The budget that it takes from, with the version that allowed it. */
  readonly budget?: Budget;
  /** Of a deletion: the budgets that it does not ask. */
  readonly overrules?: readonly Overruled[];
};

/** What is known beside the pods. */
export type Surroundings = {
  readonly nodeName: string;
  readonly budgets: readonly Budget[];
  /** Of all nodes: budgets do not end at a node. */
  readonly flights: readonly Flight[];
  /** By the pod's uid. */
  readonly attempts: ReadonlyMap<string, Attempt>;
  /** Since when the node is held; pods that were created later should not be there. */
  readonly heldSince?: Temporal.Instant;
  /** By owner. */
  readonly returns: ReadonlyMap<string, Returns>;
  /** Missing where there is no KubeVirt. */
  readonly vms?: VmsKnown;
  /** The VMs of virt-launcher pods, by the uid of the pod. */
  readonly guests: ReadonlyMap<string, Guest>;
  readonly now: Temporal.Instant;
};

export type Plan = {
  readonly calls: readonly PodCall[];
  readonly hindrances: readonly Hindrance[];
  /** Keys of the budgets that have to allow more before the rest can go. */
  readonly waitsFor: readonly string[];
  /** VMs wait until KubeVirt has less to do. */
  readonly waitsForRoom: boolean;
  readonly again?: Temporal.Instant;
  /** By owner, with the calls of this plan. */
  readonly returns: ReadonlyMap<string, Returns>;
};

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
const isOutdated = (pod: Pod, { outcome, budgetSeen, ended }: Attempt, budgets: readonly Budget[]): boolean => {
  const [budget] = budgets;
  if (isFinished(pod) && ended === undefined) return true;
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
  heldSince !== undefined && secondsBetween(heldSince, pod.createdAt) > 1;

/** Keeps count of what the budgets, and KubeVirt, have to give while the pods of one plan take from them. */
class Purse {
  readonly room: Room;
  /** Pods that have been asked for and not been answered about, by uid. */
  readonly asked: ReadonlySet<string>;
  readonly #left = new Map<string, number>();
  readonly #overruled = new Map<string, number>();
  readonly #surroundings: Surroundings;

  constructor(surroundings: Surroundings) {
    this.#surroundings = surroundings;
    const { nodeName, vms, guests, flights } = surroundings;
    this.asked = new Set(flights.flatMap(({ uid, state }) => (state === 'accepted' ? [] : [uid])));
    this.room = new Room(vms === undefined ? 0 : roomFor(nodeName, vms, guests, surroundings));
  }

  /** Takes one disruption from the budget; false when there is none left. */
  take(budget: Budget): boolean {
    const left = this.#left.get(budget.key) ?? freeOf(budget, this.#surroundings.flights, this.#surroundings.now);
    this.#left.set(budget.key, Math.max(0, left - 1));
    return left > 0;
  }

  /** A deletion takes one away, whatever the budget allows: evictions get what is left then. */
  overrule(budget: Budget): Overruled {
    const { flights, now } = this.#surroundings;
    const earlier = this.#overruled.get(budget.key) ?? 0;
    this.#overruled.set(budget.key, earlier + 1);
    this.take(budget);
    return { budget: budget.key, healthy: budget.currentHealthy - reservedOf(budget, flights, now) - earlier };
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

const overruledBy = ({ pod, method }: Leaver, { budgets }: Surroundings, purse: Purse): Pick<PodCall, 'overrules'> => {
  if (method === 'evict' || !isGuarded(pod)) return {};
  const overrules = budgetsOf(pod, budgets).flatMap(budget => (costsNothing(pod, budget) ? [] : [purse.overrule(budget)]));
  return overrules.length > 0 ? { overrules } : {};
};

/** Only for pods that have not been asked for yet: what has begun goes on. */
const comesAgain = (pod: Pod, { returns, now, ...surroundings }: Surroundings): Verdict | undefined => {
  if (!isLate(pod, surroundings)) return undefined;
  const before = returns.get(ownerKey(pod));
  const until = staysUntil(before, now);
  return before && until && { verdict: 'wait', hindrance: keepsComing(pod, before), again: until };
};

/** Of a VM's pod that is to be evicted; undefined for all others, and for those that go like them. */
const askKubeVirt = (
  { pod, method, mayStopVm }: Leaver,
  { vms, guests, attempts, now }: Surroundings,
  purse: Purse,
): Verdict | undefined => {
  const guest = guests.get(pod.uid);
  if (vms === undefined || guest === undefined || method === 'delete') return undefined;
  return guestTurn(pod, guest, { vms, attempt: attempts.get(pod.uid), mayStop: mayStopVm === true, room: purse.room, now });
};

const consider = (leaver: Leaver, surroundings: Surroundings, purse: Purse): Verdict => {
  const { pod, method } = leaver;
  const { attempts, budgets, now } = surroundings;
  if (isTerminating(pod)) return waitForEnd(pod, now);
  if (purse.asked.has(pod.uid)) return { verdict: 'wait' };
  const answer = askKubeVirt(leaver, surroundings, purse);
  if (answer !== undefined) return answer;
  const guards = isGuarded(pod) && method === 'evict' ? budgetsOf(pod, budgets) : [];
  const attempt = attempts.get(pod.uid);
  if (attempt === undefined) {
    const coming = comesAgain(pod, surroundings);
    if (coming !== undefined) return coming;
  }
  if (attempt !== undefined && attempt.method === method && isBefore(now, retryAt(attempt, pod.uid)) && !isOutdated(pod, attempt, guards)) {
    return waitAfterAttempt(pod, attempt, guards);
  }
  return askBudget(pod, guards, purse);
};

/**
 * Deletions take from budgets without asking, so they have the first word. Pods that are not Ready cost no budget and go next, then pods, then
 * VMs: the important ones, and of those the small ones, so that as many as possible are safe soon. The name decides the rest, so that the plan
 * never depends on the order given.
 */
const byTurn =
  (guests: ReadonlyMap<string, Guest>) =>
  ({ pod: one, method }: Leaver, { pod: other, method: otherMethod }: Leaver): number => {
    if (method !== otherMethod) return method === 'delete' ? -1 : 1;
    const [vm, otherVm] = [guests.get(one.uid)?.vmi, guests.get(other.uid)?.vmi];
    if (vm === undefined && otherVm === undefined) return Number(one.ready) - Number(other.ready) || byKey(one, other);
    if (vm === undefined || otherVm === undefined) return vm === undefined ? -1 : 1;
    return other.priority - one.priority || (vm.memory ?? 0) - (otherVm.memory ?? 0) || byKey(one, other);
  };

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
  let waitsForRoom = false;
  const moments: (Temporal.Instant | undefined)[] = [];
  for (const leaver of leavers.toSorted(byTurn(surroundings.guests))) {
    if (leaver.wave !== current && !isTerminating(leaver.pod)) {
      hindrances.push(laterWave(leaver));
      continue;
    }
    const verdict = consider(leaver, surroundings, purse);
    if (verdict.verdict === 'call') {
      calls.push({ ...leaver, ...(verdict.budget && { budget: verdict.budget }), ...overruledBy(leaver, surroundings, purse) });
      continue;
    }
    if (verdict.hindrance !== undefined) hindrances.push(verdict.hindrance);
    if (verdict.waitsFor !== undefined) waitsFor.add(verdict.waitsFor);
    if (verdict.waitsForRoom) waitsForRoom = true;
    moments.push(verdict.again);
  }
  const safetyNet = waitsFor.size > 0 || waitsForRoom ? secondsAfter(surroundings.now, lookAgainAfter) : undefined;
  const again = earliest([...moments, safetyNet]);
  const returns = returnsAfter(calls, surroundings);
  return { calls, hindrances, waitsFor: [...waitsFor].sort(), waitsForRoom, returns, ...(again && { again }) };
};
