import type { BlockerSummary } from '@drydock/core/drain';
import type { StoredVm } from '@drydock/core/maintenance';

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
