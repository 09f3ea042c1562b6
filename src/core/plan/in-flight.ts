import type { PodTask } from './pods/hook.ts';

/** How far a node in flight is. */
export const nodeStates = ['Starting', 'Holding', 'Working', 'Rebooting', 'Verifying', 'Soaking', 'Releasing'] as const;
export type NodeState = (typeof nodeStates)[number];

/**
 * Done: proven. Failed: counts against the plan's limit of failures. Requeued: its drain was stuck, it comes again later. Skipped: nobody has worked on it, or its
 * work was for another revision; Gone: the node does not exist any more.
 */
export const verdictWords = ['Done', 'Failed', 'Requeued', 'Skipped', 'Gone'] as const;
export type VerdictWord = (typeof verdictWords)[number];

/** What has been decided about a node, before it is released. */
export type Outcome = {
  readonly verdict: VerdictWord;
  /** Where it ended. */
  readonly step: NodeState;
  readonly message: string;
  /** The node stays held: its Maintenance is left for a person to delete. */
  readonly held: boolean;
};

export const workKinds = ['job', 'reboot', 'external', 'replace', 'none'] as const;

/** What of the work counts for as long as a node is in flight, whatever the plan is edited to meanwhile. */
export type BegunWork = { readonly kind: (typeof workKinds)[number]; readonly rebootsNode: boolean; readonly timeoutSeconds: number };

/** One node that the plan has begun with and has no verdict recorded for: an entry of status.inFlight. Its slot is free when the entry is gone. */
export type InFlight = {
  readonly node: string;
  readonly uid: string;
  readonly stage: string;
  readonly revision: string;
  readonly work: BegunWork;
  /** Its labels that concurrency.perTopology names: they count when its Node object is gone, too. */
  readonly domains?: Readonly<Record<string, string>>;
  readonly state: NodeState;
  readonly startedAt: Temporal.Instant;
  /** When it came to this state. */
  readonly since: Temporal.Instant;
  readonly attempt: number;
  /** Of the last start before the work: noted before the work begins, else a reboot in between would not be seen. */
  readonly bootIdBefore?: string;
  /** The pod of this attempt has been seen: it is not made again when it is gone. */
  readonly podUid?: string;
  /** When the work began, of the last attempt; when the node went down for its reboot, where it did; and when its work had ended. */
  readonly workStartedAt?: Temporal.Instant;
  readonly rebootStartedAt?: Temporal.Instant;
  readonly workEndedAt?: Temporal.Instant;
  /** Since when everything has been well without a break. */
  readonly soakSince?: Temporal.Instant;
  /** It has been proven to have booted. */
  readonly rebooted?: true;
  readonly outcome?: Outcome;
};

/** Whether its work may be under way, or has an end that is not noted yet. Before, no pod does it: one that is there is left of an earlier attempt. */
export const isAtWork = ({ state, outcome }: Pick<InFlight, 'state' | 'outcome'>): boolean =>
  outcome === undefined && (state === 'Working' || state === 'Rebooting');

/** Entries of status.inFlight, and of status.hooks: the status stays far below what the API server stores. */
export const mostSlots = 1000;
export const mostHookRuns = 2000;

/** One node that is got ready before it is held, by another pod in each run: an entry of status.preparing. */
export type Preparing = PodTask & {
  readonly node: string;
  readonly uid: string;
  /** Refused: by the exit code that says so. Failed: in any other way. */
  readonly state: PreparingState;
};

export const preparingStates = ['Running', 'Prepared', 'Refused', 'Failed'] as const;
type PreparingState = (typeof preparingStates)[number];

/** It is not ready, and stays so until somebody has it tried again. */
export const isRefused = ({ state }: Preparing): boolean => state === 'Refused' || state === 'Failed';

/** One verdict, as it is recorded. */
export type NodeVerdict = {
  readonly node: string;
  readonly uid: string;
  readonly stage: string;
  readonly verdict: VerdictWord;
  readonly step: NodeState;
  readonly message: string;
  readonly startedAt: Temporal.Instant;
  readonly completedAt: Temporal.Instant;
  readonly attempts: number;
  readonly rebooted: boolean;
  readonly held: boolean;
  /** How often this node has been requeued in this run. */
  readonly requeues: number;
  /** How long the work took, and the reboot after it, where it came to an end: rehearsals learn from it. */
  readonly workSeconds?: number;
  readonly rebootSeconds?: number;
};
