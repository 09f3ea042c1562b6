import type { Attachment } from '../drain/blockers/attachment.ts';
import type { Recreations } from '../drain/blockers/dead-node.ts';
import type { Budget, InFlightEviction } from '../drain/budgets/budget.ts';
import type { DrainCounter } from '../drain/drain-counter.ts';
import type { PlanWork } from '../drain/filters.ts';
import type { Attempt } from '../drain/outcome/eviction-outcome.ts';
import type {
  ActiveResponder,
  EvictionRequestsKnown,
} from '../drain/responders/eviction-request.ts';
import type { VmTrackingState } from '../drain/vm/vm-pod-decision.ts';
import type { Lease, LeaseTerms } from '../lease/lease.ts';
import type { Node } from '../node/node.ts';
import type { Pod } from '../pod/pod.ts';
import type { Member } from '../quorum/quorum.ts';
import type { KindAdapter, MaintenanceRequest, Problem } from '../request/request.ts';
import type { NodeVms } from '../vm/vm-pod.ts';
import type { HostView } from '../vm/vm-status.ts';
import type { MaintenanceWindow } from '../window/spans.ts';
import type { OperatorView } from './successor.ts';

/**
 * Marks that another party has removed and the operator has restored: how often since when, the
 * last time, and by whom as far as known.
 */
export type Restored = {
  readonly count: number;
  readonly since: Temporal.Instant;
  readonly lastAt: Temporal.Instant;
  readonly by?: string;
};

/**
 * Memory of a node between two passes. All of it can be lost: it saves calls and smooths numbers,
 * nothing more.
 */
export type ReconcileMemo = {
  /** Drain counters by the request's key. */
  readonly tallies: ReadonlyMap<string, DrainCounter>;
  /** Start of each blocker, by `blockerId`. */
  readonly blockedSince: ReadonlyMap<string, Temporal.Instant>;
  /**
   * Last written status by the request's key: the time, the gist, and the ids of its blockers that
   * need help.
   */
  readonly reported: ReadonlyMap<
    string,
    { readonly at: Temporal.Instant; readonly gist: string; readonly stuck: ReadonlySet<string> }
  >;
  /** Pods that came although the node is held, by owner. */
  readonly recreations: ReadonlyMap<string, Recreations>;
  /**
   * uids of the pods that were there when the node was held; missing while that is not known or the
   * node is not held.
   */
  readonly residents?: ReadonlySet<string>;
  /**
   * True if the node is about to be held: it counts as out of the quorum until that is observed.
   */
  readonly seat: boolean;
  /**
   * uids of the requests that held the node at the last pass: they have begun, whether or not their
   * status could be stored.
   */
  readonly holding: ReadonlySet<string>;
  /** State of the VMs; missing before they were looked at. */
  readonly vms?: VmTrackingState;
  /** uids of evacuations that have been cancelled, and when. */
  readonly recalled: ReadonlyMap<string, Temporal.Instant>;
  /** Marks that were removed and restored; missing if none was removed lately. */
  readonly restored?: Restored;
  /** Time at which a lease of this operator was last found with another holder. */
  readonly leaseMissedAt?: Temporal.Instant;
};

export const emptyMemo: ReconcileMemo = {
  tallies: new Map(),
  blockedSince: new Map(),
  reported: new Map(),
  recreations: new Map(),
  seat: false,
  holding: new Set(),
  recalled: new Map(),
};

/** Inputs of the quorum rule. */
export type Quorum = {
  readonly members: readonly Member[];
  /** Names of other nodes that are about to be held. */
  readonly seats: ReadonlySet<string>;
  /** Budgets with which etcd's operator guards its members, on OpenShift. */
  readonly etcdBudgets?: readonly Budget[];
};

/**
 * The operator's own pod (`namespace/name`), and its possible successors; `nodes` is
 * filled only in the snapshot of the node on which that pod runs.
 */
export type Self = OperatorView & {
  readonly pod: string;
  /** True if another replica was to lead instead of this one, and none has begun to. */
  readonly handedOver: boolean;
};

/** Everything known about one node at one moment. */
export type NodeSnapshot = {
  readonly nodeName: string;
  /** The node; missing if it does not exist. */
  readonly node?: Node;
  /** All requests for this node, of every served kind. */
  readonly requests: readonly MaintenanceRequest[];
  /** Pods of the node; missing as long as they are not known. */
  readonly pods?: readonly Pod[];
  /**
   * True if the pods have been listed once more after the hold was in place: no pod that was bound
   * before is missing.
   */
  readonly podsConfirmed: boolean;
  /** Budgets; at least those that guard one of the pods. */
  readonly budgets: readonly Budget[];
  /** Leases by `namespace/name`. */
  readonly leases: ReadonlyMap<string, Lease>;
  /** Volume attachments; missing without read permission, and then unknown. */
  readonly attachments?: readonly Attachment[];
  /**
   * Volume by claim (`namespace/name`), as far as looked up; null: the claim does not exist or is
   * not bound.
   */
  readonly volumes: ReadonlyMap<string, string | null>;
  /** Keys `namespace/name`; missing as long as the DaemonSets are not known. */
  readonly daemonSets?: ReadonlySet<string>;
  /**
   * Pods that are on no node, by namespace, as far as listed, and the time of the list; missing if
   * they are never listed.
   */
  readonly unscheduled?: ReadonlyMap<
    string,
    { readonly readAt: Temporal.Instant; readonly pods: readonly Pod[] }
  >;
  /**
   * uids of DaemonSets that are gone according to the API server; missing if `daemonSets` is newer
   * than the pods, and complete.
   */
  readonly goneDaemonSets?: ReadonlySet<string>;
  /** Work of plans; missing if plans are not watched. */
  readonly planWork?: PlanWork;
  /**
   * Responders whose turn it is (Evictions of lifecycle.k8s.io), by the uid of the pod; missing if
   * there are none.
   */
  readonly responders?: ReadonlyMap<string, ActiveResponder>;
  /**
   * Our own EvictionRequests of this node; missing if the kind is not served or lacks read
   * permission.
   */
  readonly evictionRequests?: EvictionRequestsKnown;
  /** VMs of the node; missing without KubeVirt, or without permission to read it. */
  readonly vms?: NodeVms;
  /** State of the node as a hypervisor; missing if OpenStack is not configured. */
  readonly host?: HostView | 'unknown' | 'none';
  readonly attempts: ReadonlyMap<string, Attempt>;
  /**
   * In-flight evictions of this node, and those of all other nodes that take from its budgets or
   * are VMs.
   */
  readonly inFlight: readonly InFlightEviction[];
  readonly memo: ReconcileMemo;
  /** Adapters of every served kind: a hold without a request is released for all of them. */
  readonly adapters: readonly KindAdapter[];
  /**
   * Names of the kinds that this cluster does not serve (any more): whether they have requests
   * cannot be known.
   */
  readonly missingKinds: ReadonlySet<string>;
  readonly terms: LeaseTerms;
  /** All windows of the cluster, for any node. */
  readonly windows: readonly MaintenanceWindow[];
  /**
   * uids of requests for which `windows` contains every window older than the request; missing if
   * this holds for all.
   */
  readonly windowsKnownTo?: ReadonlySet<string>;
  /** Reason why the windows are not known for the other requests, if the API server was queried. */
  readonly windowsProblem?: string;
  /** Seconds that the longest known drain of this cluster has taken so far. */
  readonly drainSeconds?: number;
  /**
   * The operator's own pod: it leaves last, hands over the leadership first, and stays where no
   * other pod could take over its work.
   */
  readonly self?: Self;
  /**
   * Inputs of the quorum rule, for a node that the control plane's quorum may need; missing for all
   * others.
   */
  readonly quorum?: Quorum;
  /** Refusal of the last write for this node, if none has succeeded since. */
  readonly trouble?: Problem;
};
