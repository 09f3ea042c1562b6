import type { NodeState } from '../../../core/plan/in-flight.ts';
import type { PlanPhase } from '../../../core/plan/plan.ts';

/** Plans: how far they are, what they wait for, and what is forecast. */

/** What keeps a plan, or one of its nodes, from going on. */
export type PlanWaitView = {
  /** For example `MaxUnavailable`. */
  readonly word: string;
  /** Who or what, in a sentence. */
  readonly who: string;
  /** The node that it is about; missing where it is about the plan. */
  readonly node?: string;
  /** RFC 3339. It may end then by itself. */
  readonly ends?: string;
};

/** A node that a plan has in flight. */
export type PlanNodeView = {
  readonly node: string;
  readonly stage: string;
  readonly state: NodeState;
  /** RFC 3339, when it came to this state. */
  readonly since: string;
  readonly wait?: PlanWaitView;
};

export type PlanStageView = { readonly name: string; readonly phase: string; readonly selected: number; readonly done: number };

export type PlanFailureView = {
  readonly node: string;
  readonly stage: string;
  readonly step: string;
  readonly message: string;
  /** RFC 3339; empty where nobody knows it. */
  readonly at: string;
  /** The node stays held. */
  readonly held: boolean;
};

/** What a plan asks somebody to agree to: the run, or what follows a stage of it. */
export type PlanApprovalView = { readonly run: string; readonly revision: string; readonly specHash: string; readonly stage?: string };

/** How many nodes of a plan are how far, as its status counts them. */
export type PlanCountsView = Readonly<Record<'due' | 'blocked' | 'inFlight' | 'done' | 'failed' | 'skipped', number>>;

/** How many nodes of a run were done from then on. */
export type PlanPointView = { readonly at: string; readonly done: number };

/** What the latest rehearsal of a plan has foretold. */
export type PlanForecastView = {
  readonly rehearsedAt: string;
  /** Every node that is due is done in the end. */
  readonly finishes: boolean;
  /** Half of the rehearsed runs are over by then, and nine in ten. */
  readonly end?: string;
  readonly latestEnd?: string;
  /** What the first rehearsal of the run said of the end. */
  readonly firstEnd?: string;
  readonly windows: number;
  readonly podsMoved: number;
  readonly podsMovedAgain: number;
  /** Nodes that get stuck, and why; the first of `blockedNodes`. */
  readonly blocked: readonly { readonly node: string; readonly message: string }[];
  readonly blockedNodes: number;
  /** Workloads with the fewest ready pods, the worst first. */
  readonly lowest: readonly { readonly workload: string; readonly ready: number; readonly replicas: number }[];
};

/** A MaintenancePlan: as its operator has last said of it. */
export type PlanSummary = {
  /** Its name. */
  readonly key: string;
  readonly uid: string;
  readonly phase: PlanPhase;
  readonly message: string;
  /** As the spec has it: the operator may not have seen it yet. */
  readonly paused: boolean;
  readonly aborted: boolean;
  readonly deleting: boolean;
  /** Missing as long as no operator has looked at it. */
  readonly counts?: PlanCountsView;
  /** How many nodes may be in flight at once. */
  readonly atOnce?: number;
  readonly stages: readonly PlanStageView[];
  /** The first of them; `counts` has all. */
  readonly inFlight: readonly PlanNodeView[];
  /** What no node in flight waits for. */
  readonly waiting: readonly PlanWaitView[];
  /** The latest, newest first. */
  readonly failures: readonly PlanFailureView[];
  readonly approval?: PlanApprovalView;
  /** When its run began. */
  readonly startedAt?: string;
  /** When it should be over. */
  readonly deadline?: string;
  /** How far the run was, and when, since the server has been looking; the oldest first. */
  readonly history: readonly PlanPointView[];
  readonly forecast?: PlanForecastView;
};
