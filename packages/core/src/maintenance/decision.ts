import { isObject, type JsonObject, labelOf, statusChange } from '@drydock/apimachinery';
import type { BlockerInfo } from '../drain/blockers/blocker.ts';
import type { PodCall } from '../drain/plan.ts';
import type { Marks } from '../node/marks.ts';
import { type Node, taintId } from '../node/node.ts';
import {
  hasFinalizer,
  type MaintenanceRequest,
  type Problem,
  type Report,
  statusPathOf,
} from '../request/request.ts';
import type { DesiredHostState } from '../vm/vm-status.ts';
import type { Write } from '../write.ts';
import type { NodeSnapshot, ReconcileMemo } from './snapshot.ts';

/**
 * Returns the text for a collection that the decision needs and that this user has no permission to
 * read.
 */
export function notAllowedText(collection: string): string {
  return `Drydock may not read ${collection}, without which nothing is decided here, and leaves all as it is until it may: drydock check says which right it lacks`;
}

/** Returns the status of the condition NodeHeld; undefined if there is no such condition. */
function saidHeld({ conditions }: JsonObject): boolean | undefined {
  const condition = Array.isArray(conditions)
    ? conditions.find(one => isObject(one) && one['type'] === 'NodeHeld')
    : undefined;
  return isObject(condition) ? condition['status'] === 'True' : undefined;
}

/**
 * Builds a report with only the reason why the maintenance does not go on; the rest stays as last
 * reported.
 */
function reportOf({ history, status }: MaintenanceRequest, problem: Problem): Report {
  return {
    state: history.state ?? 'Pending',
    held:
      saidHeld(status) ??
      (history.state !== undefined && history.state !== 'Pending' && history.state !== 'Announced'),
    leaseErrors: history.leaseErrors,
    waiting: [],
    blockers: [],
    problem,
    ...(history.failure !== undefined && { failure: history.failure }),
    ...(history.drainStartedAt && { drainStartedAt: history.drainStartedAt }),
    ...(history.drainedAt && { drainedAt: history.drainedAt }),
  };
}

/**
 * Returns the write that changes the status of a maintenance, provided that the object has not
 * changed meanwhile.
 */
export function statusPatch(request: MaintenanceRequest, what: string, patch: JsonObject): Write {
  return {
    description: `report ${what}`,
    method: 'PATCH',
    style: 'merge',
    path: statusPathOf(request),
    body: { metadata: { resourceVersion: request.resourceVersion }, status: patch },
    cache: 'requests',
    adapter: request.adapter.name,
    reportOf: request.key,
    events: [],
  };
}

/**
 * Returns the write that reports why a maintenance is not worked on at all, where nothing else is
 * decided about it; undefined if the status reports it already.
 */
export function problemWrite(
  request: MaintenanceRequest,
  problem: Problem,
  now: Temporal.Instant,
): Write | undefined {
  const patch = statusChange(
    request.status,
    request.adapter.status(reportOf(request, problem), request, now),
  );
  return patch && statusPatch(request, problem.reason, patch);
}

/**
 * A node is not released while the work of a plan runs on it: the pod that reboots it may end any
 * moment, together with every pod that has come to the node since. The plan ends its work within
 * its own time limit; a Maintenance that is deleted earlier waits for that.
 */

/**
 * Annotation on the Maintenance of a plan. With the value "true" its node is released at once,
 * although the work of the plan runs on it.
 */
export const releaseDuringWorkAnnotation = 'drydock.dev/release-during-work';

/**
 * Reports whether a deleted Maintenance has to wait for the work of its plan. Plans that are not
 * known yet count as working.
 */
export function waitsForWork(
  request: MaintenanceRequest,
  { node, planWork }: Pick<NodeSnapshot, 'node' | 'planWork'>,
): boolean {
  const { deleting, plan, releasesDuringWork } = request;
  if (
    !deleting ||
    plan === undefined ||
    releasesDuringWork ||
    planWork === undefined ||
    !hasFinalizer(request)
  )
    return false;
  return (
    node?.holdRecord !== undefined &&
    (planWork.plans === undefined || planWork.plans.has(labelOf(plan)))
  );
}

function remedyFor({ name }: MaintenanceRequest): string {
  return `to release it at once: kubectl annotate maintenances.drydock.dev ${name} ${releaseDuringWorkAnnotation}=true`;
}

/** Returns the problem that the status of such a Maintenance reports. */
export function workProblem(request: MaintenanceRequest): Problem {
  return {
    reason: 'WorkOfPlan',
    message: `deleted, and released when the work of MaintenancePlan ${request.plan ?? ''} on the node has ended; ${remedyFor(request)}`,
  };
}

/** Returns the blocker that keeps its node. */
export function workBlocker(request: MaintenanceRequest): BlockerInfo {
  return {
    reason: 'WorkOfPlan',
    message: `MaintenancePlan ${request.plan ?? ''} works on the node: it ends within the time limit of its work`,
    remedy: remedyFor(request),
  };
}

/**
 * Lookups that only the API server can resolve. `key` is `namespace/name`; for a request, `key` is
 * the request's own.
 */
export type Lookup =
  /** Volume of a claim. */
  | { readonly kind: 'PersistentVolumeClaim'; readonly key: string }
  /** Existence of the DaemonSet that a pod names with this uid. */
  | { readonly kind: 'DaemonSet'; readonly key: string; readonly uid: string }
  /** Pods of a namespace that are on no node. They change, so this lookup is repeated. */
  | { readonly kind: 'UnscheduledPods'; readonly key: string }
  /**
   * Completeness of the windows: whether the watch has delivered all that were there before this
   * request.
   */
  | {
      readonly kind: 'MaintenanceWindows';
      readonly key: string;
      readonly uid: string;
      readonly generation: number;
    };

/** Decision on what to do about a node now. */
export type Decision = {
  /** Writes that are independent of each other: they may be sent at the same time. */
  readonly writes: readonly Write[];
  readonly calls: readonly PodCall[];
  /** uids of pods whose eviction may still be sent: any other queued eviction is cancelled. */
  readonly evictable: ReadonlySet<string>;
  /** Budgets (`namespace/name`) whose change requeues the node. */
  readonly waitsFor: readonly string[];
  /** True if VMs wait until KubeVirt has less to do: any change of a VM requeues the node. */
  readonly waitsForSlots: boolean;
  /**
   * State that the hypervisor of the node is to have, so that its VMs leave as well; missing if
   * they may stay, or if this pass cannot decide it.
   */
  readonly desiredHost?: DesiredHostState;
  /**
   * Number of pods that still have to leave: the fewer, the earlier the node's turn. Infinity where
   * nothing is drained.
   */
  readonly remaining: number;
  /** True if the pods of the node have to be watched. */
  readonly watchPods: boolean;
  /**
   * True if the pods have to be listed once more, now that the hold is in place: an old list must
   * not make a node count as empty.
   */
  readonly confirmPods: boolean;
  /**
   * True if only the operator's own pod is left: another replica has to lead before that pod may
   * leave.
   */
  readonly handOver: boolean;
  /** True if no controller has responded to an EvictionRequest: for a while none is created. */
  readonly requestUnanswered: boolean;
  /** Lookups that have to be resolved before anything else is decided. */
  readonly lookups: readonly Lookup[];
  readonly notes: ReconcileMemo;
  /** Time of the next look, even if nothing changes before. */
  readonly requeueAt?: Temporal.Instant;
};

function carries(node: Node, { taints }: Marks): boolean {
  return (
    taints.length > 0 &&
    taints.every(wanted => node.taints.some(taint => taintId(taint) === taintId(wanted)))
  );
}

/**
 * Reports whether the previous operator has put these marks on the node, without a record of the
 * state before.
 */
export function markedByPredecessor(node: Node, request: MaintenanceRequest): boolean {
  return request.claim !== 'ours' && carries(node, request.adapter.marks('Drain'));
}

/**
 * Reports whether the node is held, by this operator or by the previous one: the hold stays until
 * it is released on purpose.
 */
export function isHeldAlready(node: Node, request: MaintenanceRequest): boolean {
  return node.holdRecord !== undefined || markedByPredecessor(node, request);
}

/**
 * Reports whether the node carries all marks that the request puts on it, according to the informer
 * cache.
 */
export function carriesMarks(
  node: Node,
  { adapter, level }: Pick<MaintenanceRequest, 'adapter' | 'level'>,
): boolean {
  const { unschedulable, taints, labels } = adapter.marks(level);
  return (
    (!unschedulable || node.unschedulable) &&
    taints.every(wanted => node.taints.some(taint => taintId(taint) === taintId(wanted))) &&
    Object.entries(labels).every(([key, value]) => node.labels[key] === value)
  );
}
