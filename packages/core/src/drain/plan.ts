import { earliest, isBefore, secondsAfter } from '@drydock/apimachinery';
import { byKey, isGuarded, isTerminating, type Pod } from '../pod/pod.ts';
import type { NodeVms, VmPod } from '../vm/vm-pod.ts';
import { type BlockerInfo, unansweredBlockerInfo } from './blockers/blocker.ts';
import { budgetBlockerInfo, multipleBudgetsBlockerInfo } from './blockers/budget-blocker.ts';
import {
  attributeToNode,
  backoffUntil,
  type DeadNode,
  incrementRecreation,
  ownerKey,
  type Recreations,
  recreationBlocker,
} from './blockers/dead-node.ts';
import {
  availableDisruptions,
  type Budget,
  type BypassedBudget,
  budgetsOf,
  type InFlightEviction,
  isFreeEviction,
  reservedDisruptions,
} from './budgets/budget.ts';
import type { Attempt, EvictionMethod } from './outcome/eviction-outcome.ts';
import {
  considerTerminating,
  isOutdated,
  lastingBlocker,
  type PodDecision,
  type PodWait,
  retryTimeFor,
  waitAfterAttempt,
} from './pod-decision.ts';
import { askResponders } from './responders/ask-responders.ts';
import {
  type ActiveResponder,
  type EvictionRequestsKnown,
  passedOverAt,
  type RequestOwner,
  responderBlockerInfo,
  silentAt,
} from './responders/eviction-request.ts';
import { MigrationSlots, roomFor, vmPodDecision } from './vm/vm-pod-decision.ts';

/** A pod that has to leave, and how. */
export type EvictionCandidate = {
  readonly pod: Pod;
  readonly wave: number;
  readonly method: 'evict' | 'delete';
  /** Seconds of grace period; the pod's own if left out. */
  readonly gracePeriodSeconds?: number;
  /**
   * True if a rung of the ladder has overruled the pod's budgets: the pod gets the condition
   * DisruptionTarget before its deletion.
   */
  readonly escalated: boolean;
  /**
   * True if the guest is shut down because it cannot be moved and the policy allows that; the pod
   * gets the same condition.
   */
  readonly shutsDownVm?: true;
  /** True if a request allows that the eviction of a VM's pod shuts the VM down. */
  readonly mayStopVm?: true;
};

/** A call to make now. */
export type PodCall = Omit<EvictionCandidate, 'method'> & {
  readonly method: EvictionMethod;
  /** Budget that the call takes from, with the version that allowed it. */
  readonly budget?: Budget;
  /** Budgets that a deletion bypasses. */
  readonly overrules?: readonly BypassedBudget[];
  /** Responder that a rung of the ladder does not wait for. */
  readonly overrulesResponder?: string;
  /** Node that will own the EvictionRequest. */
  readonly requestFor?: RequestOwner;
};

/** Facts beside the pods that the plan needs. */
export type PlanContext = {
  readonly nodeName: string;
  readonly budgets: readonly Budget[];
  /** In-flight evictions of all nodes: budgets span nodes. */
  readonly inFlight: readonly InFlightEviction[];
  /** Attempts by the pod's uid. */
  readonly attempts: ReadonlyMap<string, Attempt>;
  /**
   * uids of the pods that were there when the node was held: all others have come although it is
   * held. Missing as long as that is not known.
   */
  readonly residents?: ReadonlySet<string>;
  /** Recreations by owner. */
  readonly recreations: ReadonlyMap<string, Recreations>;
  /** Pods that are on no node and that budgets may miss, as far as they have been listed. */
  readonly unscheduled?: readonly Pod[];
  /** The node, if it is not Ready. */
  readonly deadNode?: DeadNode;
  /** VMs; missing if there is no KubeVirt. */
  readonly vms?: NodeVms;
  /**
   * Responders whose turn it is, by the uid of the pod, regardless of the requester; missing if
   * there are none.
   */
  readonly responders?: ReadonlyMap<string, ActiveResponder>;
  /** Our EvictionRequests; missing if none may be created. */
  readonly evictionRequests?: EvictionRequestsKnown;
  /** VMs of virt-launcher pods, by the uid of the pod. */
  readonly vmPods: ReadonlyMap<string, VmPod>;
  readonly now: Temporal.Instant;
};

export type EvictionPlan = {
  readonly calls: readonly PodCall[];
  readonly blockerInfos: readonly BlockerInfo[];
  /** Keys of the budgets that have to allow more before the rest can leave. */
  readonly waitsFor: readonly string[];
  /** True if VMs wait until KubeVirt has less to do. */
  readonly waitsForSlots: boolean;
  readonly requeueAt?: Temporal.Instant;
  /** Recreations by owner, with the calls of this plan included. */
  readonly recreations: ReadonlyMap<string, Recreations>;
};

/**
 * Seconds until the next look while a pod waits for a budget. The budget's change requeues the
 * node; this is the safety net.
 */
const lookAgainAfter = 60;

/** Reports whether the pod came to the node although it was held. */
function isLate({ uid }: Pod, { residents }: Pick<PlanContext, 'residents'>): boolean {
  return residents !== undefined && !residents.has(uid);
}

/**
 * A ledger of what the budgets, and KubeVirt, still allow while the pods of one plan take from
 * them.
 */
class BudgetLedger {
  readonly room: MigrationSlots;
  /** In-flight evictions of the node's pods without a response, by uid. */
  readonly asked: ReadonlyMap<string, InFlightEviction>;
  readonly #left = new Map<string, number>();
  readonly #overruled = new Map<string, number>();
  readonly #planContext: PlanContext;

  constructor(planContext: PlanContext) {
    this.#planContext = planContext;
    const { nodeName, vms, vmPods, inFlight } = planContext;
    const asked = inFlight.filter(one => one.nodeName === nodeName && one.state !== 'accepted');
    this.asked = new Map(asked.map(one => [one.uid, one]));
    this.room = new MigrationSlots(
      vms === undefined ? 0 : roomFor(nodeName, vms, vmPods, planContext),
    );
  }

  /** Takes one disruption from the budget; false if none is left. */
  take(budget: Budget): boolean {
    const left =
      this.#left.get(budget.key) ??
      availableDisruptions(budget, this.#planContext.inFlight, this.#planContext.now);
    this.#left.set(budget.key, Math.max(0, left - 1));
    return left > 0;
  }

  /**
   * Takes one disruption for a deletion, even if the budget has none: evictions get the remainder.
   */
  overrule(budget: Budget): BypassedBudget {
    const { inFlight, now } = this.#planContext;
    const earlier = this.#overruled.get(budget.key) ?? 0;
    this.#overruled.set(budget.key, earlier + 1);
    this.take(budget);
    return {
      budget: budget.key,
      healthy: budget.currentHealthy - reservedDisruptions(budget, inFlight, now) - earlier,
    };
  }
}

function reserveBudget(
  pod: Pod,
  budgets: readonly Budget[],
  ledger: BudgetLedger,
  unscheduled: PlanContext['unscheduled'],
): PodDecision {
  const [budget, ...others] = budgets;
  if (budget === undefined) return { verdict: 'call' };
  if (others.length > 0)
    return { verdict: 'wait', blockerInfo: multipleBudgetsBlockerInfo(pod, budgets) };
  if (isFreeEviction(pod, budget)) return { verdict: 'call' };
  if (ledger.take(budget)) return { verdict: 'call', budget };
  return {
    verdict: 'wait',
    blockerInfo: budgetBlockerInfo(pod, budget, unscheduled),
    waitsFor: budget.key,
  };
}

function overruledBy(
  { pod, method }: EvictionCandidate,
  { budgets }: PlanContext,
  ledger: BudgetLedger,
): Pick<PodCall, 'overrules'> {
  if (method === 'evict' || !isGuarded(pod)) return {};
  const overrules = budgetsOf(pod, budgets).flatMap(budget =>
    isFreeEviction(pod, budget) ? [] : [ledger.overrule(budget)],
  );
  return overrules.length > 0 ? { overrules } : {};
}

/** Delays only pods whose eviction has not been sent yet: an eviction that has begun goes on. */
function recreationBackoff(
  pod: Pod,
  { recreations, now, ...planContext }: PlanContext,
): PodDecision | undefined {
  if (!isLate(pod, planContext)) return undefined;
  const before = recreations.get(ownerKey(pod));
  const until = backoffUntil(before, now);
  return (
    before &&
    until && { verdict: 'wait', blockerInfo: recreationBlocker(pod, before), requeueAt: until }
  );
}

/**
 * Returns the decision for a VM's pod that is to be evicted; undefined for all others, and for VMs
 * whose pod is evicted like them.
 */
function askKubeVirt(
  { pod, method, mayStopVm }: EvictionCandidate,
  { vms, vmPods, attempts, now }: PlanContext,
  ledger: BudgetLedger,
): PodDecision | undefined {
  const vmPod = vmPods.get(pod.uid);
  if (vms === undefined || vmPod === undefined || method === 'delete') return undefined;
  return vmPodDecision(pod, vmPod, {
    vms,
    attempt: attempts.get(pod.uid),
    mayStop: mayStopVm === true,
    room: ledger.room,
    now,
  });
}

/**
 * Leaves the pod to its own responder: no call of ours bypasses it, except by a rung of the ladder.
 */
function deferToResponder(
  { pod, escalated }: EvictionCandidate,
  { responders, now }: PlanContext,
): PodWait | undefined {
  const responder = responders?.get(pod.uid);
  if (responder === undefined || responder.isDefault || escalated) return undefined;
  const [silent, passedOver] = [silentAt(responder, now), passedOverAt(responder, now)];
  if (!isBefore(now, passedOver)) return undefined;
  return {
    verdict: 'wait',
    blockerInfo: responderBlockerInfo(pod, responder, now),
    requeueAt: isBefore(now, silent) ? silent : passedOver,
  };
}

function overruledResponder(
  { pod }: EvictionCandidate,
  { responders }: PlanContext,
): Pick<PodCall, 'overrulesResponder'> {
  const responder = responders?.get(pod.uid);
  return responder === undefined || responder.isDefault
    ? {}
    : { overrulesResponder: responder.name };
}

/** Returns the budgets that the eviction is checked against. */
function guardsOf({ pod, method }: EvictionCandidate, { budgets }: PlanContext): readonly Budget[] {
  return isGuarded(pod) && method === 'evict' ? budgetsOf(pod, budgets) : [];
}

/**
 * Returns the blocker that the last response proves, as long as nothing known here has changed
 * since.
 */
function lastTaught(
  candidate: EvictionCandidate,
  planContext: PlanContext,
): BlockerInfo | undefined {
  const { pod } = candidate;
  const attempt = planContext.attempts.get(pod.uid);
  if (attempt === undefined || isOutdated(pod, attempt, guardsOf(candidate, planContext)))
    return undefined;
  return lastingBlocker(pod, attempt, planContext.now);
}

/** Seconds within which a response to a sent eviction is expected. */
const answeredWithin = 5;

/** Returns the decision for an in-flight eviction, whose response is still to come. */
function waitForAnswer(
  candidate: EvictionCandidate,
  { state, at }: InFlightEviction,
  planContext: PlanContext,
): PodDecision {
  const known = isTerminating(candidate.pod) ? undefined : lastTaught(candidate, planContext);
  if (known !== undefined) return { verdict: 'wait', blockerInfo: known };
  if (state === 'queued') return { verdict: 'wait' };
  const due = secondsAfter(at, answeredWithin);
  return isBefore(planContext.now, due)
    ? { verdict: 'wait', requeueAt: due }
    : { verdict: 'wait', blockerInfo: unansweredBlockerInfo(candidate.pod, at) };
}

function decidePod(
  candidate: EvictionCandidate,
  planContext: PlanContext,
  ledger: BudgetLedger,
): PodDecision {
  const { pod, method } = candidate;
  const { attempts, now } = planContext;
  const asked = ledger.asked.get(pod.uid);
  const responding = deferToResponder(candidate, planContext);
  if (isTerminating(pod)) {
    return considerTerminating(candidate, {
      isAsked: asked !== undefined,
      responding,
      attempt: attempts.get(pod.uid),
      now,
    });
  }
  if (asked !== undefined) return waitForAnswer(candidate, asked, planContext);
  if (responding !== undefined) return responding;
  const answer = askKubeVirt(candidate, planContext, ledger);
  if (answer !== undefined) return answer;
  const requested = askResponders(candidate, planContext);
  if (requested !== undefined) return requested;
  const guards = guardsOf(candidate, planContext);
  const attempt = attempts.get(pod.uid);
  if (attempt === undefined) {
    const coming = recreationBackoff(pod, planContext);
    if (coming !== undefined) return coming;
  }
  if (
    attempt?.method === method &&
    isBefore(now, retryTimeFor(pod, attempt, guards)) &&
    !isOutdated(pod, attempt, guards)
  ) {
    return waitAfterAttempt(pod, attempt, guards, now);
  }
  return reserveBudget(pod, guards, ledger, planContext.unscheduled);
}

/**
 * Compares candidates by turn. Deletions bypass budgets, so they come first. Pods that are not
 * Ready cost no budget and come next, then pods, then VMs: the important ones, and of those the
 * small ones, so that as many as possible are safe soon. The name decides the rest, so that the
 * plan never depends on the given order.
 */
function byTurn(vmPods: ReadonlyMap<string, VmPod>) {
  return (
    { pod: one, method }: EvictionCandidate,
    { pod: other, method: otherMethod }: EvictionCandidate,
  ): number => {
    if (method !== otherMethod) return method === 'delete' ? -1 : 1;
    const [vm, otherVm] = [vmPods.get(one.uid)?.vmi, vmPods.get(other.uid)?.vmi];
    if (vm === undefined && otherVm === undefined)
      return Number(one.ready) - Number(other.ready) || byKey(one, other);
    if (vm === undefined || otherVm === undefined) return vm === undefined ? -1 : 1;
    return (
      other.priority - one.priority || (vm.memory ?? 0) - (otherVm.memory ?? 0) || byKey(one, other)
    );
  };
}

function callOf(
  candidate: EvictionCandidate,
  { requestFor, budget, gracePeriodSeconds }: Extract<PodDecision, { readonly verdict: 'call' }>,
  planContext: PlanContext,
  ledger: BudgetLedger,
): PodCall {
  const { pod, wave, method } = candidate;
  // The pod is terminating already: a shorter grace period overrules nothing.
  if (gracePeriodSeconds !== undefined)
    return { pod, wave, method, escalated: false, gracePeriodSeconds };
  return {
    ...candidate,
    ...(requestFor && { method: 'request', requestFor }),
    ...(budget && { budget }),
    ...overruledBy(candidate, planContext, ledger),
    ...overruledResponder(candidate, planContext),
  };
}

function laterWave({ pod }: EvictionCandidate): BlockerInfo {
  return {
    reason: 'EarlierWave',
    pod: { namespace: pod.namespace, name: pod.name },
    message: 'waits until the pods of an earlier wave are gone',
  };
}

function recreationsAfter(
  calls: readonly PodCall[],
  { attempts, recreations, now, ...planContext }: PlanContext,
): EvictionPlan['recreations'] {
  const late = calls.filter(({ pod }) => isLate(pod, planContext) && !attempts.has(pod.uid));
  const owners = new Set(late.map(({ pod }) => ownerKey(pod)));
  return new Map([
    ...recreations,
    ...[...owners].map(owner => [owner, incrementRecreation(recreations.get(owner), now)] as const),
  ]);
}

/**
 * Plans which pods to evict now, why the others wait, and when to look again. A wave starts when
 * nothing of the previous wave is left. Pure and total; calls never exceed what a budget allows,
 * evictions of other nodes included.
 */
export function plan(
  candidates: readonly EvictionCandidate[],
  planContext: PlanContext,
): EvictionPlan {
  const current = Math.min(...candidates.map(({ wave }) => wave));
  const ledger = new BudgetLedger(planContext);
  const calls: PodCall[] = [];
  const blockerInfos: BlockerInfo[] = [];
  const waitsFor = new Set<string>();
  let waitsForSlots = false;
  const moments: (Temporal.Instant | undefined)[] = [];
  for (const candidate of candidates.toSorted(byTurn(planContext.vmPods))) {
    if (candidate.wave !== current && !isTerminating(candidate.pod)) {
      blockerInfos.push(laterWave(candidate));
      continue;
    }
    const verdict = decidePod(candidate, planContext, ledger);
    const blockerInfo =
      verdict.verdict === 'call' ? lastTaught(candidate, planContext) : verdict.blockerInfo;
    if (blockerInfo !== undefined)
      blockerInfos.push(attributeToNode(blockerInfo, candidate.pod, planContext.deadNode));
    if (verdict.verdict === 'call') {
      calls.push(callOf(candidate, verdict, planContext, ledger));
      continue;
    }
    if (verdict.waitsFor !== undefined) waitsFor.add(verdict.waitsFor);
    if (verdict.waitsForSlots) waitsForSlots = true;
    moments.push(verdict.requeueAt);
  }
  const safetyNet =
    waitsFor.size > 0 || waitsForSlots ? secondsAfter(planContext.now, lookAgainAfter) : undefined;
  const requeueAt = earliest([...moments, safetyNet]);
  const recreations = recreationsAfter(calls, planContext);
  return {
    calls,
    blockerInfos,
    waitsFor: [...waitsFor].sort(),
    waitsForSlots,
    recreations,
    ...(requeueAt && { requeueAt }),
  };
}
