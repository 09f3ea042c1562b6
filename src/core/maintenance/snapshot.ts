import type { Attachment } from '../drain/blockers/attachment.ts';
import type { Recreations } from '../drain/blockers/recreations.ts';
import type { Budget } from '../drain/budgets/budget.ts';
import type { InFlightEviction } from '../drain/budgets/in-flight-eviction.ts';
import type { DrainCounter } from '../drain/drain-counter.ts';
import type { PlanWork } from '../drain/filters.ts';
import type { Attempt } from '../drain/outcome/retry.ts';
import type { EvictionRequestsKnown } from '../drain/responders/eviction-request.ts';
import type { ActiveResponder } from '../drain/responders/lifecycle-eviction.ts';
import type { Lease, LeaseTerms } from '../lease/lease.ts';
import type { Node } from '../node/node.ts';
import type { Pod } from '../pod/pod.ts';
import type { Member } from '../quorum/quorum.ts';
import type { KindAdapter, MaintenanceRequest } from '../request/request.ts';
import type { HostView } from '../vm/host.ts';
import type { VmTrackingState } from '../vm/tracking.ts';
import type { NodeVms } from '../vm/vm-pod.ts';
import type { MaintenanceWindow } from '../window/window.ts';
import type { Problem } from './report.ts';
import type { OperatorView } from './successor.ts';

/** Marks that somebody has removed and that were put back: how often since then, when last, and by whom as far as that is known. */
export type Restored = {
  readonly count: number;
  readonly since: Temporal.Instant;
  readonly lastAt: Temporal.Instant;
  readonly by?: string;
};

/** What is remembered of a node between two looks. All of it can be lost: it saves calls and smooths numbers, nothing more. */
export type ReconcileMemo = {
  /** By the request's key. */
  readonly tallies: ReadonlyMap<string, DrainCounter>;
  /** By `blockerId`. */
  readonly blockedSince: ReadonlyMap<string, Temporal.Instant>;
  /** When a status was last written, what it came to, and the ids of the blockers in it that need help, by the request's key. */
  readonly reported: ReadonlyMap<string, { readonly at: Temporal.Instant; readonly gist: string; readonly stuck: ReadonlySet<string> }>;
  /** Pods that came although the node is held, by owner. */
  readonly recreations: ReadonlyMap<string, Recreations>;
  /** uids of the pods that were there when the node was held. Missing before that is known, and when it is not held any more. */
  readonly residents?: ReadonlySet<string>;
  /** It is about to be held, and counts as out of the quorum until that is seen. */
  readonly seat: boolean;
  /** uids of the requests that held the node at the last look: they have begun, whether or not their status could be stored. */
  readonly holding: ReadonlySet<string>;
  /** Missing before the VMs were looked at. */
  readonly vms?: VmTrackingState;
  /** uids of evacuations that have been called back, and when. */
  readonly recalled: ReadonlyMap<string, Temporal.Instant>;
  /** Missing where nobody has removed marks of late. */
  readonly restored?: Restored;
  /** When a lease that was ours was last found in other hands. */
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

/** What the rule of the quorum looks at. */
export type Quorum = {
  readonly members: readonly Member[];
  /** Other nodes that are about to be held. */
  readonly seats: ReadonlySet<string>;
  /** On OpenShift, the budgets with which etcd's operator guards its members. */
  readonly etcdBudgets?: readonly Budget[];
};

/** The operator's own pod (`namespace/name`), and who could do its work; `nodes` is looked at for its own node only. */
export type Self = OperatorView & {
  readonly pod: string;
  /** Another replica was to lead instead of this one, and none has begun to. */
  readonly handedOver: boolean;
};

/** Everything known about one node at one moment. */
export type NodeSnapshot = {
  readonly nodeName: string;
  /** Missing: there is no such node. */
  readonly node?: Node;
  /** All on this node, of every served kind. */
  readonly requests: readonly MaintenanceRequest[];
  /** Missing as long as they are not known. */
  readonly pods?: readonly Pod[];
  /** They have been read once more after the hold was in place: no pod that was bound before it is missing. */
  readonly podsConfirmed: boolean;
  /** At least those that guard one of the pods. */
  readonly budgets: readonly Budget[];
  /** By `namespace/name`. */
  readonly leases: ReadonlyMap<string, Lease>;
  /** Missing as long as they may not be read: then nobody knows. */
  readonly attachments?: readonly Attachment[];
  /** Volume by claim (`namespace/name`), as far as it has been looked up; null: there is no such claim, or it is not bound. */
  readonly volumes: ReadonlyMap<string, string | null>;
  /** `namespace/name`; missing as long as they are not known. */
  readonly daemonSets?: ReadonlySet<string>;
  /** Pods that are on no node, by namespace, as far as somebody has looked, and when; missing where nobody looks. */
  readonly unscheduled?: ReadonlyMap<string, { readonly readAt: Temporal.Instant; readonly pods: readonly Pod[] }>;
  /** uids of DaemonSets that the API server has said are gone; missing where `daemonSets` is younger than the pods, and whole. */
  readonly goneDaemonSets?: ReadonlySet<string>;
  /** Missing where nobody asks for plans. */
  readonly planWork?: PlanWork;
  /** Responders whose turn it is (Evictions of lifecycle.k8s.io), by the uid of the pod; missing where there are none. */
  readonly responders?: ReadonlyMap<string, ActiveResponder>;
  /** Our own EvictionRequests of this node; missing where the kind is not served and where it may not be read. */
  readonly evictionRequests?: EvictionRequestsKnown;
  /** Missing where there is no KubeVirt, or where it may not be read. */
  readonly vms?: NodeVms;
  /** What is known of the hypervisor that it is; missing where nobody asks OpenStack. */
  readonly host?: HostView | 'unknown' | 'none';
  readonly attempts: ReadonlyMap<string, Attempt>;
  /** Of this node, and of all others what takes from its budgets, and VMs. */
  readonly inFlight: readonly InFlightEviction[];
  readonly memo: ReconcileMemo;
  /** Every served kind: a hold without a request is released for all of them. */
  readonly adapters: readonly KindAdapter[];
  /** Names of the kinds that this cluster does not serve (any more): whether they have requests cannot be known. */
  readonly missingKinds: ReadonlySet<string>;
  readonly terms: LeaseTerms;
  /** All there are, whatever nodes they are for. */
  readonly windows: readonly MaintenanceWindow[];
  /** uids of requests before which no window was made that is not among them; missing where all are known. */
  readonly windowsKnownTo?: ReadonlySet<string>;
  /** Why they are not known to the others, where the API server has been asked. */
  readonly windowsProblem?: string;
  /** How long drains of this cluster have taken so far, in seconds: the longest known. */
  readonly drainSeconds?: number;
  /** The operator's own pod: it goes last, hands over the leadership first, and stays where nobody could do its work any more. */
  readonly self?: Self;
  /** For a node that the control plane's quorum may need; missing for all others. */
  readonly quorum?: Quorum;
  /** The last write for this node was refused, and none has succeeded since. */
  readonly trouble?: Problem;
};
