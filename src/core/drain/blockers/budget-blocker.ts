import { findsNoNode, type Pod } from '../../pod/pod.ts';
import { matches } from '../../pod/selector.ts';
import { truncate } from '../../text.ts';
import { type Budget, isUnconfirmed, isUncounted, neverAllows } from '../budgets/budget.ts';
import { about, type BlockerInfo } from './blocker.ts';

/** What is said of a pod that a budget keeps: why, whose the budget is, what it guards, and what would help without harm. */

/** Seconds for which pods may be too few: until those that are starting are Ready, or a controller has made new ones. */
const recoversWithin = 120;

/** Seconds that the operator of a budget gets to let go: storage that is rebuilding takes long, and a switchover a moment. */
const ownerWithin = 600;

/** Pods that are on no node are named for so many characters of what the scheduler says of them. */
const maxReasonLength = 300;

type BudgetExplanation = Pick<BlockerInfo, 'cause' | 'message' | 'remedy' | 'lasting'>;

/** A pod of the budget that is on no node, for the scheduler finds none for it. */
const strayOf = ({ namespace, selector }: Budget, unscheduled: readonly Pod[]): Pod | undefined =>
  unscheduled.find(pod => pod.namespace === namespace && findsNoNode(pod) && matches(selector, pod.labels));

const strayText = (short: string, stray: Pod): BudgetExplanation => {
  const why = truncate(stray.unschedulable ?? '', maxReasonLength);
  const look = `kubectl -n ${stray.namespace} describe pod ${stray.name}`;
  // kube-scheduler: "had volume node affinity conflict", "didn't match PersistentVolume's node affinity"; or, of the one node that its volumes can be on, that it is unschedulable.
  const isBound = /volume/i.test(stray.unschedulable ?? '') || (stray.claims.length > 0 && !/Insufficient/.test(why));
  return {
    cause: 'ReplacementUnschedulable',
    message: `${short}, and pod ${stray.key} of it finds no node: ${why}`,
    remedy: isBound
      ? `bring a node back that its volumes can be on (release its maintenance), or have its owner move the data: ${look}`
      : `make room, or bring back a node that it fits: ${look}`,
  };
};

/** It gives something now and then, and nothing at the moment. */
const spentText = (pod: Pod, budget: Budget, unscheduled: readonly Pod[]): BudgetExplanation => {
  const { name, namespace, disruptionsAllowed, desiredHealthy, currentHealthy, expectedPods, unhealthyPodEvictionPolicy: policy } = budget;
  const cause = 'DisruptionBudget';
  if (disruptionsAllowed > 0)
    return { cause, message: `budget ${name} allows ${disruptionsAllowed} at the moment, and as many are in flight` };
  const message = `budget ${name} needs ${desiredHealthy} healthy pods and has ${currentHealthy}`;
  const stray = currentHealthy < expectedPods ? strayOf(budget, unscheduled) : undefined;
  if (stray !== undefined) return strayText(message, stray);
  if (currentHealthy >= desiredHealthy) return { cause, message };
  const sick =
    pod.ready || policy === 'AlwaysAllow'
      ? ''
      : '; unhealthyPodEvictionPolicy: AlwaysAllow would let pods go that are not Ready, as this one';
  return {
    cause,
    message: `${message}; ${desiredHealthy - currentHealthy} too few are healthy`,
    remedy: `check why its pods are not Ready: kubectl -n ${namespace} get pods${sick}`,
    lasting: { cause: 'TooFewHealthy', afterSeconds: recoversWithin },
  };
};

/** Nothing can be read from the budget's status: undefined where something can. */
const unsyncedText = ({ namespace, name, syncFailure, disruptedPods, ...budget }: Budget): BudgetExplanation | undefined => {
  const cause = 'BudgetNotSynced';
  if (syncFailure !== undefined) {
    return {
      cause,
      message: `budget ${name} could not be computed: ${truncate(syncFailure)}`,
      remedy: `ask its owner for minAvailable as a number, which needs no controller to be counted: kubectl -n ${namespace} describe pdb ${name}`,
    };
  }
  if (!budget.fresh) {
    return {
      cause,
      message: `the status of budget ${name} is not computed for its latest change`,
      remedy: 'if this lasts for more than some seconds, check kube-controller-manager: its disruption controller computes it',
    };
  }
  if (!isUnconfirmed({ disruptedPods })) return undefined;
  return {
    cause,
    message: `budget ${name} grants nothing until the disruption controller confirms its ${disruptedPods.length} evictions under way`,
    remedy: 'check the disruption controller (kube-controller-manager): it lags behind',
  };
};

/** As it stands, it allows nothing; undefined where it does now and then. */
const refusingText = (budget: Budget): BudgetExplanation | undefined => {
  const { namespace, name, desiredHealthy, expectedPods } = budget;
  const cause = 'BudgetNeverAllows';
  if (isUncounted(budget)) {
    return {
      cause,
      message: `budget ${name} counts none of its pods, because no controller says how many it should count: it allows no disruption`,
      remedy: `ask its owner for minAvailable as a number: kubectl -n ${namespace} describe pdb ${name}`,
    };
  }
  if (!neverAllows(budget)) return undefined;
  return {
    cause,
    message: `budget ${name} needs ${desiredHealthy} healthy pods of ${expectedPods}: as it stands, it allows no disruption`,
    remedy: `run more replicas, or ask the budget's owner to let one go: kubectl -n ${namespace} describe pdb ${name}`,
  };
};

/** The budget is kept by a controller, which knows when a disruption does no harm: to edit it may cost data, and is undone. */
const keptText = ({ cause, message, lasting }: BudgetExplanation, { kind, name }: NonNullable<Budget['owner']>): BudgetExplanation => {
  const remedy = `wait for ${kind} ${name}, whose controller keeps the budget and changes it when a disruption does no harm; ask there, and leave the budget as it is`;
  if (cause !== 'BudgetNeverAllows') return { cause, message, remedy, ...(lasting && { lasting }) };
  return { cause: 'DisruptionBudget', message, remedy, lasting: { cause, afterSeconds: ownerWithin } };
};

/** What helps does no harm: it is its owner's budget, and it guards something. */
const harmless = (said: BudgetExplanation, { owner: pods }: Pod, { owner: keeper }: Budget): BudgetExplanation => {
  if (said.cause === 'ReplacementUnschedulable') return said;
  if (keeper !== undefined) return keptText(said, keeper);
  const isGuard = pods?.kind === 'Job' && (said.cause === 'BudgetNeverAllows' || said.cause === 'BudgetNotSynced');
  return isGuard ? { ...said, remedy: `wait for Job ${pods.name} to end: the budget guards its work` } : said;
};

/** The budget has nothing to give at the moment. `unscheduled`: pods that are on no node, as far as they have been looked for. */
export const budgetBlockerInfo = (pod: Pod, budget: Budget, unscheduled: readonly Pod[] = []): BlockerInfo => ({
  pod: about(pod),
  budgets: [budget.key],
  ...harmless(unsyncedText(budget) ?? refusingText(budget) ?? spentText(pod, budget, unscheduled), pod, budget),
});

/** Budgets that are named. Somebody may have made thousands for one pod. */
const maxBudgets = 10;

/** More than one budget: the eviction API always refuses such pods. */
export const multipleBudgetsBlockerInfo = (pod: Pod, budgets: readonly Budget[]): BlockerInfo => ({
  cause: 'MultipleBudgets',
  pod: about(pod),
  budgets: budgets
    .map(({ key }) => key)
    .sort()
    .slice(0, maxBudgets),
  message: `${budgets.length} budgets select the pod, and the eviction API always refuses such pods`,
  remedy: 'change the selectors so that one budget is left for the pod',
});
