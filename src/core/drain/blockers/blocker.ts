import { goneBy, type Pod } from '../../pod/pod.ts';
import { joinLimited, truncate } from '../../text.ts';
import { earliest, instantAt, isBefore, timeText } from '../../time.ts';

/** Why a pod cannot go yet, as a word that machines can use. */
type Cause =
  | 'DisruptionBudget'
  | 'BudgetNeverAllows'
  | 'BudgetNotSynced'
  | 'TooFewHealthy'
  | 'ReplacementUnschedulable'
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
  | 'EvictionIgnored'
  | 'EvictionUnanswered'
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
  | 'VolumeAttached'
  | 'AttachmentsUnknown'
  | 'DetachFailed';

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
export type BlockerInfo = Omit<Blocker, 'since'> & {
  /** The cause that it has once it has lasted for so many seconds: what passes by itself in most cases, and then has not. */
  readonly lasting?: { readonly cause: Cause; readonly afterSeconds: number };
};

/** Nothing but a change by a person (or another controller) will end it: no time of completion can be told. */
export const needsHelp = ({ cause }: BlockerInfo): boolean =>
  cause !== 'DisruptionBudget' &&
  cause !== 'Terminating' &&
  cause !== 'EvictionUnanswered' &&
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
export const blockerId = ({ cause, pod, volume, server }: Pick<BlockerInfo, 'cause' | 'pod' | 'volume' | 'server'>): string =>
  `${cause} ${pod ? `${pod.namespace}/${pod.name}` : ''} ${volume ?? ''}${server?.id ?? ''}`;

/** Since when it keeps the drain, by these moments, under whichever of the causes that it has in time. */
export const knownSince = (
  one: BlockerInfo,
  ...moments: readonly ReadonlyMap<string, Temporal.Instant>[]
): Temporal.Instant | undefined => {
  const ids = [one.cause, ...(one.lasting ? [one.lasting.cause] : [])].map(cause => blockerId({ ...one, cause }));
  return earliest(ids.map(id => moments.map(known => known.get(id)).find(since => since !== undefined)));
};

/** The cause in an id of a blocker. */
export const causeOfId = (id: string): string => id.slice(0, id.indexOf(' '));

/** The same blockers, so ordered that however short a list of them is cut, as many causes as possible are on it. */
export const eachCauseFirst = (blockers: readonly Blocker[]): readonly Blocker[] => {
  const firsts = new Set(
    Map.groupBy(blockers, ({ cause }) => cause)
      .values()
      .flatMap(group => group.slice(0, 1)),
  );
  return [...firsts, ...blockers.filter(one => !firsts.has(one))];
};

/** How many there are of each cause, in the order in which the causes come. */
export const countedByCause = (
  blockers: readonly Pick<Blocker, 'cause'>[],
): readonly { readonly cause: string; readonly count: number }[] =>
  [...Map.groupBy(blockers, ({ cause }) => cause)].map(([cause, group]) => ({ cause, count: group.length }));

/** Blockers in one text, where not all are said. */
const fewBlockers = 5;

/** For texts that say a few of many blockers, in the order of `eachCauseFirst`: one of each cause at least. */
export const fewOfEachCause = (blockers: readonly Blocker[], text: (blocker: Blocker) => string): string =>
  joinLimited(blockers.map(text), Math.max(fewBlockers, countedByCause(blockers).length));

export const about = ({ namespace, name }: Pod): NonNullable<BlockerInfo['pod']> => ({ namespace, name });

const outcomeTexts = {
  multipleBudgets: { cause: 'MultipleBudgets', remedy: 'change the selectors so that one budget is left for the pod' },
  denied: { cause: 'AdmissionDenied', remedy: 'ask the owner of the webhook or policy named in the error above' },
  webhookFailed: {
    cause: 'EvictionFailed',
    remedy:
      'repair the webhook named in the error above, or change its failurePolicy: kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations',
  },
  evacuating: { cause: 'Evacuating', remedy: undefined },
  notMigratable: { cause: 'NotMigratable', remedy: 'make the VM migratable, shut it down, or change its evictionStrategy' },
  migrationTarget: { cause: 'Evacuating', remedy: undefined },
  throttled: { cause: 'Throttled', remedy: undefined },
  namespaceTerminating: { cause: 'NamespaceTerminating', remedy: undefined },
  forbidden: {
    cause: 'Forbidden',
    remedy: 'grant the operator the permission named in the error above (drydock crds and deploy/ show the RBAC rules)',
  },
  invalid: {
    cause: 'EvictionFailed',
    remedy:
      'find out who answers so: a webhook that changes evictions, or a proxy before the API server; if it is neither, please report the error above',
  },
  failed: {
    cause: 'EvictionFailed',
    remedy: 'check the API server and what is before it: the error above is what came back, or why nothing did',
  },
  conflict: { cause: 'DisruptionBudget', remedy: undefined },
  budget: { cause: 'DisruptionBudget', remedy: undefined },
  budgetBehind: { cause: 'BudgetNotSynced', remedy: 'check the disruption controller (kube-controller-manager): it lags behind' },
} as const satisfies Record<string, { readonly cause: Cause; readonly remedy: string | undefined }>;

/** What the last reply to this pod's eviction says. */
export const outcomeBlockerInfo = (pod: Pod, kind: keyof typeof outcomeTexts, message: string): BlockerInfo => {
  const { cause, remedy } = outcomeTexts[kind];
  return { cause, pod: about(pod), message: truncate(message), ...(remedy !== undefined && { remedy }) };
};

/** Its deletion was accepted, and does not begin: somebody between the API server and its store leaves it out. */
export const ignoredBlockerInfo = (pod: Pod, tries: number): BlockerInfo => ({
  cause: 'EvictionIgnored',
  pod: about(pod),
  message: `its eviction was accepted${tries > 1 ? ` ${tries} times` : ''}, and it is not being deleted: an admission webhook may have made a dry run of it`,
  remedy:
    'ask the owner of the webhook that handles pods/eviction: kubectl get mutatingwebhookconfigurations,validatingwebhookconfigurations',
});

/** Nobody has answered yet. */
export const unansweredBlockerInfo = (pod: Pod, sentAt: Temporal.Instant): BlockerInfo => ({
  cause: 'EvictionUnanswered',
  pod: about(pod),
  message: `its eviction was sent at ${timeText(sentAt)}, and the API server has not answered yet: a webhook may keep it waiting`,
});

/** Seconds of a grace period that somebody will want to know a way around. */
const longGrace = 300;

const terminatingText = (pod: Pod): Pick<BlockerInfo, 'message' | 'remedy'> => {
  const end = goneBy(pod);
  const known = end !== undefined && isBefore(end, instantAt(Number.POSITIVE_INFINITY));
  const message = known ? `is terminating, and has until ${timeText(end)} (grace period ${pod.deletionGraceSeconds} s)` : 'is terminating';
  if (pod.deletionGraceSeconds < longGrace) return { message };
  const remedy = `wait for it; what it does may be cut off by a shorter time: drain.gracePeriodSeconds, a rung of drain.ladder, or kubectl -n ${pod.namespace} delete pod ${pod.name} --grace-period=30`;
  return { message, remedy };
};

/** It is on its way out. Past its grace period something holds it: a finalizer, or a kubelet that does not answer. */
export const terminatingBlockerInfo = (pod: Pod, overdue: boolean): BlockerInfo => {
  if (!overdue) return { cause: 'Terminating', pod: about(pod), ...terminatingText(pod) };
  const held = pod.finalizers.length > 0 ? `; finalizers: ${joinLimited(pod.finalizers)}` : '';
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
