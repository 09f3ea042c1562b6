import type { PodTask } from './pods/hook.ts';

/** States of a node in flight. */
export const nodeStates = [
  'Starting',
  'Holding',
  'Working',
  'Rebooting',
  'Verifying',
  'Soaking',
  'Releasing',
] as const;
export type NodeState = (typeof nodeStates)[number];

/**
 * Verdicts on a node. Done: proven. Failed: counts against the plan's limit of failures. Requeued:
 * its work had not begun, it is taken again later. Skipped: it was not worked on, or its work was
 * for another revision. Gone: the node does not exist any more, and nothing was done to it.
 */
export const verdictTypes = ['Done', 'Failed', 'Requeued', 'Skipped', 'Gone'] as const;
export type Verdict = (typeof verdictTypes)[number];

/** Decision about a node, before it is released. */
export type Outcome = {
  readonly verdict: Verdict;
  /** State in which it ended. */
  readonly state: NodeState;
  readonly message: string;
  /** True if the node stays held: its Maintenance is left for a person to delete. */
  readonly held: boolean;
  /** True if it is released because its drain was stuck. */
  readonly stuck?: true;
};

export const workKinds = ['job', 'reboot', 'external', 'replace', 'none'] as const;

/**
 * Parts of the work that count for as long as a node is in flight, regardless of later edits of the
 * plan.
 */
export type BegunWork = {
  readonly kind: (typeof workKinds)[number];
  readonly rebootsNode: boolean;
  readonly timeoutSeconds: number;
};

/**
 * A node that the plan has begun with and has no verdict recorded for: an entry of status.inFlight.
 * Its slot is free when the entry is gone.
 */
export type InFlight = {
  readonly node: string;
  readonly uid: string;
  readonly stage: string;
  readonly revision: string;
  readonly work: BegunWork;
  /** Provider ID of its machine: the machine may come back with another Node object. */
  readonly providerId?: string;
  /**
   * uid of the Node object that it was begun with, and that its Maintenance is named after, if its
   * machine has registered again since.
   */
  readonly heldAs?: string;
  /**
   * Values of the labels that concurrency.perTopology names: they also count when its Node object
   * is gone.
   */
  readonly domains?: Readonly<Record<string, string>>;
  readonly state: NodeState;
  readonly startedAt: Temporal.Instant;
  /** Time at which it entered this state. */
  readonly since: Temporal.Instant;
  readonly attempt: number;
  /**
   * Boot ID of the last start before the work: stored before the work begins, otherwise a reboot in
   * between would not be noticed.
   */
  readonly bootIdBefore?: string;
  /** Later boot ID from before a container of the pod has run: it proves nothing. */
  readonly idleBootId?: string;
  /**
   * Taints that keep pods away and were there before the work, including those of its hold;
   * missing: there are more than are kept.
   */
  readonly taintsBefore?: readonly string[];
  /**
   * Name of the pod of this attempt: stored before the pod is created. With an outcome: kept until
   * no container of the work can run any more.
   */
  readonly pod?: string;
  /**
   * uid of the pod of this attempt, once observed: the pod is not created again when it is gone.
   */
  readonly podUid?: string;
  /**
   * Last attempt of which a container has run: before the first one nothing on the node is changed.
   */
  readonly ranAttempt?: number;
  /**
   * Times of the last attempt: start of the work; start of the reboot, if the node went down; end
   * of the work.
   */
  readonly workStartedAt?: Temporal.Instant;
  readonly rebootStartedAt?: Temporal.Instant;
  readonly workEndedAt?: Temporal.Instant;
  /** Time since when everything has been healthy without a break. */
  readonly soakSince?: Temporal.Instant;
  /**
   * Mark of the process that has watched that, and of the node's start: with another mark the quiet
   * time begins again.
   */
  readonly soakMark?: string;
  /** Time at which it was unhealthy for the first time in its quiet time. */
  readonly soakBrokenAt?: Temporal.Instant;
  /** True if it is proven to have booted. */
  readonly rebooted?: true;
  readonly outcome?: Outcome;
};

/**
 * Reports whether its work may be in progress, or has an end that is not stored yet: a pod of it
 * that is being deleted may exist until its name is dropped.
 */
export function isAtWork({
  state,
  outcome,
  pod,
}: Pick<InFlight, 'state' | 'outcome' | 'pod'>): boolean {
  return outcome === undefined ? state === 'Working' || state === 'Rebooting' : pod !== undefined;
}

/** Number of taints of one node that are kept. */
export const maxTaints = 16;

/**
 * Numbers of entries of status.inFlight, and of status.hooks: the status stays far below what the
 * API server stores (1.5 MiB with all that etcd counts).
 */
export const maxSlots = 500;
export const maxHookRuns = 600;

/** Bytes of the message of one entry, and of one verdict. */
export const maxEntryMessageLength = 256;
export const maxVerdictMessageLength = 1024;

/**
 * Characters of a provider ID that are kept for a node in flight: the party that registers a node
 * may write any text.
 */
export const maxProviderIdLength = 128;

/**
 * Characters of a status from which no more nodes begin: those in flight still get their outcomes,
 * and their hooks.
 */
export const maxStatusLength = 300_000;

/**
 * A node that is prepared before it is held, by a new pod in each run: an entry of
 * status.preparing.
 */
export type Preparing = PodTask & {
  readonly node: string;
  readonly uid: string;
  /** State. Refused: by the exit code for a refusal. Failed: in any other way. */
  readonly state: PreparingState;
};

export const preparingStates = ['Running', 'Prepared', 'Refused', 'Failed'] as const;
type PreparingState = (typeof preparingStates)[number];

/** Reports whether the node is not ready, and stays so until a user retries it. */
export function isRefused({ state }: Preparing): boolean {
  return state === 'Refused' || state === 'Failed';
}

/** A verdict as it is recorded. */
export type NodeVerdict = {
  readonly node: string;
  readonly uid: string;
  readonly stage: string;
  readonly verdict: Verdict;
  readonly state: NodeState;
  readonly message: string;
  readonly startedAt: Temporal.Instant;
  readonly completedAt: Temporal.Instant;
  readonly attempts: number;
  readonly rebooted: boolean;
  readonly held: boolean;
  /**
   * Number of times that this node was released in this run because its drain was stuck, since its
   * last failure that was set aside.
   */
  readonly requeues: number;
  /**
   * Seconds that the work took, and the reboot after it, if it came to an end: rehearsals learn
   * from them.
   */
  readonly workSeconds?: number;
  readonly rebootSeconds?: number;
};
