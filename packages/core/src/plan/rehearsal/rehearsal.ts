import type { PodTask } from '../pods/hook.ts';

/** Rehearsals of a plan: a pod plays the plan on a copy of the cluster and reports how it ends. */

/** Forecasts that keep a run from its first node. */
export const rehearsalRefusals = ['MissesDeadline', 'BlockedNodes', 'Unfinished'] as const;
export type RehearsalRefusal = (typeof rehearsalRefusals)[number];

export type Rehearse = {
  /** True if no node begins before the plan has been rehearsed in its current form. */
  readonly required: boolean;
  /** Seconds between two rehearsals while the plan runs; missing: it is not repeated. */
  readonly everySeconds?: number;
  readonly refuse: readonly RehearsalRefusal[];
  readonly timeoutSeconds: number;
  /** Image of Drydock; the operator's own if left out. */
  readonly image?: string;
  /** Seconds that the work and a reboot take, if known. */
  readonly workSeconds?: number;
  readonly rebootSeconds?: number;
  /** Hash of the parts that change how the plan goes. */
  readonly specHash: string;
};

/**
 * Subject of a forecast: the forecast does not apply to another run, or to the plan after an edit.
 */
export type RehearsalSubject = { readonly runId: string; readonly specHash: string };

export const rehearsalStates = ['Running', 'Succeeded', 'Failed'] as const;

/** A rehearsal as it is stored: status.rehearsal. */
export type RehearsalTask = PodTask &
  RehearsalSubject & { readonly state: (typeof rehearsalStates)[number]; readonly attempt: number };

/** Forecast of the latest rehearsal: the contents of `drydock plan rehearse --summary-file`. */
export type RehearsalSummary = {
  /** Time at which the copy of the cluster was taken. */
  readonly snapshotTime: Temporal.Instant;
  /** True if every due node is done in the end, in every simulated run. */
  readonly finishes: boolean;
  /** Times by which half of the runs are over, and nine in ten; missing if none is. */
  readonly end?: Temporal.Instant;
  readonly latestEnd?: Temporal.Instant;
  /** Number of nodes that it begins with. */
  readonly nodes: number;
  /** Number of openings of the windows in which it begins with them. */
  readonly windows: number;
  readonly podsMoved: number;
  /** Number of these pods that are moved once more. */
  readonly podsMovedAgain: number;
  /** Nodes that it is not done with, and why; the first of `blockedNodes`. */
  readonly blocked: readonly { readonly node: string; readonly message: string }[];
  readonly blockedNodes: number;
  /** Workloads with the fewest ready pods. */
  readonly lowest: readonly {
    readonly workload: string;
    readonly ready: number;
    readonly replicas: number;
  }[];
  /** Names of the nodes to begin with, for `order.by: Cost`. */
  readonly firstNodes: readonly string[];
};

/** Forecast as it is stored: status.forecast. */
export type RehearsedForecast = RehearsalSummary &
  RehearsalSubject & {
    /** Time of the rehearsal by the operator's clock. */
    readonly rehearsedAt: Temporal.Instant;
    /** End according to the first rehearsal of the run. */
    readonly firstEnd?: Temporal.Instant;
  };
