import { matches, truncate } from '@drydock/apimachinery';
import { findsNoNode, type Pod } from '../../pod/pod.ts';
import { type Budget, isUnconfirmed, isUncounted, neverAllows } from '../budgets/budget.ts';
import { about, type BlockerInfo } from './blocker.ts';

/**
 * Texts for a pod that a budget blocks: the reason, the budget's owner, what it guards, and a
 * remedy that does no harm.
 */

/**
 * Seconds for which pods may be too few: until starting ones are Ready, or a controller has created
 * new ones.
 */
const recoversWithin = 120;

/**
 * Seconds that the operator of a budget gets to allow a disruption: a rebuild of storage takes
 * long, a switchover a moment.
 */
const ownerWithin = 600;

/** Number of characters of the scheduler's message that are shown for pods without a node. */
const maxReasonLength = 300;

type BudgetExplanation = Pick<BlockerInfo, 'reason' | 'message' | 'remedy' | 'lasting'>;

/** Returns a pod of the budget that has no node because the scheduler finds none for it. */
function strayOf({ namespace, selector }: Budget, unscheduled: readonly Pod[]): Pod | undefined {
  return unscheduled.find(
    pod => pod.namespace === namespace && findsNoNode(pod) && matches(selector, pod.labels),
  );
}

function strayText(short: string, stray: Pod): BudgetExplanation {
  const why = truncate(stray.unschedulable ?? '', maxReasonLength);
  const look = `kubectl -n ${stray.namespace} describe pod ${stray.name}`;
  // kube-scheduler: "had volume node affinity conflict", "didn't match PersistentVolume's node
  // affinity"; or, for the only node that its volumes can be on, that it is unschedulable.
  const isBound =
    /volume/i.test(stray.unschedulable ?? '') ||
    (stray.claims.length > 0 && !/Insufficient/.test(why));
  return {
    reason: 'ReplacementUnschedulable',
    message: `${short}, and pod ${stray.key} of it finds no node: ${why}`,
    remedy: isBound
      ? `bring a node back that its volumes can be on (release its maintenance), or have its owner move the data: ${look}`
      : `make room, or bring back a node that it fits: ${look}`,
  };
}

/** Explains a budget that allows disruptions at times, and none at the moment. */
function spentText(pod: Pod, budget: Budget, unscheduled: readonly Pod[]): BudgetExplanation {
  const {
    name,
    namespace,
    disruptionsAllowed,
    desiredHealthy,
    currentHealthy,
    expectedPods,
    unhealthyPodEvictionPolicy: policy,
  } = budget;
  const reason = 'DisruptionBudget';
  if (disruptionsAllowed > 0)
    return {
      reason,
      message: `budget ${name} allows ${disruptionsAllowed} at the moment, and as many are in flight`,
    };
  const message = `budget ${name} needs ${desiredHealthy} healthy pods and has ${currentHealthy}`;
  const stray = currentHealthy < expectedPods ? strayOf(budget, unscheduled) : undefined;
  if (stray !== undefined) return strayText(message, stray);
  if (currentHealthy >= desiredHealthy) return { reason, message };
  const sick =
    pod.ready || policy === 'AlwaysAllow'
      ? ''
      : '; unhealthyPodEvictionPolicy: AlwaysAllow would let pods go that are not Ready, as this one';
  return {
    reason,
    message: `${message}; ${desiredHealthy - currentHealthy} too few are healthy`,
    remedy: `check why its pods are not Ready: kubectl -n ${namespace} get pods${sick}`,
    lasting: { reason: 'TooFewHealthy', afterSeconds: recoversWithin },
  };
}

/** Explains a budget whose status is unusable; undefined if the status is usable. */
function unsyncedText({
  namespace,
  name,
  syncFailure,
  disruptedPods,
  ...budget
}: Budget): BudgetExplanation | undefined {
  const reason = 'BudgetNotSynced';
  if (syncFailure !== undefined) {
    return {
      reason,
      message: `budget ${name} could not be computed: ${truncate(syncFailure)}`,
      remedy: `ask its owner for minAvailable as a number, which needs no controller to be counted: kubectl -n ${namespace} describe pdb ${name}`,
    };
  }
  if (!budget.fresh) {
    return {
      reason,
      message: `the status of budget ${name} is not computed for its latest change`,
      remedy:
        'if this lasts for more than some seconds, check kube-controller-manager: its disruption controller computes it',
    };
  }
  if (!isUnconfirmed({ disruptedPods })) return undefined;
  return {
    reason,
    message: `budget ${name} grants nothing until the disruption controller confirms its ${disruptedPods.length} evictions under way`,
    remedy: 'check the disruption controller (kube-controller-manager): it lags behind',
  };
}

/** Explains a budget that never allows a disruption as it stands; undefined if it does at times. */
function refusingText(budget: Budget): BudgetExplanation | undefined {
  const { namespace, name, desiredHealthy, expectedPods } = budget;
  const reason = 'BudgetNeverAllows';
  if (isUncounted(budget)) {
    return {
      reason,
      message: `budget ${name} counts none of its pods, because no controller says how many it should count: it allows no disruption`,
      remedy: `ask its owner for minAvailable as a number: kubectl -n ${namespace} describe pdb ${name}`,
    };
  }
  if (!neverAllows(budget)) return undefined;
  return {
    reason,
    message: `budget ${name} needs ${desiredHealthy} healthy pods of ${expectedPods}: as it stands, it allows no disruption`,
    remedy: `run more replicas, or ask the budget's owner to let one go: kubectl -n ${namespace} describe pdb ${name}`,
  };
}

/**
 * Explains a budget that a controller manages. The controller knows when a disruption does no harm:
 * an edit of the budget may cost data, and is undone.
 */
function keptText(
  { reason, message, lasting }: BudgetExplanation,
  { kind, name }: NonNullable<Budget['owner']>,
): BudgetExplanation {
  const remedy = `wait for ${kind} ${name}, whose controller keeps the budget and changes it when a disruption does no harm; ask there, and leave the budget as it is`;
  if (reason !== 'BudgetNeverAllows')
    return { reason, message, remedy, ...(lasting && { lasting }) };
  return {
    reason: 'DisruptionBudget',
    message,
    remedy,
    lasting: { reason, afterSeconds: ownerWithin },
  };
}

/** Makes the remedy harmless, by the owner of the budget and by what it guards. */
function harmless(
  explanation: BudgetExplanation,
  { owner: pods }: Pod,
  { owner: keeper }: Budget,
): BudgetExplanation {
  if (explanation.reason === 'ReplacementUnschedulable') return explanation;
  if (keeper !== undefined) return keptText(explanation, keeper);
  const isGuard =
    pods?.kind === 'Job' &&
    (explanation.reason === 'BudgetNeverAllows' || explanation.reason === 'BudgetNotSynced');
  return isGuard
    ? { ...explanation, remedy: `wait for Job ${pods.name} to end: the budget guards its work` }
    : explanation;
}

/**
 * Returns the blocker for a budget that allows no disruption at the moment. `unscheduled`: pods
 * that are on no node, as far as they have been listed.
 */
export function budgetBlockerInfo(
  pod: Pod,
  budget: Budget,
  unscheduled: readonly Pod[] = [],
): BlockerInfo {
  return {
    pod: about(pod),
    budgets: [budget.key],
    ...harmless(
      unsyncedText(budget) ?? refusingText(budget) ?? spentText(pod, budget, unscheduled),
      pod,
      budget,
    ),
  };
}

/** Number of budgets that are named. A user may have created thousands for one pod. */
const maxBudgets = 10;

/**
 * Returns the blocker for a pod with more than one budget: the eviction API always refuses such
 * pods.
 */
export function multipleBudgetsBlockerInfo(pod: Pod, budgets: readonly Budget[]): BlockerInfo {
  return {
    reason: 'MultipleBudgets',
    pod: about(pod),
    budgets: budgets
      .map(({ key }) => key)
      .sort()
      .slice(0, maxBudgets),
    message: `${budgets.length} budgets select the pod, and the eviction API always refuses such pods`,
    remedy: 'change the selectors so that one budget is left for the pod',
  };
}
