import type { BlockerSummary } from '../../../core/drain/blockers/blocker-groups.ts';
import type { StoredVm } from '../../../core/maintenance/vms-now.ts';

/** Nodes, what holds them, their pods, and the workloads and budgets of these. */

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

/** The pods of one node, asked for by whoever looks at it where pods are counted. */
export type NodePods = { readonly pods: readonly PodView[] };

/** What a drain of a node would be. */
export type DrainPreview = {
  /** Pods that would have to leave, and pods that would stay. */
  readonly leave: number;
  readonly stay: number;
  readonly blockers: readonly BlockerView[];
};
