import type { EventKind } from '@drydock/core';
import type { BlockerSummary } from '@drydock/core/drain';
import type { EventState, MachinePhase, MachineStrategy } from '@drydock/core/machine';
import type { StoredVm } from '@drydock/core/maintenance';
import type { NodeState, PlanPhase } from '@drydock/core/plan';

/** Nodes, the maintenances that hold them, their pods, and the workloads and budgets of these. */

/** A maintenance of a node. */
export type HoldView = {
  /** Name of the CRD, `plural.group`: with `name`, it identifies the maintenance to release. */
  readonly store: string;
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
  /** Phase in the kind's own spelling. */
  readonly phase: string;
  readonly level: string;
  readonly reason?: string;
  readonly requester?: string;
  /** MaintenancePlan that the maintenance belongs to. */
  readonly plan?: string;
  /** RFC 3339: time of creation. */
  readonly since: string;
  readonly toEvict: number;
  readonly gone: number;
  readonly message: string;
  /** Expected time of completion; missing when it cannot be estimated. */
  readonly ends?: string;
  readonly draining: boolean;
  readonly drained: boolean;
  readonly failed: boolean;
  readonly deleting: boolean;
  readonly blockers: readonly BlockerView[];
  /** VMs that leave, or have left; missing where there are none. */
  readonly vms?: { readonly summary: string; readonly items: readonly StoredVm[] };
};

/** A blocker; `stuck`: only a change by a user (or another controller) ends it. */
export type BlockerView = BlockerSummary & { readonly stuck: boolean };

export type NodeSummary = {
  /** Name of the node. */
  readonly key: string;
  readonly zone: string;
  /** Pool as the platform names it; the node's roles where no pool is named. */
  readonly pool: string;
  /** MaintenancePlan that selects the node and is not over; of several, the first by name. */
  readonly plan?: string;
  readonly roles: readonly string[];
  readonly ready: 'yes' | 'no' | 'unknown';
  readonly cordoned: boolean;
  /** Taints as `key:effect`, without that of every cordon. */
  readonly taints: readonly string[];
  /** Maintenances, oldest first. */
  readonly holds: readonly HoldView[];
  /** Machine in the cloud's naming; missing where the node names none. */
  readonly instance?: string;
  /** Whether the node does not exist, although a maintenance names it. */
  readonly missing?: true;
  /** Whether the node is gone because its machine was deleted, and the replacement is awaited. */
  readonly replaced?: true;
};

/** Phase of a pod. `starting`: scheduled and not ready. `leaving`: deleted and terminating. */
export type PodPhase = 'pending' | 'starting' | 'running' | 'leaving' | 'done';

export type PodView = {
  /** Key: `namespace/name`. */
  readonly key: string;
  readonly uid: string;
  /** Name of the node; empty while the pod is unscheduled. */
  readonly node: string;
  /**
   * Kind of the owner: `Deployment`, `StatefulSet`… `Pod` for one that no controller would
   * recreate.
   */
  readonly kind: string;
  /** Owner: `namespace/name`. */
  readonly workload: string;
  readonly phase: PodPhase;
  /** Whether the pod stays when its node is drained: of a DaemonSet, or a static pod. */
  readonly stays: boolean;
  readonly localData: boolean;
};

/** Numbers of a node's pods in each phase; phases without pods are left out. */
export type PodCountsView = { readonly key: string } & { readonly [Phase in PodPhase]?: number };

/** A workload that has had fewer ready pods than replicas since the server started watching. */
export type WorkloadView = {
  /** Key: `namespace/name`. */
  readonly key: string;
  readonly kind: string;
  /** Current number of ready pods. */
  readonly ready: number;
  readonly replicas: number;
  readonly lowest: { readonly ready: number; readonly replicas: number; readonly at: string };
};

export type BudgetView = {
  /** Key: `namespace/name`. */
  readonly key: string;
  readonly allowed: number;
  readonly healthy: number;
  readonly desired: number;
  /** Number of covered pods. */
  readonly pods: number;
  /** Reason why the budget allows no eviction, and a remedy; missing when it is healthy. */
  readonly trouble?: { readonly message: string; readonly remedy?: string };
};

/** Pods of one node, requested when a user opens it where pods are counted. */
export type NodePods = { readonly pods: readonly PodView[] };

/** Preview of a node's drain. */
export type DrainPreview = {
  /** Number of pods that would have to leave; `stay` is that of the others. */
  readonly leave: number;
  readonly stay: number;
  readonly blockers: readonly BlockerView[];
};

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

/** Machines, the events that are announced about them, and the windows in which Drydock may act. */

/** An event that is announced about a machine. */
export type AnnouncedView = {
  /** Provider that announced the event. */
  readonly provider: string;
  readonly kind: EventKind;
  readonly state: EventState;
  readonly description?: string;
  /** RFC 3339: deadline by which the machine has to be empty, or start of the event. */
  readonly at?: string;
};

/** A MachineMaintenance: the events of a machine, and Drydock's response. */
export type MachineView = {
  /** Key: `namespace/name`. */
  readonly key: string;
  /** Name of the machine; the node's name where it has no Machine. */
  readonly machine: string;
  /** Name of the node; missing while unknown. The node may be gone already. */
  readonly node?: string;
  readonly phase: MachinePhase;
  /** Whether the maintenance is over: Drydock does nothing any more. */
  readonly over: boolean;
  readonly deleting: boolean;
  /** Condition that it waits for, as a word and in a sentence. */
  readonly waitingFor?: string;
  readonly message: string;
  readonly strategy?: MachineStrategy;
  /** RFC 3339: time of creation, of the start, and the deadline for the machine to be empty. */
  readonly since: string;
  readonly begins?: string;
  readonly deadline?: string;
  /** Announced events, the most urgent first. */
  readonly announced: readonly AnnouncedView[];
};

/** A MaintenanceWindow, with the state that the operator last reported. */
export type WindowView = {
  /** Name of the window. */
  readonly key: string;
  /** Whether it is open; missing when not reported. */
  readonly open?: boolean;
  /** RFC 3339: time of the next opening or closing. */
  readonly until?: string;
  /** Error in the window. */
  readonly problem?: string;
};

/** Requests of the dashboard to its server. */

/** Order to put a node into maintenance. */
export type MaintainOrder = {
  readonly node: string;
  readonly reason: string;
  readonly force: boolean;
  readonly deleteEmptyDirData: boolean;
};

/** Order to release a node: one maintenance, as its view identifies it. */
export type ReleaseOrder = Pick<HoldView, 'store' | 'namespace' | 'name'>;

/** Order for a demonstration's cloud to announce an event for the host of a node. */
export type HostOrder = { readonly node: string; readonly what: 'retirement' | 'reboot' };

/** Order to approve a machine maintenance, by the key of its view. */
export type ApprovalOrder = { readonly key: string };

/** Order to pause or resume a plan: exactly the one in the view, and no other with its name. */
export type PlanOrder = {
  readonly plan: string;
  readonly uid: string;
  readonly what: 'pause' | 'resume';
};

/** Order to approve the step that a plan waits for. */
export type PlanApprovalOrder = Omit<PlanOrder, 'what'> & PlanApprovalView;
