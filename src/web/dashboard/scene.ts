import type { MachineView, WindowView } from './scene/machines.ts';
import type { BudgetView, NodeSummary, PodCountsView, PodView, WorkloadView } from './scene/nodes.ts';
import type { PlanSummary } from './scene/plans.ts';

export type * from './scene/machines.ts';
export type * from './scene/nodes.ts';
export type * from './scene/orders.ts';
export type * from './scene/plans.ts';

/** What the dashboard shows, as plain data: shared by the server that keeps it and the dashboard that draws it. */

/** Who may do what: `link`, whoever has the printed link acts; `read-only`, nobody does. */
export type AccessKind = 'link' | 'read-only';

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
