import type { PodTask } from '../pods/hook.ts';

/** Rehearsals of a plan: a pod plays the plan on a copy of the cluster and says how it ends. */

/** What of a forecast keeps a run from its first node. */
export const rehearsalRefusals = ['MissesDeadline', 'BlockedNodes', 'Unfinished'] as const;
export type RehearsalRefusal = (typeof rehearsalRefusals)[number];

export type Rehearse = {
  /** No node begins before the plan, as it is now, has been rehearsed. */
  readonly required: boolean;
  /** How often it is repeated while the plan runs; missing: it is not. */
  readonly everySeconds?: number;
  readonly refuse: readonly RehearsalRefusal[];
  readonly timeoutSeconds: number;
  /** Of Drydock; the operator's own when left out. */
  readonly image?: string;
  /** How long the work and a reboot take, where somebody knows. */
  readonly workSeconds?: number;
  readonly rebootSeconds?: number;
  /** Hash of what changes how the plan goes. */
  readonly specHash: string;
};

/** What a forecast is about: it says nothing of another run, or of the plan after an edit. */
export type RehearsalSubject = { readonly runId: string; readonly specHash: string };

export const rehearsalStates = ['Running', 'Succeeded', 'Failed'] as const;

/** One rehearsal, as it is stored: status.rehearsal. */
export type RehearsalTask = PodTask & RehearsalSubject & { readonly state: (typeof rehearsalStates)[number]; readonly attempt: number };

/** How the plan goes on, as its latest rehearsal has it: what `drydock plan rehearse --summary-file` writes. */
export type RehearsalSummary = {
  /** When the copy of the cluster was taken. */
  readonly takenAt: Temporal.Instant;
  /** Every node that is due is done in the end, in every simulated run. */
  readonly finishes: boolean;
  /** Half of the runs are over by then, and nine in ten; missing where none is. */
  readonly end?: Temporal.Instant;
  readonly latestEnd?: Temporal.Instant;
  /** Nodes that it begins with. */
  readonly nodes: number;
  /** Openings of the windows in which it begins with them. */
  readonly windows: number;
  readonly podsMoved: number;
  /** Of these, those that are moved once more. */
  readonly podsMovedAgain: number;
  /** Nodes that it is not done with, and why; the first of `blockedNodes`. */
  readonly blocked: readonly { readonly node: string; readonly message: string }[];
  readonly blockedNodes: number;
  /** Workloads with the fewest ready pods. */
  readonly lowest: readonly { readonly workload: string; readonly ready: number; readonly replicas: number }[];
  /** With `order.by: Cost`: the nodes to begin with. */
  readonly firstNodes: readonly string[];
};

/** What is stored of it: status.forecast. */
export type RehearsedForecast = RehearsalSummary &
  RehearsalSubject & {
    /** By the operator's clock. */
    readonly rehearsedAt: Temporal.Instant;
    /** What the first rehearsal of the run had said. */
    readonly firstEnd?: Temporal.Instant;
  };
