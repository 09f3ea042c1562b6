import type { JsonObject } from '@drydock/apimachinery';
import type { MachineRequest } from '../machine/request.ts';
import type { Node } from '../node/node.ts';
import type { Member } from '../quorum/quorum.ts';
import type { MaintenanceRequest } from '../request/request.ts';
import type { MaintenanceWindow } from '../window/spans.ts';
import type { Write } from '../write.ts';
import type { GateHalt, GateState, GateValue } from './gates/gate.ts';
import type { InFlight, NodeVerdict, Preparing } from './in-flight.ts';
import type { Plan, PlanPhase, StageSoak } from './plan.ts';
import type { HookRun } from './pods/hook.ts';
import type { RehearsalTask, RehearsedForecast } from './rehearsal/rehearsal.ts';
import type { NodeUnavailability } from './unavailability.ts';

/** Result of an expression on a node: it may fail, for example because a field is missing. */
export type CelResult = boolean | { readonly error: string };

/** The Machine of a node. */
export type MachineRef = {
  readonly apiVersion: string;
  readonly namespace: string;
  readonly name: string;
  /** Name in the cloud; the name of the Machine if it has none. */
  readonly instance: string;
};

/** A node that the plan selects, or works on. */
export type PlanNode = {
  readonly node: Node;
  readonly createdAt: Temporal.Instant;
  readonly selected: boolean;
  /** Result of spec.due.expression; true without one. */
  readonly due: CelResult;
  /** Result of spec.done.expression; without one, whether the node is not due any more. */
  readonly done: CelResult;
  /** Result of spec.work.external.finished.expression. */
  readonly finished: CelResult;
  /** Result of spec.order.expression: a lower one comes first. */
  readonly rank: number;
  /**
   * Machine by its identity (`machine/identity.ts`). Missing: none is proven to be the node's, or
   * the plan does not need it.
   */
  readonly machine?: MachineRef;
  /** Reason why there is none, if the plan needs one. */
  readonly noMachine?: string;
};

/** The pod that works on a node. */
export type WorkPod = {
  readonly key: string;
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly nodeName: string;
  /** Name of the plan according to the pod. */
  readonly plan: string;
  /** uid of the MaintenancePlan that owns it. Missing: none does. */
  readonly ownerUid?: string;
  /** True for a mirror of a static pod: a kubelet created it, whatever its fields contain. */
  readonly isMirror: boolean;
  readonly deleting: boolean;
  readonly phase: 'Pending' | 'Running' | 'Succeeded' | 'Failed' | 'Unknown';
  /** True if one of its containers runs, or has run: only that changes a node. */
  readonly ran: boolean;
  /** Time at which the first of them started, by the clock of its node. Missing: unknown. */
  readonly ranAt?: Temporal.Instant;
  /** True if its kubelet has ended it because its time was over. */
  readonly exceeded?: true;
  /**
   * True if it has failed because it was ended from outside, for example by a node that shuts down:
   * the failure is not the work's.
   */
  readonly killed: boolean;
  /** Exit code of the first container that has failed. */
  readonly exitCode?: number;
  /**
   * Reason of its failure: reason, exit code and the end of its log. For a pod that has not ended:
   * what its containers wait for, and which of them keep running.
   */
  readonly message: string;
  /** Termination message, if it has succeeded. */
  readonly output?: string;
};

/** A slice of the records of a run. */
export type RecordSlice = {
  readonly key: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly planUid: string;
  readonly run: string;
  readonly revision: string;
  readonly slice: number;
  readonly verdicts: readonly NodeVerdict[];
};

/** An approval. */
export type Approval = {
  readonly key: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly createdAt: Temporal.Instant;
  readonly plan: string;
  readonly run: string;
  readonly revision: string;
  /**
   * Hash of the spec as the approver saw it. Missing: as it was when the operator first observed
   * the approval.
   */
  readonly specHash?: string;
  /** Stage after which the plan may go on; missing for the beginning of the run. */
  readonly stage?: string;
  /**
   * Scope of a promotion. Stage: the quiet time after the stage is over too. Full: the same for the
   * run and all its stages.
   */
  readonly promote?: 'Stage' | 'Full';
};

/** Another active plan, as far as it may interfere. */
export type OtherPlan = {
  readonly name: string;
  readonly selected: ReadonlySet<string>;
  /** Limit for its selected nodes, resolved; missing: no limit. */
  readonly maxUnavailable?: number;
  readonly inFlight: readonly InFlight[];
};

/** Everything known about one plan at one moment. */
export type PlanSnapshot = {
  readonly plan: Plan;
  /** Selected nodes, nodes in flight and nodes that Maintenances of this plan name, by name. */
  readonly nodes: ReadonlyMap<string, PlanNode>;
  /** Reasons that take nodes out of service now, for all nodes of the cluster, by name. */
  readonly outages: ReadonlyMap<string, readonly NodeUnavailability[]>;
  /** Maintenances of this plan, and others with a name that it needs, by their name. */
  readonly children: ReadonlyMap<string, MaintenanceRequest>;
  /**
   * Names of these Maintenances whose drain policy differs from the plan's, because a user has
   * changed it.
   */
  readonly changedChildren: ReadonlySet<string>;
  /**
   * MachineMaintenances in the operator's namespace, by their name; none if the work is not a
   * replacement.
   */
  readonly replacements: ReadonlyMap<string, MachineRequest>;
  /** Pods in the namespace of the work, by their name. */
  readonly pods: ReadonlyMap<string, WorkPod>;
  /** Records of this run. */
  readonly slices: readonly RecordSlice[];
  /** Records of runs that are too old to be needed. */
  readonly outdated: readonly RecordSlice[];
  /** uids of nodes on which the work of earlier runs has failed, and that no run has done since. */
  readonly unfinished: ReadonlySet<string>;
  /**
   * Other plan by uid of nodes that this run was done with and that are not done any more, if that
   * plan was done with them since.
   */
  readonly doneSince: ReadonlyMap<string, string>;
  /** Values of the gates, by name. */
  readonly gates: ReadonlyMap<string, GateValue>;
  readonly approvals: readonly Approval[];
  readonly others: readonly OtherPlan[];
  /** Members of the quorum of the control plane. */
  readonly members: readonly Member[];
  readonly windows: readonly MaintenanceWindow[];
  /**
   * Reason why it is not known whether there is another window that is older than the plan. Missing
   * if all windows are known.
   */
  readonly windowsProblem?: string | undefined;
  /** Name of the node that this process runs on: it comes last in its stage. */
  readonly ownNode?: string;
  /** Reason for which all plans were halted. */
  readonly halted?: string;
  /**
   * Time since when this process has watched the nodes, by its own clock: nothing is proven about
   * earlier times. Missing: always.
   */
  readonly watchedSince?: Temporal.Instant | undefined;
  readonly settings: PlanSettings;
  /** Last refusals of the API server, by what the write is about (`Write.of`): for people alone. */
  readonly refusals: ReadonlyMap<string, string>;
  /** Things whose writes have no response yet: nothing is decided about these nodes. */
  readonly unanswered: ReadonlySet<string>;
  /**
   * Mark of the time that one process has watched without a break: another mark means that there
   * was an unwatched time.
   */
  readonly watch: string;
  /**
   * Random letters, different in each snapshot: names of pods contain them, so that no other client
   * can create such a pod first.
   */
  readonly nonce: string;
};

export type PlanSettings = {
  /** Namespace of the pods that work on nodes. */
  readonly workNamespace: string;
  /** Image of the operator, for its own work on nodes; missing if it does not run in a pod. */
  readonly image?: string;
  /**
   * Fields of a PodSpec that determine the nodes of the operator's own pods. Missing if it does not
   * run in a pod.
   */
  readonly placement?: JsonObject;
  /**
   * Names of the Secrets that the operator's own image is pulled with; the namespace of the pods
   * needs Secrets of these names.
   */
  readonly pullSecrets?: readonly string[];
  /** Namespace of the MachineMaintenances that replace nodes. */
  readonly machineNamespace: string;
};

/** An obstacle that keeps the plan, or one of its nodes, from going on. */
export type WaitReason = {
  /** Reason as a word, for example MaxUnavailable. */
  readonly reason: string;
  /** Description of the obstacle, in a sentence. */
  readonly message: string;
  /** Node that it is about, if any. */
  readonly node?: string;
  /** Earliest time at which it ends on its own. */
  readonly until?: Temporal.Instant;
};

/** Observation of the soak time of a stage at this moment. */
export type SoakWatch = {
  /** State to store. */
  readonly soak: StageSoak;
  /**
   * Obstacle that the plan waits for; missing: the soak time is over, and all nodes are healthy.
   */
  readonly waiting?: WaitReason;
  /** Verdict of a node that was done, and has failed now. */
  readonly failed?: NodeVerdict;
};

/** State of a plan, and what is to be done for the next step. */
export type PlanDecision = {
  readonly phase: PlanPhase;
  readonly message: string;
  /** True if it does not go on without help. */
  readonly warning?: true;
  readonly stage?: string;
  /** Run; missing: as it is stored. */
  readonly run?: Plan['run'];
  readonly inFlight: readonly InFlight[];
  readonly preparing: readonly Preparing[];
  readonly passedOver: Plan['passedOver'];
  readonly waiting: readonly WaitReason[];
  /** Names of the nodes that come next, in their order; not all of them. */
  readonly upNext: readonly string[];
  readonly counts: PlanCounts;
  /**
   * Text about other plans that were done with nodes that are due again. Missing: there are none.
   */
  readonly contested?: string;
  readonly forecast: Forecast;
  readonly stages: readonly StageCount[];
  readonly failures: readonly NodeVerdict[];
  readonly hooks: readonly HookRun[];
  readonly gates: readonly GateState[];
  readonly gateHalt?: GateHalt;
  readonly rehearsal?: RehearsalTask | undefined;
  readonly rehearsed?: RehearsedForecast | undefined;
  /** Writes to send after the status has been stored, one after the other. */
  readonly writes: readonly Write[];
  /** Write of the plan itself: its status is written in the next pass. */
  readonly own?: Write;
  /** Time of the next look, even if nothing changes before. */
  readonly requeueAt?: Temporal.Instant;
};

/** Forecast of the end of a plan, from what it has measured so far. */
export type Forecast = {
  /** End; missing: nothing is left to do, or it takes more than 400 days. */
  readonly end?: Temporal.Instant;
  /** Comparison with the deadline; missing: the plan has no deadline. */
  readonly deadline?: { readonly isMet: boolean; readonly message: string };
};

/** Resolved limits, and numbers of nodes by state. */
export type PlanCounts = {
  readonly selected: number;
  readonly due: number;
  /** Number of nodes that were done in this run, and are due again: the next run takes them. */
  readonly dueAgain: number;
  readonly blocked: number;
  readonly done: number;
  readonly failed: number;
  readonly skipped: number;
  readonly maxInFlight: number;
  readonly maxUnavailable?: number;
  readonly unavailable: number;
};

export type StageCount = {
  readonly name: string;
  readonly selected: number;
  readonly done: number;
  readonly phase: 'Pending' | 'Running' | 'Soaking' | 'AwaitingApproval' | 'Complete';
};
