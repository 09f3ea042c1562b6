import type { BlockerInfo } from '../drain/blockers/blocker.ts';
import type { DrainCounter, DrainCounts } from '../drain/drain-counter.ts';
import type { EvictionPlan } from '../drain/plan.ts';
import type { Node } from '../node/node.ts';
import { byAge, hasFinalizer, type MaintenanceRequest } from '../request/request.ts';
import type { MaintenanceFailure } from '../request/words.ts';
import { isBefore, secondsAfter } from '../time.ts';
import type { DesiredHostState } from '../vm/host.ts';
import type { VmTrackingState } from '../vm/tracking.ts';
import type { VmStatus } from '../vm/vm-status.ts';
import type { KubeEvent, ObjectReference, Write } from '../write.ts';
import type { Lookup } from './decision.ts';
import { waitsForWork, workProblem } from './plan-work.ts';
import type { Problem } from './report.ts';
import type { NodeSnapshot, Restored } from './snapshot.ts';

/** How the drain stands for one request. */
export type DrainProgress = {
  readonly count: DrainCounts;
  readonly total: number;
  readonly tally: DrainCounter;
  /** Pods still to go, sorted. */
  readonly waiting: readonly { readonly namespace: string; readonly name: string }[];
  readonly blockerInfos: readonly BlockerInfo[];
  /** All pods are gone and, where asked for, their volumes detached. */
  readonly complete: boolean;
  /** All pods are gone. */
  readonly emptied: boolean;
  /** Every VM that was to leave, those that have left included. */
  readonly vms: readonly VmStatus[];
  /** When the last VM will have moved, as far as that can be told. */
  readonly vmsMovedAt?: Temporal.Instant;
};

/** Where one request stands, as far as the steps have come. */
export type RequestProgress = {
  readonly request: MaintenanceRequest;
  /** The node lease is ours. */
  readonly granted: boolean;
  /** Its marks belong on the node. */
  readonly holds: boolean;
  /** The control plane cannot spare the node now, or it is not yet time: it is neither asked for nor held for this request. */
  readonly barred: boolean;
  /** The control plane loses its quorum with this node, and the kind lets it go all the same: what that costs. */
  readonly atStake?: string;
  /** Its window has closed: the node stays held, and nothing is evicted for it. */
  readonly paused?: true;
  /** It is deleted, and its node stays held until the work of its plan has ended. */
  readonly lingers?: true;
  /** What it had begun counts no more: it begins anew another time. */
  readonly restarts?: true;
  /** When it will begin. */
  readonly startsAt?: Temporal.Instant;
  readonly leaseErrors: number;
  readonly failure?: MaintenanceFailure;
  readonly problem?: Problem;
  readonly drain?: DrainProgress;
  /** What is said of the operator's own pod, which is left on the node. */
  readonly stays?: string;
};

/** The lease is its own, and it wants the node held. */
export const hasNode = ({ granted, holds }: RequestProgress): boolean => granted && holds;

/** It is to be drained, and its marks are on the node. */
export const isDraining = (progress: RequestProgress): boolean => progress.request.stage === 'Drain' && hasNode(progress);

/** And the drain neither pauses nor has failed. */
export const isActive = (progress: RequestProgress): boolean => isDraining(progress) && !progress.paused && progress.failure === undefined;

/** What is known and decided, handed from step to step. */
export type ReconcileContext = {
  readonly snapshot: NodeSnapshot;
  readonly now: Temporal.Instant;
  /** Requests that want the node and are claimed, oldest first. */
  readonly progresses: readonly RequestProgress[];
  /** Requests being deleted that still have our finalizer. */
  readonly leaving: readonly MaintenanceRequest[];
  readonly writes: readonly Write[];
  readonly plan: EvictionPlan;
  readonly moments: readonly Temporal.Instant[];
  readonly lookups: readonly Lookup[];
  /** The pods have to be read once more, now that the hold is in place. */
  readonly confirmPods: boolean;
  /** Only the operator's own pod is left to be asked. */
  readonly handOver: boolean;
  /** uids of the pods that may be evicted at all: what is queued beside them is called back. */
  readonly evictable: ReadonlySet<string>;
  /** The drain has been looked at: what is not evictable now is not wanted gone. */
  readonly isDrainJudged: boolean;
  readonly leaseMissedAt?: Temporal.Instant;
  /** Missing where nobody has removed marks of late. */
  readonly restored?: Restored;
  /** uids of the pods that were there when the node was held; missing as long as that is not known. */
  readonly residents?: ReadonlySet<string>;
  /** How the VMs of the node stand. */
  readonly vms?: VmTrackingState;
  readonly recalled: ReadonlyMap<string, Temporal.Instant>;
  /** VMs that move although nobody wants that any more, because they had begun. */
  readonly stillMoving: readonly string[];
  readonly desiredHost?: DesiredHostState;
};

/** What a step makes of the course. The next one has its turn only when this one is done. */
type StepResult = { readonly done: boolean; readonly context: ReconcileContext };

export type ReconcileStep = (context: ReconcileContext) => StepResult;

/** A node that was missing is looked for anew each time; the other failures are facts of the past. */
export const firstProgress = (request: MaintenanceRequest): RequestProgress => {
  const { failure, leaseErrors } = request.history;
  return {
    request,
    granted: false,
    holds: false,
    barred: false,
    leaseErrors,
    ...(failure !== undefined && failure !== 'NodeNotFound' && { failure }),
  };
};

/** Held as it was, and nothing more is evicted for it. */
const lingering = (request: MaintenanceRequest): RequestProgress => ({
  ...firstProgress(request),
  paused: true,
  lingers: true,
  problem: workProblem(request),
});

/** Seconds after which nobody is told any more that marks were removed. */
const restoredFor = 600;

const restoredOfLate = ({ restored }: NodeSnapshot['memo'], now: Temporal.Instant): Pick<ReconcileContext, 'restored'> =>
  restored !== undefined && isBefore(now, secondsAfter(restored.lastAt, restoredFor)) ? { restored } : {};

/** The course before the first step. */
export const startContext = (snapshot: NodeSnapshot, now: Temporal.Instant): ReconcileContext => {
  const requests = snapshot.requests.toSorted(byAge);
  const waits = (request: MaintenanceRequest): boolean => waitsForWork(request, snapshot);
  return {
    snapshot,
    now,
    progresses: requests
      .filter(request => !request.deleting || waits(request))
      .map(request => (waits(request) ? lingering(request) : firstProgress(request))),
    leaving: requests.filter(request => request.deleting && hasFinalizer(request) && !waits(request)),
    writes: [],
    plan: { calls: [], blockerInfos: [], waitsFor: [], waitsForSlots: false, recreations: snapshot.memo.recreations },
    moments: [],
    lookups: [],
    confirmPods: false,
    handOver: false,
    evictable: new Set(),
    isDrainJudged: false,
    recalled: new Map(),
    stillMoving: [],
    ...(snapshot.memo.vms && { vms: snapshot.memo.vms }),
    ...(snapshot.memo.residents && snapshot.node?.holdRecord !== undefined && { residents: snapshot.memo.residents }),
    ...restoredOfLate(snapshot.memo, now),
    ...(snapshot.memo.leaseMissedAt && { leaseMissedAt: snapshot.memo.leaseMissedAt }),
  };
};

const subjectOf = (request: MaintenanceRequest): ObjectReference => ({
  apiVersion: request.adapter.apiVersion,
  kind: request.adapter.kind,
  name: request.name,
  ...(request.namespace !== undefined && { namespace: request.namespace }),
  uid: request.uid,
  resourceVersion: request.resourceVersion,
});

export const nodeSubject = ({ name, uid }: Node): ObjectReference => ({ apiVersion: 'v1', kind: 'Node', name, uid });

export const kubeEventFor = (
  request: MaintenanceRequest,
  type: KubeEvent['type'],
  text: { readonly reason: string; readonly message: string },
  about: ObjectReference = subjectOf(request),
): KubeEvent => ({ type, ...text, component: request.adapter.component, about });
