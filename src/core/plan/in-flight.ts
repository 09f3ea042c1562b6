import type { PodTask } from './pods/hook.ts';

/** How far a node in flight is. */
export const nodeStates = ['Starting', 'Holding', 'Working', 'Rebooting', 'Verifying', 'Soaking', 'Releasing'] as const;
export type NodeState = (typeof nodeStates)[number];

/**
 * Done: proven. Failed: counts against the plan's limit of failures. Requeued: its work had not begun, it comes again later. Skipped: nobody has worked on it, or its
 * work was for another revision; Gone: the node does not exist any more, and nothing was done to it.
 */
export const verdictTypes = ['Done', 'Failed', 'Requeued', 'Skipped', 'Gone'] as const;
export type Verdict = (typeof verdictTypes)[number];

/** What has been decided about a node, before it is released. */
export type Outcome = {
  readonly verdict: Verdict;
  /** Where it ended. */
  readonly step: NodeState;
  readonly message: string;
  /** The node stays held: its Maintenance is left for a person to delete. */
  readonly held: boolean;
  /** It is given back because its drain was stuck. */
  readonly stuck?: true;
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
  /** Of its machine, as the cloud calls it: its Node object may be another one when it comes back. */
  readonly providerId?: string;
  /** uid of the Node object that it was begun with, and that its Maintenance is named after, where its machine has registered again since. */
  readonly heldAs?: string;
  /** Its labels that concurrency.perTopology names: they count when its Node object is gone, too. */
  readonly domains?: Readonly<Record<string, string>>;
  readonly state: NodeState;
  readonly startedAt: Temporal.Instant;
  /** When it came to this state. */
  readonly since: Temporal.Instant;
  readonly attempt: number;
  /** Of the last start before the work: noted before the work begins, else a reboot in between would not be seen. */
  readonly bootIdBefore?: string;
  /** A later one, that came before a container of the pod has run: it proves nothing. */
  readonly idleBootId?: string;
  /** The taints without room for pods that were there before the work, its hold's among them; missing: more than are kept. */
  readonly taintsBefore?: readonly string[];
  /** Name of the pod of this attempt: stored before the pod is made. With an outcome: until no container of the work can run any more. */
  readonly pod?: string;
  /** The pod of this attempt has been seen: it is not made again when it is gone. */
  readonly podUid?: string;
  /** The last attempt of which a container has run: before the first one nothing on the node is changed. */
  readonly ranAttempt?: number;
  /** When the work began, of the last attempt; when the node went down for its reboot, where it did; and when its work had ended. */
  readonly workStartedAt?: Temporal.Instant;
  readonly rebootStartedAt?: Temporal.Instant;
  readonly workEndedAt?: Temporal.Instant;
  /** Since when everything has been well without a break. */
  readonly soakSince?: Temporal.Instant;
  /** Who has watched that, and which start of the node it was: with another one the quiet time begins anew. */
  readonly soakMark?: string;
  /** When it was not well for the first time in its quiet time. */
  readonly soakBrokenAt?: Temporal.Instant;
  /** It has been proven to have booted. */
  readonly rebooted?: true;
  readonly outcome?: Outcome;
};

/** Whether its work may be under way, or has an end that is not noted yet: a pod of it that is to go may be there until its name is dropped. */
export const isAtWork = ({ state, outcome, pod }: Pick<InFlight, 'state' | 'outcome' | 'pod'>): boolean =>
  outcome === undefined ? state === 'Working' || state === 'Rebooting' : pod !== undefined;

/** Taints of one node that are kept. */
export const maxTaints = 16;

/** Entries of status.inFlight, and of status.hooks: the status stays far below what the API server stores (1.5 MiB with all that etcd counts). */
export const maxSlots = 500;
export const maxHookRuns = 600;

/** Bytes of the message of one entry, and of one verdict. */
export const maxEntryMessageLength = 256;
export const maxVerdictMessageLength = 1024;

/** Characters of a provider ID that is kept of a node in flight: whoever registers a node may write what it likes. */
export const maxProviderIdLength = 128;

/** Characters of a status from which on no more nodes begin: those in flight still get their outcomes, and their hooks. */
export const maxStatusLength = 300_000;

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
  readonly verdict: Verdict;
  readonly step: NodeState;
  readonly message: string;
  readonly startedAt: Temporal.Instant;
  readonly completedAt: Temporal.Instant;
  readonly attempts: number;
  readonly rebooted: boolean;
  readonly held: boolean;
  /** How often this node has been given back in this run because its drain was stuck, since its last failure that was set aside. */
  readonly requeues: number;
  /** How long the work took, and the reboot after it, where it came to an end: rehearsals learn from it. */
  readonly workSeconds?: number;
  readonly rebootSeconds?: number;
};
