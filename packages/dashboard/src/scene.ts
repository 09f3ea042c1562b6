import type {
  BudgetView,
  MachineView,
  NodeSummary,
  PlanSummary,
  PodCountsView,
  PodView,
  WindowView,
  WorkloadView,
} from './scene/kinds.ts';

export type * from './scene/kinds.ts';
export type * from './scene/kinds.ts';
export type * from './scene/kinds.ts';
export type * from './scene/kinds.ts';

/**
 * Contents of the dashboard as plain data: shared by the server that keeps them and the page that
 * draws them.
 */

/** Kind of access: `link` lets everyone with the printed link act; `read-only` lets no user act. */
export type AccessKind = 'link' | 'read-only';

/** One line of the time line: a Kubernetes Event. */
export type MomentView = {
  readonly key: string;
  readonly at: string;
  readonly warning: boolean;
  readonly reason: string;
  readonly message: string;
  /** Object of the event, for example `Node worker-1`. */
  readonly about: string;
  readonly count: number;
};

/** Facts about the dashboard itself. */
export type DashboardInfo = {
  readonly access: AccessKind;
  /** Name of the cluster, for people. */
  readonly cluster: string;
  /** Kind that this page creates; missing when the cluster serves none of them. */
  readonly makes?: 'Maintenance' | 'NodeMaintenance';
  /** Whether the machines are simulated: then users may have the cloud announce events. */
  readonly simulated?: true;
  /** Whether the cluster is too large to list its pods one by one: nodes have counts of them. */
  readonly counted?: true;
  /** Collections that have not been read yet. */
  readonly loading: readonly string[];
  /** Collections that cannot be read: the dashboard works without them. */
  readonly unreadable: readonly { readonly what: string; readonly message: string }[];
};

/** Everything that the dashboard shows. */
export type Scene = {
  readonly facts: DashboardInfo;
  readonly nodes: readonly NodeSummary[];
  /** Pods; empty where they are counted. */
  readonly pods: readonly PodView[];
  /**
   * Counts of pods by node, those without a node under the empty name; empty where pods are listed
   * one by one.
   */
  readonly counts: readonly PodCountsView[];
  /** Workloads with the lowest availability. */
  readonly lows: readonly WorkloadView[];
  readonly budgets: readonly BudgetView[];
  readonly machines: readonly MachineView[];
  readonly windows: readonly WindowView[];
  readonly plans: readonly PlanSummary[];
  readonly moments: readonly MomentView[];
};

/** Keys of objects that no longer exist. */
type Gone = { readonly [What in Exclude<keyof Scene, 'facts'>]?: readonly string[] };

/**
 * Changes between two revisions: whole views by key, and the keys that are gone. Applying a delta
 * twice changes nothing.
 */
export type Delta = Partial<Scene> & { readonly gone?: Gone };
