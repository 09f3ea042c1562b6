import type { Blocked } from '../../core/drain/blocked.ts';

/** What the page shows, as plain data: shared by the server that keeps it and the page that draws it. */

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
};

/** `stuck`: nothing but a change by a person (or another controller) will end it. */
export type BlockerView = Blocked & { readonly stuck: boolean };

export type NodeView = {
  /** Its name. */
  readonly key: string;
  readonly zone: string;
  readonly roles: readonly string[];
  readonly ready: 'yes' | 'no' | 'unknown';
  readonly cordoned: boolean;
  /** `key:effect`, without the one of every cordon. */
  readonly taints: readonly string[];
  /** Oldest first. */
  readonly holds: readonly HoldView[];
  /** There is no such node: a maintenance asks for it all the same. */
  readonly missing?: true;
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

/** What there is to know about the page itself. */
export type Facts = {
  readonly access: AccessKind;
  /** Which cluster this is, for people. */
  readonly cluster: string;
  /** The kind that this page makes; missing when the cluster serves none of them. */
  readonly makes?: 'Maintenance' | 'NodeMaintenance';
  /** Collections that have not been read yet. */
  readonly loading: readonly string[];
  /** Collections that cannot be read: the page goes without them. */
  readonly unreadable: readonly { readonly what: string; readonly message: string }[];
};

/** Everything that is shown. */
export type Scene = {
  readonly facts: Facts;
  readonly nodes: readonly NodeView[];
  readonly pods: readonly PodView[];
  readonly budgets: readonly BudgetView[];
  readonly moments: readonly MomentView[];
};

/** Keys of what is not there any more. */
type Gone = { readonly nodes?: readonly string[]; readonly pods?: readonly string[] } & {
  readonly budgets?: readonly string[];
  readonly moments?: readonly string[];
};

/** What has changed from one revision to the next: whole views by key, and the keys that are gone. Applying one twice changes nothing. */
export type Delta = Partial<Scene> & { readonly gone?: Gone };

/** What a drain of a node would be. */
export type Outlook = {
  /** Pods that would have to leave, and pods that would stay. */
  readonly leave: number;
  readonly stay: number;
  readonly blockers: readonly BlockerView[];
};

/** What the page asks for when it puts a node into maintenance. */
export type MaintainOrder = {
  readonly node: string;
  readonly reason: string;
  readonly force: boolean;
  readonly deleteEmptyDirData: boolean;
};

/** What it asks for when it gives a node back: one maintenance, as its view names it. */
export type ReleaseOrder = Pick<HoldView, 'store' | 'namespace' | 'name'>;
