import type { IntOrPercent, JsonObject, LabelSelector } from '@drydock/apimachinery';
import type { Gate, GateHalt, GateState } from './gates/gate.ts';
import type { BegunWork, InFlight, Preparing } from './in-flight.ts';
import type { Hook, HookRun } from './pods/hook.ts';
import type { RehearsalTask, Rehearse, RehearsedForecast } from './rehearsal/rehearsal.ts';
import type { Pause } from './unavailability.ts';

/** drydock.dev/v1alpha1 MaintenancePlan in the form that the core uses. */

export const planApi = 'drydock.dev/v1alpha1';
export const plansPath = `/apis/${planApi}/maintenanceplans`;
export const planFinalizer = 'drydock.dev/maintenance-plan';

export const planPhases = [
  'Pending',
  'AwaitingApproval',
  'Running',
  'Paused',
  'Halted',
  'Complete',
  'Aborted',
  'Deleting',
] as const;
export type PlanPhase = (typeof planPhases)[number];

/** Work that is done on a node while it is held; exactly one kind. */
export type Work =
  | {
      readonly kind: 'job';
      /** PodSpec as the user wrote it. */
      readonly podSpec: JsonObject;
      readonly rebootsNode: boolean;
      readonly timeoutSeconds: number;
      readonly attempts: number;
    }
  | {
      readonly kind: 'external';
      readonly annotations: Readonly<Record<string, string>>;
      readonly timeoutSeconds: number;
    }
  | {
      readonly kind: 'reboot';
      /** Image of Drydock; the operator's own if left out. */
      readonly image?: string;
      readonly timeoutSeconds: number;
    }
  | {
      readonly kind: 'replace';
      readonly strategy: 'Replace' | 'ReplaceWithSurge';
      readonly timeoutSeconds: number;
    }
  | { readonly kind: 'none' };

/** Returns the current work, for the nodes that begin. */
export function begunWork(work: Work): BegunWork {
  return {
    kind: work.kind,
    rebootsNode: work.kind === 'reboot' || (work.kind === 'job' && work.rebootsNode),
    timeoutSeconds: work.kind === 'none' ? 0 : work.timeoutSeconds,
  };
}

/** Work by a pod on the node. */
export type PodWork = Extract<Work, { kind: 'job' }>;

/** Preparation of a node before it is held. */
export type Prepare = {
  readonly podSpec: JsonObject;
  readonly timeoutSeconds: number;
  /** Exit code with which the preparation refuses the node. */
  readonly refusalCode: number;
};

export type Stage = {
  readonly name: string;
  /** Selector for nodes that no earlier stage has taken; all of them if left out. */
  readonly nodeSelector?: LabelSelector;
  /** Maximum number of nodes. */
  readonly limit?: number;
  readonly maxInFlight?: IntOrPercent;
  readonly soakSeconds: number;
  readonly approveAfter: boolean;
};

/** Stage of all nodes that no other stage has taken. */
export const restStage: Stage = { name: 'rest', soakSeconds: 0, approveAfter: false };

/** Maximum number of names in `order.first`. */
export const maxFirst = 100;

/** Maximum number of gates of a plan, and of characters of each of its expressions. */
export const maxGates = 16;
export const maxExpressionLength = 2048;

/** Maximum of `work.job.attempts`. */
export const maxAttempts = 10;

/** Number of names in status.upNext. */
export const maxUpNext = 20;

export type TopologyLimit = {
  readonly key: string;
  readonly maxUnavailable?: number;
  readonly maxDomains?: number;
};

export type Concurrency = {
  readonly maxInFlight: IntOrPercent;
  readonly maxUnavailable?: IntOrPercent;
  /** Number beside the share: the lower limit applies. */
  readonly maxUnavailableAbsolute?: number;
  readonly perTopology: readonly TopologyLimit[];
  readonly foreignCordon: 'Wait' | 'TakeFirst' | 'Skip';
  /** Number of nodes of a run that may begin in one opening of the windows. */
  readonly startsPerWindow?: number;
  readonly ramp?: { readonly start: number; readonly factor: number };
};

/** A node that was done, and is unhealthy or not done any more, in the soak time of its stage. */
export type SoakLack = {
  readonly node: string;
  readonly uid: string;
  readonly since: Temporal.Instant;
};

/** Progress of the soak time of a stage. */
export type StageSoak = {
  readonly stage: string;
  /**
   * Time since when all of its nodes have been healthy and done without a break; missing: they are
   * not.
   */
  readonly since?: Temporal.Instant;
  /**
   * Number of its existing nodes, and a mark that changes if one of them was unhealthy between two
   * looks.
   */
  readonly mark?: string;
  readonly lacking: readonly SoakLack[];
};

/** Number of entries of `lacking` that are kept. */
export const maxLacking = 20;

/** The run that the stored status is about. */
export type Run = {
  /** Value of spec.runID. */
  readonly id: string;
  /** Hash of the parts that change a node: another hash begins a new run. */
  readonly revision: string;
  /**
   * Number of the run of the plan, from the second on: A, B and A again are three runs, and nothing
   * of the first applies to the third.
   */
  readonly number?: number;
  readonly startedAt: Temporal.Instant;
  /** Soak time of the stage that is over, as long as no node of a later stage has begun. */
  readonly soak?: StageSoak;
  /**
   * Time at which the first node of each stage began, for approvals that expire: verdicts with that
   * time are replaced when a node has another turn.
   */
  readonly begun?: ReadonlyMap<string, Temporal.Instant>;
  /**
   * Hash of the spec when an approval was first observed, by the uid of an approval that names no
   * spec.
   */
  readonly agreed?: ReadonlyMap<string, string>;
};

/**
 * A node that limits hold back while other nodes of the plan begin: an entry of status.passedOver.
 */
export type StarvedNode = {
  readonly node: string;
  readonly uid: string;
  readonly since: Temporal.Instant;
};

export type Plan = {
  /** Name: plans have no namespace. */
  readonly key: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation: number;
  readonly createdAt: Temporal.Instant;
  readonly deleting: boolean;
  readonly finalizers: readonly string[];
  readonly nodeSelector: LabelSelector;
  /**
   * Membership. Follow: nodes that are added later belong to it too. Snapshot: only nodes that
   * existed when the run began.
   */
  readonly membership: 'Follow' | 'Snapshot';
  /**
   * CEL expressions. Without `due` each node is due once a run; without `done` a node is done when
   * it is not due any more.
   */
  readonly expressions: {
    readonly due?: string;
    readonly done?: string;
    readonly finished?: string;
    readonly rank?: string;
  };
  readonly dueAfterSeconds?: number;
  readonly rebooted: 'Required' | 'Optional';
  /** Seconds that the proof may take once the work has ended. */
  readonly provenWithinSeconds: number;
  readonly concurrency: Concurrency;
  readonly order: readonly ('Zone' | 'Age' | 'Cost' | 'Name')[];
  /**
   * True if the plan undoes what it has done: its work is that of its rollback, and the order is
   * reversed.
   */
  readonly undo?: true;
  /** Names of nodes that come before the others of their stage. */
  readonly first: readonly string[];
  /** Seconds after which a node that limits hold back while others begin reserves the limits. */
  readonly starvedAfterSeconds?: number;
  readonly stages: readonly Stage[];
  readonly controlPlane: 'First' | 'Last' | 'Never' | 'AsSelected';
  /** Deadline and mode. Spread: the starts are spread over the open time until the deadline. */
  readonly pace?: {
    readonly deadline: Temporal.Instant;
    readonly mode: 'AsSoonAsPossible' | 'Spread';
  };
  readonly windows: 'Respect' | 'Ignore';
  /**
   * Seconds that one node takes, to decide whether it fits into a window; what this plan has
   * measured so far if left out.
   */
  readonly expectedSeconds?: number;
  readonly reason?: string;
  /** `spec.drain` of the Maintenances, as the user wrote it. */
  readonly drain: JsonObject;
  readonly prepare?: Prepare;
  /** Preparations as they are stored. */
  readonly preparing: readonly Preparing[];
  readonly work: Work;
  readonly hooks: readonly Hook[];
  /** Hook runs as they are stored. */
  readonly hookRuns: readonly HookRun[];
  readonly gates: readonly Gate[];
  /** States of gates as they are stored, by name. */
  readonly gateStates: ReadonlyMap<string, GateState>;
  readonly gateHalt?: GateHalt;
  readonly rehearse?: Rehearse;
  /** Rehearsal and forecast as they are stored. */
  readonly rehearsal?: RehearsalTask;
  readonly forecast?: RehearsedForecast;
  readonly soakSeconds: number;
  readonly soakAfterReleaseSeconds: number;
  readonly needsApproval: boolean;
  /** Age in seconds above which an approval is void, if what it approves has not begun by then. */
  readonly approvalExpiresAfter?: number;
  readonly onFailure: 'Hold' | 'Release';
  readonly drainStuck?: { readonly afterSeconds: number; readonly times: number };
  readonly halt: {
    readonly maxFailures?: IntOrPercent;
    readonly consecutive?: number;
    readonly inFirstStage?: number;
  };
  /**
   * Behaviour once the plan is deleted. FinishNodes: nodes in flight finish. Release: only those
   * whose work has begun do.
   */
  readonly onDelete: 'FinishNodes' | 'Release';
  /** True if paused until a user removes that. */
  readonly paused: boolean;
  /** Pause with a reason, and with an end. */
  readonly pause?: Pause;
  readonly aborted: boolean;
  readonly runId: string;
  /** Hash of the parts that change a node, in the current spec. */
  readonly revision: string;
  /** Hash of everything that an approval agrees to, in the current spec. */
  readonly specHash: string;
  readonly skips: ReadonlyMap<string, string>;
  /**
   * Times by the node's name: failures before that time are set aside. `*` stands for every node.
   */
  readonly retries: ReadonlyMap<string, Temporal.Instant>;
  /** Error in the plan that the API server could not detect. */
  readonly problem?: string;
  readonly run?: Run;
  readonly inFlight: readonly InFlight[];
  readonly passedOver: readonly StarvedNode[];
  /** Stored status, so that only differences are written. */
  readonly status: JsonObject;
};
