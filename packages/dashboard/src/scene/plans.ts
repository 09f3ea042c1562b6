import type { NodeState, PlanPhase } from '@drydock/core/plan';

/** Plans: their progress, waits, and forecast. */

/** A condition that a plan, or one of its nodes, waits for. */
export type PlanWaitView = {
  /** Reason, for example `MaxUnavailable`. */
  readonly reason: string;
  /** Explanation in a sentence. */
  readonly message: string;
  /** Node that waits; missing when the whole plan does. */
  readonly node?: string;
  /** RFC 3339: time at which the wait may end without action. */
  readonly until?: string;
};

/** A node that a plan has in flight. */
export type PlanNodeView = {
  readonly node: string;
  readonly stage: string;
  readonly state: NodeState;
  /** RFC 3339: time at which the node entered this state. */
  readonly since: string;
  readonly wait?: PlanWaitView;
};

export type PlanStageView = {
  readonly name: string;
  readonly phase: string;
  readonly selected: number;
  readonly done: number;
};

export type PlanFailureView = {
  readonly node: string;
  readonly stage: string;
  readonly state: string;
  readonly message: string;
  /** RFC 3339: time of the failure; empty when unknown. */
  readonly at: string;
  /** Whether the node stays held. */
  readonly held: boolean;
};

/** Approval that a plan waits for: of the run, or of the step after a stage. */
export type PlanApprovalView = {
  readonly run: string;
  readonly revision: string;
  readonly specHash: string;
  readonly stage?: string;
};

/** Numbers of a plan's nodes by progress, from its status. */
export type PlanCountsView = Readonly<
  Record<'due' | 'blocked' | 'inFlight' | 'done' | 'failed' | 'skipped', number>
>;

/** Number of done nodes of a run, from this time on. */
export type PlanPointView = { readonly at: string; readonly done: number };

/** Forecast of a plan's latest rehearsal. */
export type PlanForecastView = {
  readonly rehearsedAt: string;
  /** Whether every due node is done in the end. */
  readonly finishes: boolean;
  /** Times by which half of the rehearsed runs, and nine in ten, have ended. */
  readonly end?: string;
  readonly latestEnd?: string;
  /** End by the first rehearsal of the run. */
  readonly firstEnd?: string;
  readonly windows: number;
  readonly podsMoved: number;
  readonly podsMovedAgain: number;
  /** Nodes that get stuck, and why; the first of `blockedNodes`. */
  readonly blocked: readonly { readonly node: string; readonly message: string }[];
  readonly blockedNodes: number;
  /** Workloads with the fewest ready pods, the worst first. */
  readonly lowest: readonly {
    readonly workload: string;
    readonly ready: number;
    readonly replicas: number;
  }[];
};

/** A MaintenancePlan, with the state that its operator last reported. */
export type PlanSummary = {
  /** Name of the plan. */
  readonly key: string;
  readonly uid: string;
  readonly phase: PlanPhase;
  readonly message: string;
  /** Whether the spec pauses it: the operator may not have seen that yet. */
  readonly paused: boolean;
  readonly aborted: boolean;
  readonly deleting: boolean;
  /** Counts; missing until an operator has reconciled the plan. */
  readonly counts?: PlanCountsView;
  /** Limit of nodes in flight. */
  readonly atOnce?: number;
  readonly stages: readonly PlanStageView[];
  /** First nodes in flight; `counts` includes all. */
  readonly inFlight: readonly PlanNodeView[];
  /** Waits of nodes that are not in flight, or of the plan. */
  readonly waiting: readonly PlanWaitView[];
  /** Latest failures, newest first. */
  readonly failures: readonly PlanFailureView[];
  readonly approval?: PlanApprovalView;
  /** Start of the run. */
  readonly startedAt?: string;
  /** Deadline of the run. */
  readonly deadline?: string;
  /** Progress of the run since the server started watching; the oldest first. */
  readonly history: readonly PlanPointView[];
  readonly forecast?: PlanForecastView;
};
