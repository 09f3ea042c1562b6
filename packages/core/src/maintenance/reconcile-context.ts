import type { KubeEvent, ObjectReference } from '@drydock/apimachinery';
import { isBefore, secondsAfter } from '@drydock/apimachinery';
import type { BlockerInfo } from '../drain/blockers/blocker.ts';
import type { DrainCounter, DrainCounts } from '../drain/drain-counter.ts';
import type { EvictionPlan } from '../drain/plan.ts';
import type { VmTrackingState } from '../drain/vm/vm-pod-decision.ts';
import type { Node } from '../node/node.ts';
import {
  byAge,
  hasFinalizer,
  type MaintenanceFailure,
  type MaintenanceRequest,
  type Problem,
} from '../request/request.ts';
import type { DesiredHostState, VmStatus } from '../vm/vm-status.ts';
import type { Write } from '../write.ts';
import { type Lookup, waitsForWork, workProblem } from './decision.ts';
import type { NodeSnapshot, Restored } from './snapshot.ts';

/** Progress of the drain for one request. */
export type DrainProgress = {
  readonly count: DrainCounts;
  readonly total: number;
  readonly tally: DrainCounter;
  /** Pods that still have to leave, sorted. */
  readonly waiting: readonly { readonly namespace: string; readonly name: string }[];
  readonly blockerInfos: readonly BlockerInfo[];
  /** True if all pods have left and, where the policy demands it, their volumes are detached. */
  readonly complete: boolean;
  /** True if all pods have left. */
  readonly emptied: boolean;
  /** Every VM that was to leave, including those that have left. */
  readonly vms: readonly VmStatus[];
  /** Estimated time at which the last VM has moved, as far as it can be estimated. */
  readonly vmsMovedAt?: Temporal.Instant;
};

/** Progress of one request, as far as the steps have come. */
export type RequestProgress = {
  readonly request: MaintenanceRequest;
  /** True if this operator holds the node lease. */
  readonly granted: boolean;
  /** True if the marks of the request belong on the node. */
  readonly holds: boolean;
  /**
   * True if the control plane cannot spare the node now, or the start is not due: this request
   * neither leases nor holds the node.
   */
  readonly barred: boolean;
  /**
   * Cost of the loss of quorum, where the control plane loses it with this node and the kind allows
   * that.
   */
  readonly atStake?: string;
  /** True if the window has closed: the node stays held, and nothing is evicted for the request. */
  readonly paused?: true;
  /**
   * True if the request is deleted and its node stays held until the work of its plan has ended.
   */
  readonly lingers?: true;
  /** True if the progress so far is discarded: the request starts over at another time. */
  readonly restarts?: true;
  /** Time of its start. */
  readonly startsAt?: Temporal.Instant;
  readonly leaseErrors: number;
  readonly failure?: MaintenanceFailure;
  readonly problem?: Problem;
  readonly drain?: DrainProgress;
  /** Text about the operator's own pod, which is left on the node. */
  readonly stays?: string;
};

/** Reports whether the request has the lease and wants the node held. */
export function hasNode({ granted, holds }: RequestProgress): boolean {
  return granted && holds;
}

/** Reports whether the request drains the node, and its marks are on the node. */
export function isDraining(progress: RequestProgress): boolean {
  return progress.request.level === 'Drain' && hasNode(progress);
}

/** Reports whether the request drains the node, and the drain neither pauses nor has failed. */
export function isActive(progress: RequestProgress): boolean {
  return isDraining(progress) && !progress.paused && progress.failure === undefined;
}

/** Facts and decisions that are passed from step to step. */
export type ReconcileContext = {
  readonly snapshot: NodeSnapshot;
  readonly now: Temporal.Instant;
  /** Claimed requests that want the node, oldest first. */
  readonly progresses: readonly RequestProgress[];
  /** Requests that are being deleted and still have our finalizer. */
  readonly leaving: readonly MaintenanceRequest[];
  readonly writes: readonly Write[];
  readonly plan: EvictionPlan;
  readonly moments: readonly Temporal.Instant[];
  readonly lookups: readonly Lookup[];
  /** True if the pods have to be listed once more, now that the hold is in place. */
  readonly confirmPods: boolean;
  /** True if only the operator's own pod is left to evict. */
  readonly handOver: boolean;
  /** uids of the pods that may be evicted at all: any other queued eviction is cancelled. */
  readonly evictable: ReadonlySet<string>;
  /** True if the drain has been judged: a pod that is not evictable now is not to leave. */
  readonly isDrainJudged: boolean;
  readonly leaseMissedAt?: Temporal.Instant;
  /** Marks that were removed and restored; missing if none was removed lately. */
  readonly restored?: Restored;
  /**
   * uids of the pods that were there when the node was held; missing as long as that is not known.
   */
  readonly residents?: ReadonlySet<string>;
  /** State of the VMs of the node. */
  readonly vms?: VmTrackingState;
  readonly recalled: ReadonlyMap<string, Temporal.Instant>;
  /** VMs that move although no request wants that any more, because their migration had begun. */
  readonly stillMoving: readonly string[];
  readonly desiredHost?: DesiredHostState;
};

/** Result of a step. The next step runs only if this one is done. */
type StepResult = { readonly done: boolean; readonly context: ReconcileContext };

export type ReconcileStep = (context: ReconcileContext) => StepResult;

/**
 * Returns the progress before the first step. A missing node is looked up again each time; the
 * other failures are facts of the past.
 */
export function firstProgress(request: MaintenanceRequest): RequestProgress {
  const { failure, leaseErrors } = request.history;
  return {
    request,
    granted: false,
    holds: false,
    barred: false,
    leaseErrors,
    ...(failure !== undefined && failure !== 'NodeNotFound' && { failure }),
  };
}

/**
 * Returns the progress of a lingering request: the node stays held as it was, and nothing more is
 * evicted for it.
 */
function lingering(request: MaintenanceRequest): RequestProgress {
  return {
    ...firstProgress(request),
    paused: true,
    lingers: true,
    problem: workProblem(request),
  };
}

/** Seconds after which the removal of marks is no longer reported. */
const restoredFor = 600;

function restoredOfLate(
  { restored }: NodeSnapshot['memo'],
  now: Temporal.Instant,
): Pick<ReconcileContext, 'restored'> {
  return restored !== undefined && isBefore(now, secondsAfter(restored.lastAt, restoredFor))
    ? { restored }
    : {};
}

/** Returns the context before the first step. */
export function startContext(snapshot: NodeSnapshot, now: Temporal.Instant): ReconcileContext {
  const requests = snapshot.requests.toSorted(byAge);
  const waits = (request: MaintenanceRequest): boolean => waitsForWork(request, snapshot);
  return {
    snapshot,
    now,
    progresses: requests
      .filter(request => !request.deleting || waits(request))
      .map(request => (waits(request) ? lingering(request) : firstProgress(request))),
    leaving: requests.filter(
      request => request.deleting && hasFinalizer(request) && !waits(request),
    ),
    writes: [],
    plan: {
      calls: [],
      blockerInfos: [],
      waitsFor: [],
      waitsForSlots: false,
      recreations: snapshot.memo.recreations,
    },
    moments: [],
    lookups: [],
    confirmPods: false,
    handOver: false,
    evictable: new Set(),
    isDrainJudged: false,
    recalled: new Map(),
    stillMoving: [],
    ...(snapshot.memo.vms && { vms: snapshot.memo.vms }),
    ...(snapshot.memo.residents &&
      snapshot.node?.holdRecord !== undefined && { residents: snapshot.memo.residents }),
    ...restoredOfLate(snapshot.memo, now),
    ...(snapshot.memo.leaseMissedAt && { leaseMissedAt: snapshot.memo.leaseMissedAt }),
  };
}

function subjectOf(request: MaintenanceRequest): ObjectReference {
  return {
    apiVersion: request.adapter.apiVersion,
    kind: request.adapter.kind,
    name: request.name,
    ...(request.namespace !== undefined && { namespace: request.namespace }),
    uid: request.uid,
    resourceVersion: request.resourceVersion,
  };
}

export function nodeSubject({ name, uid }: Node): ObjectReference {
  return { apiVersion: 'v1', kind: 'Node', name, uid };
}

export function kubeEventFor(
  request: MaintenanceRequest,
  type: KubeEvent['type'],
  text: { readonly reason: string; readonly message: string },
  about: ObjectReference = subjectOf(request),
): KubeEvent {
  return { type, ...text, component: request.adapter.component, about };
}
