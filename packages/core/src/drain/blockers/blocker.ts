import {
  earliest,
  instantAt,
  isBefore,
  joinLimited,
  timeText,
  truncate,
} from '@drydock/apimachinery';
import { goneBy, type Pod } from '../../pod/pod.ts';

/** Cause that keeps a pod from leaving, as a word for machines. */
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

/** A reason why the drain is not complete. */
export type Blocker = {
  readonly cause: Cause;
  /** Pod that is blocked; missing for volumes and other blockers that are not a pod. */
  readonly pod?: { readonly namespace: string; readonly name: string };
  /** `namespace/name` of the budget or budgets. */
  readonly budgets?: readonly string[];
  readonly volume?: string;
  /** Server of OpenStack. */
  readonly server?: { readonly id: string; readonly name: string };
  /** Description of the problem, in a sentence. */
  readonly message: string;
  /** Remedy; missing if waiting is all there is to do. */
  readonly remedy?: string;
  readonly since: Temporal.Instant;
};

/** A blocker before its start is known. */
export type BlockerInfo = Omit<Blocker, 'since'> & {
  /**
   * Cause that replaces the first one after `afterSeconds`: most such blockers pass without help,
   * this one has not.
   */
  readonly lasting?: { readonly cause: Cause; readonly afterSeconds: number };
};

/**
 * Reports whether only a change by a person (or another controller) ends the blocker: no time of
 * completion can be estimated.
 */
export function needsHelp({ cause }: BlockerInfo): boolean {
  return (
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
    cause !== 'VolumeAttached'
  );
}

/**
 * Reports whether each change of the message is news: the responder that evicts the pod reports its
 * progress in the message.
 */
export function tellsProgress({ cause }: BlockerInfo): boolean {
  return cause === 'EvictionResponder' || cause === 'EvictionResponderSilent';
}

/** Returns the id of a blocker, which stays the same when its text changes. */
export function blockerId({
  cause,
  pod,
  volume,
  server,
}: Pick<BlockerInfo, 'cause' | 'pod' | 'volume' | 'server'>): string {
  return `${cause} ${pod ? `${pod.namespace}/${pod.name}` : ''} ${volume ?? ''}${server?.id ?? ''}`;
}

/**
 * Returns since when the blocker exists, by these moments, under any of the causes that it has over
 * time.
 */
export function knownSince(
  one: BlockerInfo,
  ...moments: readonly ReadonlyMap<string, Temporal.Instant>[]
): Temporal.Instant | undefined {
  const ids = [one.cause, ...(one.lasting ? [one.lasting.cause] : [])].map(cause =>
    blockerId({ ...one, cause }),
  );
  return earliest(
    ids.map(id => moments.map(known => known.get(id)).find(since => since !== undefined)),
  );
}

/** Returns the cause that an id of a blocker contains. */
export function causeOfId(id: string): string {
  return id.slice(0, id.indexOf(' '));
}

/** Sorts the blockers so that any cut of the list keeps as many causes as possible. */
export function eachCauseFirst(blockers: readonly Blocker[]): readonly Blocker[] {
  const firsts = new Set(
    Map.groupBy(blockers, ({ cause }) => cause)
      .values()
      .flatMap(group => group.slice(0, 1)),
  );
  return [...firsts, ...blockers.filter(one => !firsts.has(one))];
}

/** Counts the blockers of each cause, in the order in which the causes appear. */
export function countedByCause(
  blockers: readonly Pick<Blocker, 'cause'>[],
): readonly { readonly cause: string; readonly count: number }[] {
  return [...Map.groupBy(blockers, ({ cause }) => cause)].map(([cause, group]) => ({
    cause,
    count: group.length,
  }));
}

/** Number of blockers in a text that does not list all of them. */
const fewBlockers = 5;

/**
 * Joins the text of a few of many blockers, in the order of `eachCauseFirst`: at least one of each
 * cause.
 */
export function fewOfEachCause(
  blockers: readonly Blocker[],
  text: (blocker: Blocker) => string,
): string {
  return joinLimited(blockers.map(text), Math.max(fewBlockers, countedByCause(blockers).length));
}

export function about({ namespace, name }: Pod): NonNullable<BlockerInfo['pod']> {
  return { namespace, name };
}

const outcomeTexts = {
  multipleBudgets: {
    cause: 'MultipleBudgets',
    remedy: 'change the selectors so that one budget is left for the pod',
  },
  denied: {
    cause: 'AdmissionDenied',
    remedy: 'ask the owner of the webhook or policy named in the error above',
  },
  webhookFailed: {
    cause: 'EvictionFailed',
    remedy:
      'repair the webhook named in the error above, or change its failurePolicy: kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations',
  },
  evacuating: { cause: 'Evacuating', remedy: undefined },
  notMigratable: {
    cause: 'NotMigratable',
    remedy: 'make the VM migratable, shut it down, or change its evictionStrategy',
  },
  migrationTarget: { cause: 'Evacuating', remedy: undefined },
  throttled: { cause: 'Throttled', remedy: undefined },
  namespaceTerminating: { cause: 'NamespaceTerminating', remedy: undefined },
  forbidden: {
    cause: 'Forbidden',
    remedy:
      'grant the operator the permission named in the error above (drydock crds and deploy/ show the RBAC rules)',
  },
  invalid: {
    cause: 'EvictionFailed',
    remedy:
      'find out who answers so: a webhook that changes evictions, or a proxy before the API server; if it is neither, please report the error above',
  },
  failed: {
    cause: 'EvictionFailed',
    remedy:
      'check the API server and what is before it: the error above is what came back, or why nothing did',
  },
  conflict: { cause: 'DisruptionBudget', remedy: undefined },
  budget: { cause: 'DisruptionBudget', remedy: undefined },
  budgetBehind: {
    cause: 'BudgetNotSynced',
    remedy: 'check the disruption controller (kube-controller-manager): it lags behind',
  },
} as const satisfies Record<string, { readonly cause: Cause; readonly remedy: string | undefined }>;

/** Returns the blocker for the last response to this pod's eviction. */
export function outcomeBlockerInfo(
  pod: Pod,
  kind: keyof typeof outcomeTexts,
  message: string,
): BlockerInfo {
  const { cause, remedy } = outcomeTexts[kind];
  return {
    cause,
    pod: about(pod),
    message: truncate(message),
    ...(remedy !== undefined && { remedy }),
  };
}

/**
 * Returns the blocker for an accepted deletion that does not begin: a component between the API
 * server and its store drops it.
 */
export function ignoredBlockerInfo(pod: Pod, tries: number): BlockerInfo {
  return {
    cause: 'EvictionIgnored',
    pod: about(pod),
    message: `its eviction was accepted${tries > 1 ? ` ${tries} times` : ''}, and it is not being deleted: an admission webhook may have made a dry run of it`,
    remedy:
      'ask the owner of the webhook that handles pods/eviction: kubectl get mutatingwebhookconfigurations,validatingwebhookconfigurations',
  };
}

/** Returns the blocker for an eviction without a response yet. */
export function unansweredBlockerInfo(pod: Pod, sentAt: Temporal.Instant): BlockerInfo {
  return {
    cause: 'EvictionUnanswered',
    pod: about(pod),
    message: `its eviction was sent at ${timeText(sentAt)}, and the API server has not answered yet: a webhook may keep it waiting`,
  };
}

/** Seconds of grace period from which a text also gives a way around it. */
const longGrace = 300;

function terminatingText(pod: Pod): Pick<BlockerInfo, 'message' | 'remedy'> {
  const end = goneBy(pod);
  const known = end !== undefined && isBefore(end, instantAt(Number.POSITIVE_INFINITY));
  const message = known
    ? `is terminating, and has until ${timeText(end)} (grace period ${pod.deletionGraceSeconds} s)`
    : 'is terminating';
  if (pod.deletionGraceSeconds < longGrace) return { message };
  const remedy = `wait for it; what it does may be cut off by a shorter time: drain.gracePeriodSeconds, a rung of drain.ladder, or kubectl -n ${pod.namespace} delete pod ${pod.name} --grace-period=30`;
  return { message, remedy };
}

/**
 * Returns the blocker for a terminating pod. Past its grace period, a finalizer or an unresponsive
 * kubelet holds it.
 */
export function terminatingBlockerInfo(pod: Pod, overdue: boolean): BlockerInfo {
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
}
