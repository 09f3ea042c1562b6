import type { BlockerSummary } from '../../core/drain/blocker-groups.ts';
import type { EventKind, EventState } from '../../core/machine/event.ts';
import type { MachinePhase, MachineStrategy } from '../../core/machine/request.ts';
import type { StoredVm } from '../../core/maintenance/vms-now.ts';
import type { NodeState } from '../../core/plan/in-flight.ts';
import type { PlanPhase } from '../../core/plan/plan.ts';

/** What the dashboard shows, as plain data: shared by the server that keeps it and the dashboard that draws it. */

/** Who may do what: `link`, whoever has the printed link acts; `read-only`, nobody does. */
export type AccessKind = 'link' | 'read-only';

/** A maintenance that a node is under. */
export type HoldView = {
  /** `plural.group`, the name of its CRD: with `name`, what it is released by. */
  readonly store: string;
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
  /** As the kind spells it. */
  readonly phase: string;
  readonly stage: string;
  readonly reason?: string;
  readonly requester?: string;
  /** The MaintenancePlan that it is part of. */
  readonly plan?: string;
  /** RFC 3339, when it was made. */
  readonly since: string;
  readonly toEvict: number;
  readonly gone: number;
  readonly message: string;
  /** When the drain is expected to be complete; missing when that cannot be told. */
  readonly ends?: string;
  readonly draining: boolean;
  readonly drained: boolean;
  readonly failed: boolean;
  readonly deleting: boolean;
  readonly blockers: readonly BlockerView[];
  /** VMs that leave, or have left; missing where there are none. */
  readonly vms?: { readonly summary: string; readonly items: readonly StoredVm[] };
};

/** `stuck`: nothing but a change by a person (or another controller) will end it. */
export type BlockerView = BlockerSummary & { readonly stuck: boolean };

export type NodeSummary = {
  /** Its name. */
  readonly key: string;
  readonly zone: string;
  /** As its platform calls it; its roles where no pool is named. */
  readonly pool: string;
  /** The MaintenancePlan that selects it and is not over; of several, the first by name. */
  readonly plan?: string;
  readonly roles: readonly string[];
  readonly ready: 'yes' | 'no' | 'unknown';
  readonly cordoned: boolean;
  /** `key:effect`, without the one of every cordon. */
  readonly taints: readonly string[];
  /** Oldest first. */
  readonly holds: readonly HoldView[];
  /** Its machine, as the cloud calls it; missing where the node names none. */
  readonly instance?: string;
  /** There is no such node: a maintenance asks for it all the same. */
  readonly missing?: true;
  /** There is no such node any more: its machine has gone, and what replaces it is waited for. */
  readonly replaced?: true;
};

/** `starting`: it has a node and is not ready. `leaving`: somebody has deleted it and it is on its way out. */
export type PodPhase = 'pending' | 'starting' | 'running' | 'leaving' | 'done';

export type PodView = {
  /** `namespace/name`. */
  readonly key: string;
  readonly uid: string;
  /** Empty while it waits for one. */
  readonly node: string;
  /** `Deployment`, `StatefulSet`… `Pod` for one that nobody would bring back. */
  readonly kind: string;
  /** `namespace/name` of what it belongs to. */
  readonly workload: string;
  readonly phase: PodPhase;
  /** Stays where it is when its node is drained: of a DaemonSet, or a static pod. */
  readonly stays: boolean;
  readonly localData: boolean;
};

/** How many pods a node has in each phase; those that it has none in are left out. */
export type PodCountsView = { readonly key: string } & { readonly [Phase in PodPhase]?: number };

/** A workload that has had fewer ready pods than replicas since the server began to look. */
export type WorkloadView = {
  /** `namespace/name`. */
  readonly key: string;
  readonly kind: string;
  /** As it is now. */
  readonly ready: number;
  readonly replicas: number;
  readonly lowest: { readonly ready: number; readonly replicas: number; readonly at: string };
};

export type BudgetView = {
  /** `namespace/name`. */
  readonly key: string;
  readonly allowed: number;
  readonly healthy: number;
  readonly desired: number;
  /** Pods that it covers. */
  readonly pods: number;
  /** Why it gives nothing, and what would help; missing when nothing is the matter. */
  readonly trouble?: { readonly message: string; readonly remedy?: string };
};

/** Something that is announced about a machine. */
export type AnnouncedView = {
  /** Whose word it is. */
  readonly provider: string;
  readonly kind: EventKind;
  readonly state: EventState;
  readonly description?: string;
  /** RFC 3339: by then the machine has to be empty, or from then on it may happen. */
  readonly at?: string;
};

/** A MachineMaintenance: what is announced about a machine, and what is done about it. */
export type MachineView = {
  /** `namespace/name`. */
  readonly key: string;
  /** Its machine; the node's name where it has no Machine. */
  readonly machine: string;
  /** Missing as long as nobody knows it. It may be gone already. */
  readonly node?: string;
  readonly phase: MachinePhase;
  /** It is over: nothing is done any more. */
  readonly over: boolean;
  readonly deleting: boolean;
  /** What it waits for, as a word and in a sentence. */
  readonly waitingFor?: string;
  readonly message: string;
  readonly strategy?: MachineStrategy;
  /** RFC 3339, when it was made, when it will begin, and by when the machine has to be empty. */
  readonly since: string;
  readonly begins?: string;
  readonly deadline?: string;
  /** The most urgent first. */
  readonly announced: readonly AnnouncedView[];
};

/** A MaintenanceWindow, as the operator has last said of it. */
export type WindowView = {
  /** Its name. */
  readonly key: string;
  /** Missing when nobody has said it. */
  readonly open?: boolean;
  /** RFC 3339: when it opens next, or closes. */
  readonly until?: string;
  /** What is wrong with it. */
  readonly problem?: string;
};

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
export type PlanApprovalView = { readonly run: string; readonly revision: string; readonly stage?: string };

/** How many nodes of a plan are how far, as its status counts them. */
export type PlanCountsView = Readonly<Record<'due' | 'blocked' | 'inFlight' | 'done' | 'failed' | 'skipped', number>>;

/** A MaintenancePlan: as its operator has last said of it. */
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

/** One line of the time line: a Kubernetes Event. */
export type MomentView = {
  readonly key: string;
  readonly at: string;
  readonly warning: boolean;
  readonly reason: string;
  readonly message: string;
  /** `Node worker-1`. */
  readonly about: string;
  readonly count: number;
};

/** What there is to know about the dashboard itself. */
export type DashboardInfo = {
  readonly access: AccessKind;
  /** Which cluster this is, for people. */
  readonly cluster: string;
  /** The kind that this page makes; missing when the cluster serves none of them. */
  readonly makes?: 'Maintenance' | 'NodeMaintenance';
  /** The machines are a simulation: the dashboard may have its cloud announce something. */
  readonly simulated?: true;
  /** The cluster is too large for its pods to be told one by one: nodes have counts of them. */
  readonly counted?: true;
  /** Collections that have not been read yet. */
  readonly loading: readonly string[];
  /** Collections that cannot be read: the dashboard goes without them. */
  readonly unreadable: readonly { readonly what: string; readonly message: string }[];
};

/** Everything that is shown. */
export type Scene = {
  readonly facts: DashboardInfo;
  readonly nodes: readonly NodeSummary[];
  /** Empty where pods are counted. */
  readonly pods: readonly PodView[];
  /** By node, of the empty name those that wait for one; empty where pods are told one by one. */
  readonly counts: readonly PodCountsView[];
  /** The worst of all workloads. */
  readonly lows: readonly WorkloadView[];
  readonly budgets: readonly BudgetView[];
  readonly machines: readonly MachineView[];
  readonly windows: readonly WindowView[];
  readonly plans: readonly PlanSummary[];
  readonly moments: readonly MomentView[];
};

/** Keys of what is not there any more. */
type Gone = { readonly [What in Exclude<keyof Scene, 'facts'>]?: readonly string[] };

/** What has changed from one revision to the next: whole views by key, and the keys that are gone. Applying one twice changes nothing. */
export type Delta = Partial<Scene> & { readonly gone?: Gone };

/** The pods of one node, asked for by whoever looks at it where pods are counted. */
export type NodePods = { readonly pods: readonly PodView[] };

/** What a drain of a node would be. */
export type DrainPreview = {
  /** Pods that would have to leave, and pods that would stay. */
  readonly leave: number;
  readonly stay: number;
  readonly blockers: readonly BlockerView[];
};

/** What the dashboard asks for when it puts a node into maintenance. */
export type MaintainOrder = {
  readonly node: string;
  readonly reason: string;
  readonly force: boolean;
  readonly deleteEmptyDirData: boolean;
};

/** What it asks for when it gives a node back: one maintenance, as its view names it. */
export type ReleaseOrder = Pick<HoldView, 'store' | 'namespace' | 'name'>;

/** What the dashboard of a demonstration has the simulated cloud announce about the host of a node. */
export type HostOrder = { readonly node: string; readonly what: 'retirement' | 'reboot' };

/** What it asks for when somebody agrees to a machine maintenance: which one, by the key of its view. */
export type ApprovalOrder = { readonly key: string };

/** What it asks for when a plan is to start no more nodes, or to go on: the plan that its view shows, and no other of its name. */
export type PlanOrder = { readonly plan: string; readonly uid: string; readonly what: 'pause' | 'resume' };

/** What it asks for when somebody agrees to what a plan waits for: exactly that. */
export type PlanApprovalOrder = Omit<PlanOrder, 'what'> & PlanApprovalView;
