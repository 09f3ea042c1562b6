import type { Pod } from '../../pod/pod.ts';
import { fewOf, shortened } from '../../text.ts';
import { type Budget, countsNothing, neverAllows } from '../budgets/budget.ts';

/** Why a pod cannot go yet, as a word that machines can use. */
type Cause =
  | 'DisruptionBudget'
  | 'BudgetNeverAllows'
  | 'BudgetNotSynced'
  | 'MultipleBudgets'
  | 'AdmissionDenied'
  | 'Evacuating'
  | 'MigrationQueued'
  | 'MigrationFailed'
  | 'NoMigrationTarget'
  | 'NotMigratable'
  | 'VirtualMachineStops'
  | 'ServerMoving'
  | 'ServerNotMovable'
  | 'HypervisorUnknown'
  | 'Terminating'
  | 'StuckTerminating'
  | 'NodeNotReady'
  | 'NamespaceTerminating'
  | 'Throttled'
  | 'Forbidden'
  | 'EvictionFailed'
  | 'LocalData'
  | 'Unmanaged'
  | 'DaemonSet'
  | 'AwaitingCompletion'
  | 'WorkOfPlan'
  | 'EarlierWave'
  | 'EvictionRequested'
  | 'EvictionResponder'
  | 'EvictionResponderSilent'
  | 'KeepsComing'
  | 'VolumeAttached';

/** Something that keeps the drain from being complete. */
export type Blocker = {
  readonly cause: Cause;
  /** Missing for volumes, and for what is no pod. */
  readonly pod?: { readonly namespace: string; readonly name: string };
  /** `namespace/name` of the budget or budgets. */
  readonly budgets?: readonly string[];
  readonly volume?: string;
  /** A server of OpenStack. */
  readonly server?: { readonly id: string; readonly name: string };
  /** What is the matter, in a sentence. */
  readonly message: string;
  /** What would help; missing where waiting is all there is to do. */
  readonly remedy?: string;
  readonly since: Temporal.Instant;
};

/** A blocker before it is known since when. */
export type BlockerInfo = Omit<Blocker, 'since'>;

/** Nothing but a change by a person (or another controller) will end it: no time of completion can be told. */
export const needsHelp = ({ cause }: BlockerInfo): boolean =>
  cause !== 'DisruptionBudget' &&
  cause !== 'Terminating' &&
  cause !== 'EarlierWave' &&
  cause !== 'WorkOfPlan' &&
  cause !== 'EvictionRequested' &&
  cause !== 'EvictionResponder' &&
  cause !== 'Throttled' &&
  cause !== 'NamespaceTerminating' &&
  cause !== 'Evacuating' &&
  cause !== 'MigrationQueued' &&
  cause !== 'ServerMoving' &&
  cause !== 'VolumeAttached';

/** Its message is news each time it changes: whoever evicts the pod says in it how far that is. */
export const tellsProgress = ({ cause }: BlockerInfo): boolean => cause === 'EvictionResponder' || cause === 'EvictionResponderSilent';

/** The same blocker, however its text has changed meanwhile. */
export const blockerId = ({ cause, pod, volume, server }: BlockerInfo): string =>
  `${cause} ${pod ? `${pod.namespace}/${pod.name}` : ''} ${volume ?? ''}${server?.id ?? ''}`;

export const about = ({ namespace, name }: Pod): NonNullable<BlockerInfo['pod']> => ({ namespace, name });

/** It gives something now and then, and nothing at the moment. */
const spentText = (budget: Budget): Pick<BlockerInfo, 'message' | 'remedy'> => {
  const { name, namespace, disruptionsAllowed, desiredHealthy, currentHealthy } = budget;
  if (disruptionsAllowed > 0) return { message: `budget ${name} allows ${disruptionsAllowed} at the moment, and as many are in flight` };
  const message = `budget ${name} needs ${desiredHealthy} healthy pods and has ${currentHealthy}`;
  if (currentHealthy >= desiredHealthy) return { message };
  return {
    message: `${message}; ${desiredHealthy - currentHealthy} too few are healthy`,
    remedy: `check why its pods are not Ready: kubectl -n ${namespace} get pods`,
  };
};

/** The budget has nothing to give at the moment. */
export const budgetBlockerInfo = (pod: Pod, budget: Budget): BlockerInfo => {
  const common = { pod: about(pod), budgets: [budget.key] };
  if (budget.syncFailure !== undefined) {
    return {
      ...common,
      cause: 'BudgetNotSynced',
      message: `budget ${budget.name} could not be computed: ${shortened(budget.syncFailure)}`,
      remedy: `fix the error above, or delete the budget: kubectl -n ${budget.namespace} describe pdb ${budget.name}`,
    };
  }
  if (!budget.fresh) {
    return { ...common, cause: 'BudgetNotSynced', message: `budget ${budget.name} has just changed; its status is not computed yet` };
  }
  if (countsNothing(budget)) {
    return {
      ...common,
      cause: 'BudgetNeverAllows',
      message: `budget ${budget.name} counts none of its pods, because no controller says how many it should count: it allows no disruption`,
      remedy: `give it minAvailable as a number: kubectl -n ${budget.namespace} edit pdb ${budget.name}`,
    };
  }
  if (neverAllows(budget)) {
    return {
      ...common,
      cause: 'BudgetNeverAllows',
      message: `budget ${budget.name} needs ${budget.desiredHealthy} healthy pods of ${budget.expectedPods}: it can never allow a disruption`,
      remedy: `run more replicas, or loosen the budget: kubectl -n ${budget.namespace} edit pdb ${budget.name}`,
    };
  }
  return { ...common, cause: 'DisruptionBudget', ...spentText(budget) };
};

/** Budgets that are named. Somebody may have made thousands for one pod. */
const mostBudgets = 10;

/** More than one budget: the eviction API always refuses such pods. */
export const multipleBudgetsBlockerInfo = (pod: Pod, budgets: readonly Budget[]): BlockerInfo => ({
  cause: 'MultipleBudgets',
  pod: about(pod),
  budgets: budgets
    .map(({ key }) => key)
    .sort()
    .slice(0, mostBudgets),
  message: `${budgets.length} budgets select the pod, and the eviction API always refuses such pods`,
  remedy: 'change the selectors so that one budget is left for the pod',
});

const outcomeTexts = {
  multipleBudgets: { cause: 'MultipleBudgets', remedy: 'change the selectors so that one budget is left for the pod' },
  denied: { cause: 'AdmissionDenied', remedy: 'ask the owner of the webhook or policy named in the error above' },
  evacuating: { cause: 'Evacuating', remedy: undefined },
  notMigratable: { cause: 'NotMigratable', remedy: 'make the VM migratable, shut it down, or change its evictionStrategy' },
  migrationTarget: { cause: 'Evacuating', remedy: undefined },
  throttled: { cause: 'Throttled', remedy: undefined },
  namespaceTerminating: { cause: 'NamespaceTerminating', remedy: undefined },
  forbidden: {
    cause: 'Forbidden',
    remedy: 'grant the operator the permission named in the error above (drydock crds and deploy/ show the RBAC rules)',
  },
  invalid: { cause: 'EvictionFailed', remedy: 'this is a bug in Drydock or the API server: please report the error above' },
  failed: { cause: 'EvictionFailed', remedy: 'check the API server: it failed to respond' },
  conflict: { cause: 'DisruptionBudget', remedy: undefined },
  budget: { cause: 'DisruptionBudget', remedy: undefined },
  budgetBehind: { cause: 'BudgetNotSynced', remedy: 'check the disruption controller (kube-controller-manager): it lags behind' },
} as const satisfies Record<string, { readonly cause: Cause; readonly remedy: string | undefined }>;

/** What the last reply to this pod's eviction says. */
export const outcomeBlockerInfo = (pod: Pod, kind: keyof typeof outcomeTexts, message: string): BlockerInfo => {
  const { cause, remedy } = outcomeTexts[kind];
  return { cause, pod: about(pod), message: shortened(message), ...(remedy !== undefined && { remedy }) };
};

/** It is on its way out. Past its grace period something holds it: a finalizer, or a kubelet that does not answer. */
export const terminatingBlockerInfo = (pod: Pod, overdue: boolean): BlockerInfo => {
  if (!overdue) return { cause: 'Terminating', pod: about(pod), message: 'is terminating' };
  const held = pod.finalizers.length > 0 ? `; finalizers: ${fewOf(pod.finalizers)}` : '';
  return {
    cause: 'StuckTerminating',
    pod: about(pod),
    message: `is past its grace period and still there${held}`,
    remedy:
      pod.finalizers.length > 0
        ? 'check the controller that owns the finalizer'
        : 'check the kubelet of the node; delete the pod by force only when the machine is known to be off',
  };
};
