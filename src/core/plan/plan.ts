import type { IntOrPercent } from '../int-or-percent.ts';
import type { JsonObject } from '../json.ts';
import type { LabelSelector } from '../pod/selector.ts';
import type { Gate, GateHalt, GateState } from './gates/gate.ts';
import type { BegunWork, InFlight, Preparing } from './in-flight.ts';
import type { Pause } from './pause.ts';
import type { Hook, HookRun } from './pods/hook.ts';
import type { RehearsalTask, Rehearse, RehearsedForecast } from './rehearsal/rehearsal.ts';

/** drydock.dev/v1alpha1 MaintenancePlan as the core sees it. */

export const planApi = 'drydock.dev/v1alpha1';
export const plansPath = `/apis/${planApi}/maintenanceplans`;
export const planFinalizer = 'drydock.dev/maintenance-plan';

/** On a Maintenance and on a pod: the name of the MaintenancePlan that it is part of. */
export const planAnnotation = 'drydock.dev/maintenance-plan';

export const planPhases = ['Pending', 'AwaitingApproval', 'Running', 'Paused', 'Halted', 'Complete', 'Aborted', 'Deleting'] as const;
export type PlanPhase = (typeof planPhases)[number];

/** What is done on a node while it is held; exactly one. */
export type Work =
  | {
      readonly kind: 'job';
      /** PodSpec, as it was given. */
      readonly podSpec: JsonObject;
      readonly rebootsNode: boolean;
      readonly timeoutSeconds: number;
      readonly attempts: number;
    }
  | { readonly kind: 'external'; readonly annotations: Readonly<Record<string, string>>; readonly timeoutSeconds: number }
  | {
      readonly kind: 'reboot';
      /** Of Drydock; the operator's own when left out. */
      readonly image?: string;
      readonly timeoutSeconds: number;
    }
  | {
      readonly kind: 'replace';
      readonly strategy: 'Replace' | 'ReplaceWithSurge';
      readonly timeoutSeconds: number;
    }
  | { readonly kind: 'none' };

/** The work as it is now, for the nodes that are begun with. */
export const begunWork = (work: Work): BegunWork => ({
  kind: work.kind,
  rebootsNode: work.kind === 'reboot' || (work.kind === 'job' && work.rebootsNode),
  timeoutSeconds: work.kind === 'none' ? 0 : work.timeoutSeconds,
});

/** A pod on the node does it. */
export type PodWork = Extract<Work, { kind: 'job' }>;

/** What is done on a node before it is held. */
export type Prepare = {
  readonly podSpec: JsonObject;
  readonly timeoutSeconds: number;
  /** The exit code that says: not this node. */
  readonly refusalCode: number;
};

export type Stage = {
  readonly name: string;
  /** Of the nodes that no earlier stage has taken; all of them when left out. */
  readonly nodeSelector?: LabelSelector;
  /** At most so many nodes. */
  readonly limit?: number;
  readonly maxInFlight?: IntOrPercent;
  readonly soakSeconds: number;
  readonly approveAfter: boolean;
};

/** The stage of whatever no other stage has taken. */
export const restStage: Stage = { name: 'rest', soakSeconds: 0, approveAfter: false };

/** Names that `order.first` may have. */
export const maxFirst = 100;

/** Gates that a plan may have, and characters of each of its expressions. */
export const maxGates = 16;
export const maxExpressionLength = 2048;

/** Attempts that `work.job.attempts` may allow. */
export const maxAttempts = 10;

/** Names in status.upNext. */
export const maxUpNext = 20;

export type TopologyLimit = { readonly key: string; readonly maxUnavailable?: number; readonly maxDomains?: number };

export type Concurrency = {
  readonly maxInFlight: IntOrPercent;
  readonly maxUnavailable?: IntOrPercent;
  /** A number beside the share: the lower one binds. */
  readonly maxUnavailableAbsolute?: number;
  readonly perTopology: readonly TopologyLimit[];
  readonly foreignCordon: 'Wait' | 'TakeFirst' | 'Skip';
  /** How many nodes of a run may begin in one opening of the windows. */
  readonly startsPerWindow?: number;
  readonly ramp?: { readonly start: number; readonly factor: number };
};

/** A node that was done, and is not well or not done any more, in the soak time of its stage. */
export type SoakLack = { readonly node: string; readonly uid: string; readonly since: Temporal.Instant };

/** How far the soak time of a stage is. */
export type StageSoak = {
  readonly stage: string;
  /** Since when all of its nodes have been well and done without a break. Missing: they are not. */
  readonly since?: Temporal.Instant;
  /** How many of its nodes are there, and what shows that one of them was not well between two looks. */
  readonly mark?: string;
  readonly lacking: readonly SoakLack[];
};

/** Entries of `lacking` that are kept. */
export const maxLacking = 20;

/** The run that the stored status speaks of. */
export type Run = {
  /** spec.runID. */
  readonly id: string;
  /** Hash of what changes a node: another one begins a new run. */
  readonly revision: string;
  /** The how manyth run of the plan it is, from the second on: A, B and A again are three, and nothing of the first says anything about the third. */
  readonly number?: number;
  readonly startedAt: Temporal.Instant;
  /** The soak time of the stage that is over, as long as nothing behind it has begun. */
  readonly soak?: StageSoak;
  /** When the first node of each stage began, where approvals expire: verdicts of that are replaced when a node has another turn. */
  readonly begun?: ReadonlyMap<string, Temporal.Instant>;
  /** By the uid of an approval that names no spec: the hash of the spec when it was first seen. */
  readonly agreed?: ReadonlyMap<string, string>;
};

/** A node that limits keep while others of the plan begin: an entry of status.passedOver. */
export type StarvedNode = { readonly node: string; readonly uid: string; readonly since: Temporal.Instant };

export type Plan = {
  /** Its name: plans have no namespace. */
  readonly key: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation: number;
  readonly createdAt: Temporal.Instant;
  readonly deleting: boolean;
  readonly finalizers: readonly string[];
  readonly nodeSelector: LabelSelector;
  /** Follow: nodes that come later belong to it too. Snapshot: only those that were there when the run began. */
  readonly membership: 'Follow' | 'Snapshot';
  /** CEL. Without `due` each node is due, once a run; without `done` a node is done when it is not due any more. */
  readonly expressions: { readonly due?: string; readonly done?: string; readonly finished?: string; readonly rank?: string };
  readonly dueAfterSeconds?: number;
  readonly rebooted: 'Required' | 'Optional';
  /** How long the proof may take once the work has ended, in seconds. */
  readonly provenWithinSeconds: number;
  readonly concurrency: Concurrency;
  readonly order: readonly ('Zone' | 'Age' | 'Cost' | 'Name')[];
  /** It takes back what it has done: its work is that of its rollback, and the order is turned round. */
  readonly undo?: true;
  /** Names of nodes that come before the others of their stage. */
  readonly first: readonly string[];
  /** A node that limits have kept for so long while others began reserves them, in seconds. */
  readonly starvedAfterSeconds?: number;
  readonly stages: readonly Stage[];
  readonly controlPlane: 'First' | 'Last' | 'Never' | 'AsSelected';
  /** When it should be over. Spread: the starts are spread over the open time until then. */
  readonly pace?: { readonly deadline: Temporal.Instant; readonly mode: 'AsSoonAsPossible' | 'Spread' };
  readonly windows: 'Respect' | 'Ignore';
  /** How long one node takes, in seconds, for the fit into a window; what this plan has seen so far when left out. */
  readonly expectedSeconds?: number;
  readonly reason?: string;
  /** spec.drain of the child, as it was given. */
  readonly drain: JsonObject;
  readonly prepare?: Prepare;
  /** As it was stored. */
  readonly preparing: readonly Preparing[];
  readonly work: Work;
  readonly hooks: readonly Hook[];
  /** As they were stored. */
  readonly hookRuns: readonly HookRun[];
  readonly gates: readonly Gate[];
  /** As they were stored, by name. */
  readonly gateStates: ReadonlyMap<string, GateState>;
  readonly gateHalt?: GateHalt;
  readonly rehearse?: Rehearse;
  /** As they were stored. */
  readonly rehearsal?: RehearsalTask;
  readonly forecast?: RehearsedForecast;
  readonly soakSeconds: number;
  readonly soakAfterReleaseSeconds: number;
  readonly needsApproval: boolean;
  /** An approval that is older than this, in seconds, when that would begin which it is for, is void. */
  readonly approvalExpiresAfter?: number;
  readonly onFailure: 'Hold' | 'GiveBack';
  readonly drainStuck?: { readonly afterSeconds: number; readonly times: number };
  readonly halt: { readonly maxFailures?: IntOrPercent; readonly consecutive?: number; readonly inFirstStage?: number };
  /** Once it is deleted. FinishNodes: nodes in flight finish. Release: only those whose work has begun do. */
  readonly onDelete: 'FinishNodes' | 'Release';
  /** Until that is taken back. */
  readonly paused: boolean;
  /** The same with a reason, and with an end. */
  readonly pause?: Pause;
  readonly aborted: boolean;
  readonly runId: string;
  /** Hash of what changes a node, as the spec has it now. */
  readonly revision: string;
  /** Hash of all that an approval agrees to, as the spec has it now. */
  readonly specHash: string;
  readonly skips: ReadonlyMap<string, string>;
  /** By the node's name: failures that came before this time are set aside. `*` stands for every node. */
  readonly retries: ReadonlyMap<string, Temporal.Instant>;
  /** What is wrong with it, where the API server could not see that. */
  readonly problem?: string;
  readonly run?: Run;
  readonly inFlight: readonly InFlight[];
  readonly passedOver: readonly StarvedNode[];
  /** The status as stored, to write only what differs. */
  readonly status: JsonObject;
};
