import type { JsonObject } from '../json.ts';
import type { MachineRequest } from '../machine/request.ts';
import type { Node } from '../node/node.ts';
import type { Member } from '../quorum/quorum.ts';
import type { MaintenanceRequest } from '../request/request.ts';
import type { MaintenanceWindow } from '../window/window.ts';
import type { Write } from '../write.ts';
import type { GateHalt, GateState, GateValue } from './gates/gate.ts';
import type { InFlight, NodeVerdict, Preparing } from './in-flight.ts';
import type { Plan, PlanPhase, StageSoak } from './plan.ts';
import type { HookRun } from './pods/hook.ts';
import type { RehearsalTask, RehearsedForecast } from './rehearsal/rehearsal.ts';
import type { NodeUnavailability } from './unavailability.ts';

/** What an expression says of a node: it may fail, for example where a field is missing. */
export type CelResult = boolean | { readonly error: string };

/** The Machine of a node. */
export type MachineRef = {
  readonly apiVersion: string;
  readonly namespace: string;
  readonly name: string;
  /** As the cloud calls it; the name of the Machine where it has no such name. */
  readonly instance: string;
};

/** One node that the plan selects, or works on. */
export type PlanNode = {
  readonly node: Node;
  readonly createdAt: Temporal.Instant;
  readonly selected: boolean;
  /** spec.due.expression; true where there is none. */
  readonly due: CelResult;
  /** spec.done.expression; where there is none, that it is not due any more. */
  readonly done: CelResult;
  /** spec.work.external.finished.expression. */
  readonly finished: CelResult;
  /** spec.order.expression: a lower one comes first. */
  readonly rank: number;
  /** By its identity (`machine/identity.ts`). Missing: none is proven to be the node's, or the plan does not ask. */
  readonly machine?: MachineRef;
  /** Why there is none, where the plan asks. */
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
  /** By its own word. */
  readonly plan: string;
  /** uid of the MaintenancePlan that owns it. Missing: none does. */
  readonly ownerUid?: string;
  /** It is the image of a static pod: a kubelet made it, whatever it says. */
  readonly isMirror: boolean;
  readonly deleting: boolean;
  readonly phase: 'Pending' | 'Running' | 'Succeeded' | 'Failed' | 'Unknown';
  /** One of its containers runs, or has run: only that changes a node. */
  readonly ran: boolean;
  /** When the first of them began, by the clock of its node. Missing: nothing says so. */
  readonly ranAt?: Temporal.Instant;
  /** Its kubelet has ended it because its time was over. */
  readonly exceeded?: true;
  /** It has failed because it was ended from outside, as by a node that shuts down: it says nothing of the work. */
  readonly killed: boolean;
  /** Of the first container that has failed. */
  readonly exitCode?: number;
  /** Why it has failed: reason, exit code and the end of its log. Of one that has not ended: what its containers wait for, and which of them run on. */
  readonly message: string;
  /** What it has said at its end, where it has ended well. */
  readonly output?: string;
};

/** A slice of what is recorded of a run. */
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

/** Somebody has agreed. */
export type Approval = {
  readonly key: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly createdAt: Temporal.Instant;
  readonly plan: string;
  readonly run: string;
  readonly revision: string;
  /** Hash of the spec as the approver was shown it. Missing: as it was when the operator first saw the approval. */
  readonly specHash?: string;
  /** The stage after which the plan may go on; missing for the beginning of the run. */
  readonly stage?: string;
  /** Stage: the quiet time after the stage is over too. Full: the same of the run and of all its stages. */
  readonly promote?: 'Stage' | 'Full';
};

/** Another plan that is under way, as far as it may be in the way. */
export type OtherPlan = {
  readonly name: string;
  readonly selected: ReadonlySet<string>;
  /** Of its selected nodes, resolved; missing: no limit. */
  readonly maxUnavailable?: number;
  readonly inFlight: readonly InFlight[];
};

/** Everything known about one plan at one moment. */
export type PlanSnapshot = {
  readonly plan: Plan;
  /** The selected nodes, those in flight and those that Maintenances of this plan name, by name. */
  readonly nodes: ReadonlyMap<string, PlanNode>;
  /** What takes nodes out of service now, of all nodes of the cluster, by name. */
  readonly outages: ReadonlyMap<string, readonly NodeUnavailability[]>;
  /** The Maintenances of this plan, and others that have a name which it needs, by their name. */
  readonly children: ReadonlyMap<string, MaintenanceRequest>;
  /** Of these Maintenances, by name, those that drain in another way than the plan has them: somebody has changed them. */
  readonly changedChildren: ReadonlySet<string>;
  /** MachineMaintenances in the operator's namespace, by their name; none where the work is no replacement. */
  readonly replacements: ReadonlyMap<string, MachineRequest>;
  /** Pods in the namespace of the work, by their name. */
  readonly pods: ReadonlyMap<string, WorkPod>;
  /** Of this run. */
  readonly slices: readonly RecordSlice[];
  /** Of runs so long ago that nobody asks for them. */
  readonly outdated: readonly RecordSlice[];
  /** By uid: nodes on which the work of earlier runs has failed, and that no run has done since. */
  readonly unfinished: ReadonlySet<string>;
  /** By uid: nodes that this run was done with and that are not done any more, and the other plan that was done with them since. */
  readonly doneSince: ReadonlyMap<string, string>;
  /** What each gate says, by its name. */
  readonly gates: ReadonlyMap<string, GateValue>;
  readonly approvals: readonly Approval[];
  readonly others: readonly OtherPlan[];
  /** Of the quorum of the control plane. */
  readonly members: readonly Member[];
  readonly windows: readonly MaintenanceWindow[];
  /** There may be another window, that was there before the plan: why it is not known. Missing where all are known. */
  readonly windowsProblem?: string | undefined;
  /** The node that this process runs on: it comes last in its stage. */
  readonly ownNode?: string;
  /** Somebody has stopped all plans: why. */
  readonly halted?: string;
  /** Since when this process has watched the nodes, by its own clock: what came before, nobody vouches for. Missing: always. */
  readonly watchedSince?: Temporal.Instant | undefined;
  readonly settings: PlanSettings;
  /** What the API server has refused last, by what the write is about (`Write.of`): for people alone. */
  readonly refusals: ReadonlyMap<string, string>;
  /** What writes are about that have no answer yet: nothing is decided about these nodes. */
  readonly unanswered: ReadonlySet<string>;
  /** Stands for the time that one process has seen without a break: another one says that there was a time that nobody has watched. */
  readonly watch: string;
  /** Random letters, others in each snapshot: names of pods have them, so that nobody can make such a pod first. */
  readonly nonce: string;
};

export type PlanSettings = {
  /** Of the pods that work on nodes. */
  readonly workNamespace: string;
  /** That the operator runs, for what it does on nodes itself; missing where it runs in no pod. */
  readonly image?: string;
  /** Fields of a PodSpec that say on which nodes the operator's own pods may run. Missing where it runs in no pod. */
  readonly placement?: JsonObject;
  /** Names of the Secrets that the operator's own image is pulled with; the namespace of the pods needs Secrets of these names. */
  readonly pullSecrets?: readonly string[];
  /** Of the MachineMaintenances that replace nodes. */
  readonly machineNamespace: string;
};

/** What keeps the plan, or one of its nodes, from going on. */
export type Waiting = {
  /** For example MaxUnavailable. */
  readonly word: string;
  /** Who or what, in a sentence. */
  readonly who: string;
  /** The node that it is about, where it is about one. */
  readonly node?: string;
  /** It ends at this time by itself, at the earliest. */
  readonly ends?: Temporal.Instant;
};

/** What is seen of the soak time of a stage at this moment. */
export type SoakWatch = {
  /** To be stored. */
  readonly soak: StageSoak;
  /** Missing: it is over, and all is well. */
  readonly waiting?: Waiting;
  /** The verdict of a node that was done, and is a failure now. */
  readonly failed?: NodeVerdict;
};

/** Where a plan stands, and what is to be done for the next step. */
export type PlanDecision = {
  readonly phase: PlanPhase;
  readonly message: string;
  /** It does not go on by itself. */
  readonly warning?: true;
  readonly stage?: string;
  /** Missing: as it is stored. */
  readonly run?: Plan['run'];
  readonly inFlight: readonly InFlight[];
  readonly preparing: readonly Preparing[];
  readonly passedOver: Plan['passedOver'];
  readonly waiting: readonly Waiting[];
  /** Names of the nodes that come next, in their order; not all of them. */
  readonly upNext: readonly string[];
  readonly counts: PlanCounts;
  /** What other plans have to do with nodes that are due again. Missing: nothing. */
  readonly contested?: string;
  readonly forecast: Forecast;
  readonly stages: readonly StageCount[];
  readonly failures: readonly NodeVerdict[];
  readonly hooks: readonly HookRun[];
  readonly gates: readonly GateState[];
  readonly gateHalt?: GateHalt;
  readonly rehearsal?: RehearsalTask | undefined;
  readonly rehearsed?: RehearsedForecast | undefined;
  /** After the status has been stored, one after the other. */
  readonly writes: readonly Write[];
  /** A write of the plan itself: its status is written the next time. */
  readonly own?: Write;
  /** Look again at this time, whatever happens. */
  readonly requeueAt?: Temporal.Instant;
};

/** When a plan will be over, by what it has seen so far. */
export type Forecast = {
  /** Missing: nothing is left to do, or it takes more than 400 days. */
  readonly end?: Temporal.Instant;
  /** Missing: the plan has no deadline. */
  readonly deadline?: { readonly isMet: boolean; readonly message: string };
};

/** What the limits come to, and how many nodes are how far. */
export type PlanCounts = {
  readonly selected: number;
  readonly due: number;
  /** Done in this run, and due anew: the next run takes them. */
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
