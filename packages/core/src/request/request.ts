import { type JsonObject, pathSegment } from '@drydock/apimachinery';
import type { Blocker } from '../drain/blockers/blocker.ts';
import type { DrainCounts } from '../drain/drain-counter.ts';
import type { DrainPolicy } from '../drain/policy.ts';
import type { VmTrackingState } from '../drain/vm/vm-pod-decision.ts';
import type { Marks } from '../node/marks.ts';
import { taintId } from '../node/node.ts';
import type { QuorumRule } from '../quorum/quorum.ts';
import type { VmStatus } from '../vm/vm-status.ts';

/** Words for the life of a maintenance. */

/**
 * Stage that a maintenance goes to. Announce changes nothing; Cordon keeps new pods away; Drain
 * empties the node.
 */
export type MaintenanceLevel = 'Announce' | 'Cordon' | 'Drain';

/** State of a maintenance. Each served kind has its own words for it. */
export type MaintenanceState =
  | 'Pending'
  | 'Announced'
  | 'Cordoned'
  | 'Draining'
  | 'Detaching'
  | 'Drained'
  | 'Failed'
  | 'Releasing';

/** Failure of a maintenance. */
export type MaintenanceFailure = 'NodeNotFound' | 'LeaseLost' | 'DeadlineExceeded' | 'Released';

/**
 * Reason why a maintenance as a whole does not go on: machines read the reason, people the message.
 */
export type Problem = { readonly reason: string; readonly message: string };

/** Report on one maintenance at one moment. */
export type Report = {
  readonly state: MaintenanceState;
  /** True if the node carries the marks of the request. */
  readonly held: boolean;
  readonly failure?: MaintenanceFailure;
  readonly problem?: Problem;
  /** Sentence that another party removes the marks from the node and the operator restores them. */
  readonly contested?: string;
  /** Sentence that the operator's own pod is left on the node. */
  readonly stays?: string;
  readonly leaseErrors: number;
  /**
   * Counts of pods; missing as long as the pods are not known. `total` includes the pods that may
   * stay.
   */
  readonly pods?: DrainCounts & { readonly total: number };
  /** Pods that still have to leave, sorted. */
  readonly waiting: readonly { readonly namespace: string; readonly name: string }[];
  /** All blockers, sorted: the served kinds bound their lists themselves. */
  readonly blockers: readonly Blocker[];
  /**
   * Every VM that was to leave, including those that have left, sorted; missing if there was none.
   */
  readonly vms?: readonly VmStatus[];
  /** VMs that had left before the memo begins. */
  readonly vmsBefore?: VmTrackingState['before'];
  /** Time of its start, if the request waits for that. */
  readonly startsAt?: Temporal.Instant;
  readonly drainStartedAt?: Temporal.Instant;
  readonly drainedAt?: Temporal.Instant;
  readonly estimatedEnd?: Temporal.Instant;
};

/** Appends the sentence on removed marks to the text, if there is one. */
export function withContest(text: string, { contested }: Pick<Report, 'contested'>): string {
  return contested === undefined ? text : `${text}; ${contested}`;
}

/** Appends the sentence on the operator's own pod to the text, if there is one. */
export function withStay(text: string, { stays }: Pick<Report, 'stays'>): string {
  return stays === undefined ? text : `${text}; ${stays}`;
}

/**
 * Collection path of Drydock's own kind, whose objects are created by users, plans and
 * MachineMaintenances.
 */
export const maintenancesPath = '/apis/drydock.dev/v1alpha1/maintenances';

/** First operator that worked on the request: none yet, this one, or the one that it replaces. */
export type Claim = 'none' | 'ours' | 'takenOver';

/** History in the stored status. Everything else is observed again each time. */
export type History = {
  /** State; missing before the first status. */
  readonly state?: MaintenanceState;
  readonly drainStartedAt?: Temporal.Instant;
  /** Time at which the drain was complete for the first time. */
  readonly drainedAt?: Temporal.Instant;
  /** Number of pods that this maintenance had to evict so far, and how many of them have left. */
  readonly toEvict: number;
  readonly gone: number;
  readonly leaseErrors: number;
  readonly failure?: MaintenanceFailure;
  /** Start of each blocker, by `blockerId`, as far as the kind stores its blockers. */
  readonly blockedSince: ReadonlyMap<string, Temporal.Instant>;
  /**
   * Number of all blockers, if the kind stores it: more than in `blockedSince` if the list was cut.
   */
  readonly blockerCount?: number;
  /** Tracked VMs, as far as the kind stores them. */
  readonly vms?: VmTrackingState;
};

/** History for a status that has never been written. */
export const noHistory: History = { toEvict: 0, gone: 0, leaseErrors: 0, blockedSince: new Map() };

/** Requested start of a maintenance. */
export type RequestedStart = {
  readonly notBefore?: Temporal.Instant;
  /** Time by which it should be done. */
  readonly deadline?: Temporal.Instant;
  readonly windows: 'Respect' | 'Ignore';
  readonly expectedSeconds?: number;
};

/** A maintenance in the form that the core uses, of any kind. */
export type MaintenanceRequest = {
  /** Key that is unique among all served kinds: `plural.group/namespace/name`. */
  readonly key: string;
  readonly adapter: KindAdapter;
  readonly name: string;
  readonly namespace?: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation: number;
  readonly createdAt: Temporal.Instant;
  readonly deleting: boolean;
  readonly finalizers: readonly string[];
  readonly claim: Claim;
  readonly nodeName: string;
  readonly reason?: string;
  readonly requester?: string;
  readonly level: MaintenanceLevel;
  /** Requested start; missing for kinds that begin at once. */
  readonly start?: RequestedStart;
  /**
   * Machine maintenance (`namespace/name`) that it is part of, according to the object. Its node
   * goes with the machine: that is no failure.
   */
  readonly part?: { readonly of: string };
  /** MaintenancePlan that it is part of, according to the object. */
  readonly plan?: string;
  /**
   * `spec.drain` as stored, if the object is part of something: its creator restores changes by
   * others.
   */
  readonly storedDrain?: JsonObject;
  /** True if it may cost the control plane its quorum, because its creator has allowed that. */
  readonly mayLoseQuorum: boolean;
  /**
   * True if its node is released although the work of a plan runs on it, because an annotation
   * demands that.
   */
  readonly releasesDuringWork?: boolean;
  readonly policy: DrainPolicy;
  readonly history: History;
  /** Stored status, so that only differences are written. */
  readonly status: JsonObject;
};

/**
 * Annotation with the operator that claimed a request: an object with the finalizer and without it
 * was claimed by the previous operator.
 */
export const claimAnnotation = 'drydock.dev/claim';

/**
 * Compares by age, oldest first; the name decides between objects of the same second, so that every
 * observer finds the same order.
 */
export function byAge(one: MaintenanceRequest, other: MaintenanceRequest): number {
  return Temporal.Instant.compare(one.createdAt, other.createdAt) || (one.key < other.key ? -1 : 1);
}

/**
 * Reports whether it has our finalizer, so that the node may not be forgotten before it is
 * released.
 */
export function hasFinalizer({ adapter, finalizers }: MaintenanceRequest): boolean {
  return adapter.finalizer !== undefined && finalizers.includes(adapter.finalizer);
}

const levels: readonly MaintenanceLevel[] = ['Announce', 'Cordon', 'Drain'];

const allMarks = new WeakMap<readonly KindAdapter[], Marks>();

/**
 * Returns everything that these kinds can set on a node, at any level: a hold changes nothing else
 * of it. Of two taints that differ in their value the last is returned.
 */
export function marksOf(adapters: readonly KindAdapter[]): Marks {
  const known = allMarks.get(adapters);
  if (known !== undefined) return known;
  const all = adapters.flatMap(({ marks }) => levels.map(marks));
  const taints = new Map(
    all.flatMap(({ taints }) => taints.map(taint => [taintId(taint), taint] as const)),
  );
  const marks = {
    unschedulable: true,
    taints: [...taints.values()],
    labels: Object.assign({}, ...all.map(({ labels }) => labels)) as Marks['labels'],
  };
  allMarks.set(adapters, marks);
  return marks;
}

/** The Lease with which operators agree on who works on a node. */
export type LeaseName = {
  readonly namespace: string;
  readonly name: string;
  readonly holder: string;
  /**
   * Handling of the Lease when the node is released: some operators leave an empty Lease behind,
   * for others to take.
   */
  readonly released: 'deleted' | 'blanked';
};

/** Reason and message of an event. */
type EventText = { readonly reason: string; readonly message: string };

/**
 * An adapter between the core and one served kind, implemented in one small file each; nothing else
 * knows that there are several.
 */
export type KindAdapter = {
  /** Name of its CRD: `plural.group`. */
  readonly name: string;
  readonly apiVersion: string;
  readonly kind: string;
  /**
   * Collection path for the whole cluster, for example `/apis/drydock.dev/v1alpha1/maintenances`.
   */
  readonly path: string;
  /**
   * Finalizer. Kinds without one rely on the record on the node alone: a node whose object is gone
   * is released.
   */
  readonly finalizer?: string;
  /** False if the CRD has no status subresource, and the status is written with the object. */
  readonly statusSubresource: boolean;
  /** Rule by which it keeps the quorum of the control plane. */
  readonly quorum: QuorumRule;
  /** True if its status names the blockers of a drain. */
  readonly namesBlockers?: true;
  readonly marks: (level: MaintenanceLevel) => Marks;
  /** Function that returns the Lease for a node; undefined if this kind uses none. */
  readonly lease: (nodeName: string) => LeaseName | undefined;
  /** Reporting component of its events. */
  readonly component: string;
  readonly events: {
    readonly begun: EventText;
    readonly succeeded: EventText;
    readonly failed: EventText;
    readonly removed: EventText;
    readonly uncordoned: EventText;
  };
  /**
   * Function that returns the whole status for a report. Fields that only contain the time of the
   * write are taken from the stored one as long as nothing else differs.
   */
  readonly status: (
    report: Report,
    request: MaintenanceRequest,
    now: Temporal.Instant,
  ) => JsonObject;
  /**
   * Function that returns when the status of an unchanged report will differ just because time has
   * passed.
   */
  readonly readsDifferentlyAt: (
    report: Report,
    now: Temporal.Instant,
  ) => Temporal.Instant | undefined;
  /** Function that reads an object of this kind; a string is the reason why it is invalid. */
  readonly read: (raw: unknown) => MaintenanceRequest | string;
};

/** Returns the path of one object. */
export function pathOf({
  adapter,
  namespace,
  name,
}: Pick<MaintenanceRequest, 'adapter' | 'namespace' | 'name'>): string {
  if (namespace === undefined) return `${adapter.path}/${pathSegment(name)}`;
  const cut = adapter.path.lastIndexOf('/');
  return `${adapter.path.slice(0, cut)}/namespaces/${pathSegment(namespace)}${adapter.path.slice(cut)}/${pathSegment(name)}`;
}

/** Returns the path that the status of an object is written to. */
export function statusPathOf(
  request: Pick<MaintenanceRequest, 'adapter' | 'namespace' | 'name'>,
): string {
  return request.adapter.statusSubresource ? `${pathOf(request)}/status` : pathOf(request);
}

/** Returns the `namespace/name` of a node lease, as in caches. */
export function leaseKey({ namespace, name }: LeaseName): string {
  return `${namespace}/${name}`;
}

/** Returns the leases that these kinds use on a node, each once. */
export function leaseNames(
  adapters: readonly KindAdapter[],
  nodeName: string,
): readonly LeaseName[] {
  const names: LeaseName[] = [];
  for (const adapter of adapters) {
    const name = adapter.lease(nodeName);
    if (
      name !== undefined &&
      !names.some(one => one.name === name.name && one.namespace === name.namespace)
    )
      names.push(name);
  }
  return names;
}
