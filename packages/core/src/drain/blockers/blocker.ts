import {
  earliest,
  instantAt,
  isBefore,
  joinLimited,
  timeText,
  truncate,
} from '@drydock/apimachinery';
import { goneBy, type Pod } from '../../pod/pod.ts';

/** Reason that keeps a pod from leaving, as a word for machines. */
type BlockerReason =
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
  readonly reason: BlockerReason;
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
   * Reason that replaces the first one after `afterSeconds`: most such blockers pass without help,
   * this one has not.
   */
  readonly lasting?: { readonly reason: BlockerReason; readonly afterSeconds: number };
};

/**
 * Reports whether only a change by a person (or another controller) ends the blocker: no time of
 * completion can be estimated.
 */
export function needsHelp({ reason }: BlockerInfo): boolean {
  return (
    reason !== 'DisruptionBudget' &&
    reason !== 'Terminating' &&
    reason !== 'EvictionUnanswered' &&
    reason !== 'EarlierWave' &&
    reason !== 'WorkOfPlan' &&
    reason !== 'EvictionRequested' &&
    reason !== 'EvictionResponder' &&
    reason !== 'Throttled' &&
    reason !== 'NamespaceTerminating' &&
    reason !== 'Evacuating' &&
    reason !== 'MigrationQueued' &&
    reason !== 'ServerMoving' &&
    reason !== 'VolumeAttached'
  );
}

/**
 * Reports whether each change of the message is news: the responder that evicts the pod reports its
 * progress in the message.
 */
export function tellsProgress({ reason }: BlockerInfo): boolean {
  return reason === 'EvictionResponder' || reason === 'EvictionResponderSilent';
}

/** Returns the id of a blocker, which stays the same when its text changes. */
export function blockerId({
  reason,
  pod,
  volume,
  server,
}: Pick<BlockerInfo, 'reason' | 'pod' | 'volume' | 'server'>): string {
  return `${reason} ${pod ? `${pod.namespace}/${pod.name}` : ''} ${volume ?? ''}${server?.id ?? ''}`;
}

/**
 * Returns since when the blocker exists, by these moments, under any of the reasons that it has
 * over time.
 */
export function knownSince(
  one: BlockerInfo,
  ...moments: readonly ReadonlyMap<string, Temporal.Instant>[]
): Temporal.Instant | undefined {
  const ids = [one.reason, ...(one.lasting ? [one.lasting.reason] : [])].map(reason =>
    blockerId({ ...one, reason }),
  );
  return earliest(
    ids.map(id => moments.map(known => known.get(id)).find(since => since !== undefined)),
  );
}

/** Returns the reason that an id of a blocker contains. */
export function reasonOfId(id: string): string {
  return id.slice(0, id.indexOf(' '));
}

/** Sorts the blockers so that any cut of the list keeps as many reasons as possible. */
export function eachReasonFirst(blockers: readonly Blocker[]): readonly Blocker[] {
  const firsts = new Set(
    Map.groupBy(blockers, ({ reason }) => reason)
      .values()
      .flatMap(group => group.slice(0, 1)),
  );
  return [...firsts, ...blockers.filter(one => !firsts.has(one))];
}

/** Counts the blockers with each reason, in the order in which the reasons appear. */
export function countedByReason(
  blockers: readonly Pick<Blocker, 'reason'>[],
): readonly { readonly reason: string; readonly count: number }[] {
  return [...Map.groupBy(blockers, ({ reason }) => reason)].map(([reason, group]) => ({
    reason,
    count: group.length,
  }));
}

/** Number of blockers in a text that does not list all of them. */
const fewBlockers = 5;

/**
 * Joins the text of a few of many blockers, in the order of `eachReasonFirst`: at least one of each
 * cause.
 */
export function fewOfEachReason(
  blockers: readonly Blocker[],
  text: (blocker: Blocker) => string,
): string {
  return joinLimited(blockers.map(text), Math.max(fewBlockers, countedByReason(blockers).length));
}

export function about({ namespace, name }: Pod): NonNullable<BlockerInfo['pod']> {
  return { namespace, name };
}

const outcomeTexts = {
  multipleBudgets: {
    reason: 'MultipleBudgets',
    remedy: 'change the selectors so that one budget is left for the pod',
  },
  denied: {
    reason: 'AdmissionDenied',
    remedy: 'ask the owner of the webhook or policy named in the error above',
  },
  webhookFailed: {
    reason: 'EvictionFailed',
    remedy:
      'repair the webhook named in the error above, or change its failurePolicy: kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations',
  },
  evacuating: { reason: 'Evacuating', remedy: undefined },
  notMigratable: {
    reason: 'NotMigratable',
    remedy: 'make the VM migratable, shut it down, or change its evictionStrategy',
  },
  migrationTarget: { reason: 'Evacuating', remedy: undefined },
  throttled: { reason: 'Throttled', remedy: undefined },
  namespaceTerminating: { reason: 'NamespaceTerminating', remedy: undefined },
  forbidden: {
    reason: 'Forbidden',
    remedy:
      'grant the operator the permission named in the error above (drydock crds and deploy/ show the RBAC rules)',
  },
  invalid: {
    reason: 'EvictionFailed',
    remedy:
      'find out who answers so: a webhook that changes evictions, or a proxy before the API server; if it is neither, please report the error above',
  },
  failed: {
    reason: 'EvictionFailed',
    remedy:
      'check the API server and what is before it: the error above is what came back, or why nothing did',
  },
  conflict: { reason: 'DisruptionBudget', remedy: undefined },
  budget: { reason: 'DisruptionBudget', remedy: undefined },
  budgetBehind: {
    reason: 'BudgetNotSynced',
    remedy: 'check the disruption controller (kube-controller-manager): it lags behind',
  },
} as const satisfies Record<
  string,
  { readonly reason: BlockerReason; readonly remedy: string | undefined }
>;

/** Returns the blocker for the last response to this pod's eviction. */
export function outcomeBlockerInfo(
  pod: Pod,
  kind: keyof typeof outcomeTexts,
  message: string,
): BlockerInfo {
  const { reason, remedy } = outcomeTexts[kind];
  return {
    reason,
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
    reason: 'EvictionIgnored',
    pod: about(pod),
    message: `its eviction was accepted${tries > 1 ? ` ${tries} times` : ''}, and it is not being deleted: an admission webhook may have made a dry run of it`,
    remedy:
      'ask the owner of the webhook that handles pods/eviction: kubectl get mutatingwebhookconfigurations,validatingwebhookconfigurations',
  };
}

/** Returns the blocker for an eviction without a response yet. */
export function unansweredBlockerInfo(pod: Pod, sentAt: Temporal.Instant): BlockerInfo {
  return {
    reason: 'EvictionUnanswered',
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
  if (!overdue) return { reason: 'Terminating', pod: about(pod), ...terminatingText(pod) };
  const held = pod.finalizers.length > 0 ? `; finalizers: ${joinLimited(pod.finalizers)}` : '';
  return {
    reason: 'StuckTerminating',
    pod: about(pod),
    message: `is past its grace period and still there${held}`,
    remedy:
      pod.finalizers.length > 0
        ? 'check the controller that owns the finalizer'
        : 'check the kubelet of the node; delete the pod by force only when the machine is known to be off',
  };
}

/** A blocker in the form in which it is shown. */
export type BlockerSummary = {
  readonly reason: string;
  /** `namespace/name` of the pod, or the name of the volume. */
  readonly what: string;
  readonly message: string;
  readonly remedy?: string;
  readonly since?: string;
};

/** Blockers that have the same message and remedy. */
export type BlockerGroup = Pick<BlockerSummary, 'reason' | 'message' | 'remedy'> & {
  readonly whats: readonly string[];
};

/**
 * Groups blockers with the same message and remedy into one sentence for people. Sorted within a
 * group; the groups keep the given order.
 */
export function groupBlockers(blockers: readonly BlockerSummary[]): readonly BlockerGroup[] {
  const groups = new Map<string, BlockerSummary[]>();
  for (const blocker of blockers) {
    const key = `${blocker.message}\n${blocker.remedy ?? ''}`;
    groups.set(key, [...(groups.get(key) ?? []), blocker]);
  }
  return [...groups.values()].flatMap(group => {
    const [first] = group;
    if (first === undefined) return [];
    const { reason, message, remedy } = first;
    return {
      reason,
      message,
      ...(remedy !== undefined && { remedy }),
      whats: group.map(({ what }) => what).sort(),
    };
  });
}
