import type { JsonObject } from '@drydock/apimachinery';

/**
 * What one seed comes to: a cluster, what is asked of it, and all that goes wrong. Data only, so
 * that a story can be made smaller and told again. Times are milliseconds from the moment at which
 * the operator is first started.
 */
export type Story = {
  readonly seed: number;
  readonly nodes: readonly NodePlan[];
  readonly workloads: readonly Workload[];
  readonly budgets: readonly BudgetPlan[];
  readonly vms: readonly VmPlan[];
  readonly machines: MachinesPlan | undefined;
  /** Some workloads name responders, and the API server serves EvictionRequests. */
  readonly responders: RespondersPlan | undefined;
  readonly plans: readonly StoryPlan[];
  readonly windows: readonly WindowPlan[];
  readonly maintenances: readonly StoryMaintenance[];
  readonly deeds: readonly Deed[];
  readonly ends: readonly End[];
  readonly outages: readonly Span[];
  readonly clockSteps: readonly ClockStep[];
  readonly calls: CallFaults;
  readonly watches: WatchFaults;
  /** Everything goes wrong until then, and nothing after. */
  readonly faultyMs: number;
};

export type NodePlan = {
  readonly name: string;
  readonly zone: string;
  readonly spec: JsonObject;
  readonly labels: JsonObject;
};

export type Workload = {
  readonly resource: string;
  readonly name: string;
  readonly namespace: string;
  readonly draft: JsonObject;
};

/**
 * `never`: it allows none of its pods to go, or makes the eviction API refuse: a person has to take
 * it away.
 */
export type BudgetPlan = {
  readonly name: string;
  readonly namespace: string;
  readonly spec: JsonObject;
  readonly never: boolean;
};

export type VmPlan = { readonly name: string; readonly draft: JsonObject };

export type MachinesPlan = {
  readonly flavour: 'openshift' | 'capi';
  readonly replicas: number;
  readonly perSet: number;
  readonly announcements: readonly Announcement[];
};

/** What a responder does in its turn: moves the pod, gives up, goes on for ever, says nothing. */
export type Answer = 'moves' | 'handsOver' | 'reports' | 'silent';

export type RespondersPlan = {
  /** Nobody acts on requests otherwise, as in every released Kubernetes. */
  readonly hasControllers: boolean;
  /** Milliseconds, from the start, in which the controllers and the responder are away. */
  readonly away: { readonly from: number; readonly to: number };
  /** Who answers how. */
  readonly shift: number;
};

export type Announcement = {
  readonly atMs: number;
  /** Which of the machines. */
  readonly pick: number;
  readonly kind:
    | 'reboot'
    | 'maintenance'
    | 'retirement'
    | 'stop'
    | 'preemption'
    | 'rebalance'
    | 'freeze';
  readonly inSeconds: number;
  readonly cancelAfterMs?: number;
  /** The cloud says that it is over, and it is not: what it has announced happens all the same. */
  readonly lies?: true;
};

/** A MaintenancePlan that somebody makes. */
export type StoryPlan = {
  readonly name: string;
  readonly spec: JsonObject;
  readonly atMs: number;
  readonly deleteAtMs?: number;
  /** Fields of the spec that somebody changes later. */
  readonly edits: readonly { readonly atMs: number; readonly spec: JsonObject }[];
};

export type WindowPlan = {
  readonly name: string;
  readonly spec: JsonObject;
  readonly atMs: number;
};

export type Kind = 'Maintenance' | 'medik8s' | 'kubevirt' | 'alpha';

/** One maintenance that somebody asks for. */
export type StoryMaintenance = {
  readonly kind: Kind;
  readonly name: string;
  readonly node: string;
  readonly atMs: number;
  readonly spec: JsonObject;
  readonly deleteAtMs?: number;
};

export const deedKinds = [
  'uncordon',
  'cordon',
  'removeTaint',
  'removeLabel',
  'foreignTaint',
  'foreignLabel',
  'deleteMaintenance',
  'deletePod',
  'deleteLease',
  'stealLease',
  'deleteNode',
  'nodeDies',
  'force',
  'changePolicy',
  'changeStage',
  'changeBudget',
  'scale',
  'compact',
] as const;
/** The last ones are drawn apart from the others. */
export type DeedKind =
  | (typeof deedKinds)[number]
  | 'odd'
  | 'daemonSet'
  | 'machineOfOthers'
  | 'halt'
  | 'relabel';

/**
 * What a person does, at a time or at the worst moment: just before, or after, the server does one
 * of the operator's calls.
 */
export type Deed = { readonly kind: DeedKind; readonly pick: number; readonly when: WhenInStory };

export type WhenInStory =
  | { readonly atMs: number }
  | { readonly call: number; readonly side: 'before' | 'after' };

/**
 * How a process of the operator ends: killed, told to stop, or without its lease while the next one
 * begins.
 */
export type End = {
  readonly how: 'killed' | 'stopped' | 'fenced';
  readonly when: WhenInStory;
  /** Until the next one begins. */
  readonly pauseMs: number;
  /** A process without its lease lives on for so long. */
  readonly lingersMs: number;
};

export type Span = { readonly fromMs: number; readonly toMs: number };

/** Somebody sets the clock of the operator's machine. */
export type ClockStep = { readonly atMs: number; readonly byMs: number };

/** Shares of all calls. */
export type CallFaults = {
  readonly refused: number;
  readonly conflict: number;
  readonly lost: number;
  readonly unanswered: number;
  readonly slow: number;
};

export type WatchFaults = {
  /** Changes come so late at most. */
  readonly lagMs: number;
  /** Watches are cut after so long, about; 0: never. */
  readonly cutEveryMs: number;
  /** The share of cuts after which everything has to be listed anew. */
  readonly expired: number;
  /** The share of first lists that come from a cache that is behind. */
  readonly stale: number;
  /**
   * Calls that read hang until their time is up, and watches fall silent: it takes minutes to
   * notice.
   */
  readonly hangs: boolean;
};

/**
 * How late the operator may know what it goes by, while things go wrong: watches that lag or are
 * cut, and calls on their way; a silent watch is noticed after 150 seconds, the two that may follow
 * it after 300 each, and a list that is refused is tried again ever more slowly.
 */
export function staleMsOf({ watches }: Story): number {
  return watches.hangs ? 840_000 : 90_000;
}

export const maintenanceResources = {
  Maintenance: 'maintenances.drydock.dev',
  medik8s: 'nodemaintenances.nodemaintenance.medik8s.io',
  kubevirt: 'nodemaintenances.nodemaintenance.kubevirt.io',
  alpha: 'nodemaintenances.kubevirt.io',
} as const satisfies Record<Kind, string>;

/** How many maintenances it has, those of machines included. */
export function countOf({ maintenances, machines }: Story): number {
  return maintenances.length + (machines?.announcements.length ?? 0);
}
