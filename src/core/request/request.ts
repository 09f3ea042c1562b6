import type { JsonObject } from '../json.ts';
import type { Report } from '../maintenance/report.ts';
import type { Marks } from '../node/marks.ts';
import { taintId } from '../node/node.ts';
import type { QuorumRule } from '../quorum/quorum.ts';
import type { VmTrackingState } from '../vm/tracking.ts';
import type { DrainPolicy } from './policy.ts';
import type { MaintenanceFailure, MaintenanceStage, MaintenanceState } from './words.ts';

/** Of Drydock's own kind: somebody, a plan or a MachineMaintenance makes them. */
export const maintenancesPath = '/apis/drydock.dev/v1alpha1/maintenances';

/** Who laid hands on the request first: nobody yet, this operator, or the one that it replaces. */
export type Claim = 'none' | 'ours' | 'takenOver';

/** What the stored status says of the past. Everything else is observed anew each time. */
export type History = {
  /** Missing before the first status. */
  readonly state?: MaintenanceState;
  readonly drainStartedAt?: Temporal.Instant;
  /** The first time that the drain was complete. */
  readonly drainedAt?: Temporal.Instant;
  /** Pods that this maintenance has been asked to move so far, and how many of them have left. */
  readonly toEvict: number;
  readonly gone: number;
  readonly leaseErrors: number;
  readonly failure?: MaintenanceFailure;
  /** By `blockerId`, as far as the kind stores its blockers. */
  readonly blockedSince: ReadonlyMap<string, Temporal.Instant>;
  /** Of all blockers, where the kind stores it: more than are in `blockedSince`, where the list was cut. */
  readonly blockerCount?: number;
  /** As far as the kind stores them. */
  readonly vms?: VmTrackingState;
};

/** A status that has never been written. */
export const noHistory: History = { toEvict: 0, gone: 0, leaseErrors: 0, blockedSince: new Map() };

/** When a maintenance begins. */
export type RequestedStart = {
  readonly notBefore?: Temporal.Instant;
  /** It should be done by then. */
  readonly deadline?: Temporal.Instant;
  readonly windows: 'Respect' | 'Ignore';
  readonly expectedSeconds?: number;
};

/** A maintenance as the core sees it, whatever kind it came from. */
export type MaintenanceRequest = {
  /** Unique among all served kinds: `plural.group/namespace/name`. */
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
  readonly stage: MaintenanceStage;
  /** Missing for kinds that begin at once. */
  readonly start?: RequestedStart;
  /** The machine maintenance (`namespace/name`) that it is part of, by its own word. Its node goes with the machine: that is no failure. */
  readonly part?: { readonly of: string };
  /** The MaintenancePlan that it is part of, by its own word. */
  readonly plan?: string;
  /** `spec.drain` as stored, of one that is part of something: its maker puts back what others change. */
  readonly storedDrain?: JsonObject;
  /** It may cost the control plane its quorum: whoever made it has said so. */
  readonly mayLoseQuorum: boolean;
  /** Its node is released although the work of a plan runs on it: whoever changed it has said so. */
  readonly releasesDuringWork?: boolean;
  readonly policy: DrainPolicy;
  readonly history: History;
  /** The status as stored, to write only what differs. */
  readonly status: JsonObject;
};

/** The annotation that says who claimed a request: an object with the finalizer and without it was claimed by the operator before us. */
export const claimAnnotation = 'drydock.dev/claim';

/** Oldest first; the name decides between objects of one second, so that every observer finds the same order. */
export const byAge = (one: MaintenanceRequest, other: MaintenanceRequest): number =>
  Temporal.Instant.compare(one.createdAt, other.createdAt) || (one.key < other.key ? -1 : 1);

/** It has our finalizer, so the node may not be forgotten before it is released. */
export const hasFinalizer = ({ adapter, finalizers }: MaintenanceRequest): boolean =>
  adapter.finalizer !== undefined && finalizers.includes(adapter.finalizer);

const stages: readonly MaintenanceStage[] = ['Announce', 'Cordon', 'Drain'];

const allMarks = new WeakMap<readonly KindAdapter[], Marks>();

/** All that these kinds can put on a node, at any stage: a hold changes nothing else of it. Of two taints that differ in their value the first is told. */
export const marksOf = (adapters: readonly KindAdapter[]): Marks => {
  const known = allMarks.get(adapters);
  if (known !== undefined) return known;
  const all = adapters.flatMap(({ marks }) => stages.map(marks));
  const taints = new Map(all.flatMap(({ taints }) => taints.map(taint => [taintId(taint), taint] as const)));
  const marks = {
    unschedulable: true,
    taints: [...taints.values()],
    labels: Object.assign({}, ...all.map(({ labels }) => labels)) as Marks['labels'],
  };
  allMarks.set(adapters, marks);
  return marks;
};

/** The Lease with which operators agree on who works on a node. */
export type LeaseName = {
  readonly namespace: string;
  readonly name: string;
  readonly holder: string;
  /** What becomes of it when the node is released: some operators leave an empty Lease behind, for others to take. */
  readonly released: 'deleted' | 'blanked';
};

/** Reason and message of an event. */
type EventText = { readonly reason: string; readonly message: string };

/** How one served kind says what the core thinks. One small file a kind implements it; nothing else knows that there are several. */
export type KindAdapter = {
  /** `plural.group`, the name of its CRD. */
  readonly name: string;
  readonly apiVersion: string;
  readonly kind: string;
  /** Collection path for the whole cluster, for example `/apis/drydock.dev/v1alpha1/maintenances`. */
  readonly path: string;
  /** Kinds without one rely on the record on the node alone: a node whose object is gone is released. */
  readonly finalizer?: string;
  /** false: the CRD has no status subresource, and the status is written with the object. */
  readonly statusSubresource: boolean;
  /** Where it keeps the quorum of the control plane. */
  readonly quorum: QuorumRule;
  /** Its status names what blocks a drain. */
  readonly namesBlockers?: true;
  readonly marks: (stage: MaintenanceStage) => Marks;
  /** Undefined: this kind asks for no Lease. */
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
  /** The whole status for a report. Fields that only say when it was written are taken from the stored one as long as nothing else differs. */
  readonly status: (report: Report, request: MaintenanceRequest, now: Temporal.Instant) => JsonObject;
  /** When the status of an unchanged report will read differently just because time has passed. */
  readonly readsDifferentlyAt: (report: Report, now: Temporal.Instant) => Temporal.Instant | undefined;
  /** Reads an object of this kind; a string says why it cannot be worked with. */
  readonly read: (raw: unknown) => MaintenanceRequest | string;
};

/** The path of one object. */
export const pathOf = ({ adapter, namespace, name }: Pick<MaintenanceRequest, 'adapter' | 'namespace' | 'name'>): string => {
  if (namespace === undefined) return `${adapter.path}/${encodeURIComponent(name)}`;
  const cut = adapter.path.lastIndexOf('/');
  return `${adapter.path.slice(0, cut)}/namespaces/${encodeURIComponent(namespace)}${adapter.path.slice(cut)}/${encodeURIComponent(name)}`;
};

/** The path that the status of an object is written to. */
export const statusPathOf = (request: Pick<MaintenanceRequest, 'adapter' | 'namespace' | 'name'>): string =>
  request.adapter.statusSubresource ? `${pathOf(request)}/status` : pathOf(request);

/** `namespace/name` of a node lease, as caches know it. */
export const leaseKey = ({ namespace, name }: LeaseName): string => `${namespace}/${name}`;

/** The leases that these kinds ask for on a node, each once. */
export const leaseNames = (adapters: readonly KindAdapter[], nodeName: string): readonly LeaseName[] => {
  const names: LeaseName[] = [];
  for (const adapter of adapters) {
    const name = adapter.lease(nodeName);
    if (name !== undefined && !names.some(one => one.name === name.name && one.namespace === name.namespace)) names.push(name);
  }
  return names;
};
