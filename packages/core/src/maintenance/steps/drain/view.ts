import { earliest, secondsAfter, secondsBetween } from '@drydock/apimachinery';
import type { BlockerInfo } from '../../../drain/blockers/blocker.ts';
import { countOf, startCounter, updateCounter } from '../../../drain/drain-counter.ts';
import {
  type DrainBehavior,
  drainBehaviorOf,
  type FilterContext,
  waitedForUntil,
} from '../../../drain/filters.ts';
import type { EvictionCandidate } from '../../../drain/plan.ts';
import { type Rung, rungAt } from '../../../drain/policy.ts';
import {
  nothingTracked,
  trackVms,
  type VmTrackingState,
} from '../../../drain/vm/vm-pod-decision.ts';
import type { Pod } from '../../../pod/pod.ts';
import { type VmPod, vmPodsOf } from '../../../vm/vm-pod.ts';
import { lastMoveAt, shutDownAt, type VmStatus } from '../../../vm/vm-status.ts';
import type { DrainProgress, ReconcileContext, RequestProgress } from '../../reconcile-context.ts';

/** View of the pods by one request. */
export type DrainView = {
  readonly progress: RequestProgress;
  readonly rung?: Rung;
  readonly behaviors: readonly { readonly pod: Pod; readonly behavior: DrainBehavior }[];
};

/**
 * Returns the rung in force. The ladder is for the drain, not for pods that come after its
 * completion.
 */
export function rungOf({ request }: RequestProgress, now: Temporal.Instant): Rung | undefined {
  const { drainStartedAt, drainedAt } = request.history;
  if (drainStartedAt === undefined || drainedAt !== undefined) return undefined;
  return rungAt(request.policy.ladder, secondsBetween(drainStartedAt, now));
}

export function viewOf(
  progress: RequestProgress,
  pods: readonly Pod[],
  filterContext: FilterContext,
): DrainView {
  const { now } = filterContext;
  const rung = rungOf(progress, now);
  const behaviors = pods.map(pod => ({
    pod,
    behavior: drainBehaviorOf(pod, progress.request.policy, filterContext),
  }));
  return { progress, behaviors, ...(rung && { rung }) };
}

type Judged = DrainView['behaviors'][number];

/** Reports whether the drain ignores the pod. */
function stays({ behavior }: Judged): boolean {
  return behavior.behavior === 'ignore';
}

export function isEmpty({ behaviors }: DrainView): boolean {
  return behaviors.every(stays);
}

/**
 * Reports whether a refused pod stops the whole drain of its request, as in kubectl: no pod is
 * moved for a node that cannot be emptied.
 */
export function isStopped({ behaviors }: DrainView): boolean {
  return behaviors.some(({ behavior }) => behavior.behavior === 'refuse');
}

/** Returns the times at which pods that have been terminating for too long no longer count. */
export function waitsEnd({ progress, behaviors }: DrainView): readonly Temporal.Instant[] {
  return behaviors.flatMap(({ pod, behavior }) =>
    behavior.behavior === 'evict' ? (waitedForUntil(pod, progress.request.policy) ?? []) : [],
  );
}

/** Result of one look at the VMs of the node. */
export type VmAssessment = {
  /** VM pods by the uid of the pod. */
  readonly vmPods: ReadonlyMap<string, VmPod>;
  /** Tracked VMs; missing if there is no KubeVirt. */
  readonly tracked?: VmTrackingState;
  readonly movedAt?: Temporal.Instant;
  /**
   * Function that returns the VMs that a request wants gone, including those that have left; sorted
   * by name.
   */
  readonly statusesOf: (
    behaviors: readonly { readonly pod: Pod; readonly behavior: DrainBehavior }[],
  ) => readonly VmStatus[];
};

/** Returns the stored state, for a process that has just started. */
function trackedBefore({ snapshot, progresses }: ReconcileContext): VmTrackingState {
  return (
    snapshot.memo.vms ??
    progresses.map(({ request }) => request.history.vms).find(vms => vms !== undefined) ??
    nothingTracked
  );
}

function byName(one: VmStatus, other: VmStatus): number {
  return one.name < other.name ? -1 : one.name > other.name ? 1 : 0;
}

/** Assesses the VMs of the node once, for all requests. */
export function assessVms(context: ReconcileContext, pods: readonly Pod[]): VmAssessment {
  const { nodeName, vms } = context.snapshot;
  if (vms === undefined) return { vmPods: new Map(), statusesOf: () => [] };
  const vmPods = vmPodsOf(nodeName, pods, vms);
  const tracked = trackVms(nodeName, pods, vmPods, vms, trackedBefore(context), context.now);
  const movedAt = lastMoveAt(vmPods.values(), vms, context.now);
  return {
    vmPods,
    tracked,
    ...(movedAt && { movedAt }),
    statusesOf: behaviors => {
      const staying = new Set(
        behaviors.flatMap(({ pod, behavior }) =>
          behavior.behavior === 'ignore' ? (vmPods.get(pod.uid)?.vmi.uid ?? []) : [],
        ),
      );
      return [...tracked.vms.values()].filter(({ id }) => !staying.has(id)).sort(byName);
    },
  };
}

/** Changes over time: the rungs of the ladder, and the policy for VMs that cannot be moved. */

/** Returns the time at which the next rung comes into force. */
export function nextRung(
  { request }: RequestProgress,
  now: Temporal.Instant,
): Temporal.Instant | undefined {
  const start = request.history.drainStartedAt ?? now;
  if (request.history.drainedAt !== undefined) return undefined;
  const next = request.policy.ladder.find(
    ({ afterSeconds }) => afterSeconds > secondsBetween(start, now),
  );
  return next && secondsAfter(start, next.afterSeconds);
}

/** Returns the time at which the first VM that cannot move is to be shut down. */
export function nextShutDown(
  { request: { policy, history } }: RequestProgress,
  { vmPods }: VmAssessment,
  now: Temporal.Instant,
): Temporal.Instant | undefined {
  const times = [...vmPods.values()].map(vmPod =>
    shutDownAt(vmPod, policy.virtualMachines, history.drainStartedAt ?? now, now),
  );
  return earliest(times.map(time => (time === 'now' ? undefined : time)));
}

/**
 * Applies the rung in force, or the policy for VMs that cannot move: the method beyond an eviction,
 * and its grace period.
 */
export function escalationFor(
  { progress, rung }: DrainView,
  vmPod: VmPod | undefined,
  now: Temporal.Instant,
): Partial<EvictionCandidate> {
  const { policy, history } = progress.request;
  if (rung?.action === 'Delete') {
    return {
      method: 'delete',
      escalated: true,
      ...(rung.gracePeriodSeconds !== undefined && { gracePeriodSeconds: rung.gracePeriodSeconds }),
    };
  }
  const { virtualMachines: vms } = policy;
  if (vmPod === undefined || shutDownAt(vmPod, vms, history.drainStartedAt ?? now, now) !== 'now')
    return {};
  const grace = vms.shutDownGracePeriodSeconds;
  return {
    method: 'delete',
    escalated: true,
    shutsDownVm: true,
    ...(grace !== undefined && { gracePeriodSeconds: grace }),
  };
}

const deadlineExceeded = {
  reason: 'DeadlineExceeded',
  message: 'the drain was not complete in time; the node stays held',
};

/** Problem of a request whose policy has released the node. */
export const released = {
  reason: 'Released',
  message: 'the drain was not complete in time; the node is released',
};

type End = Pick<RequestProgress, 'failure' | 'problem' | 'holds'>;

/**
 * Returns how a rung ends an incomplete drain; undefined while the drain goes on. Release only
 * reports it here: from the next pass on, a request that failed with Released does not want the
 * node any more (`wantsNode` of the step `lease`), and the step `hold` releases the node.
 */
export function outOfTime(rung: Rung | undefined): End | undefined {
  if (rung?.action === 'Fail')
    return { failure: 'DeadlineExceeded', holds: true, problem: deadlineExceeded };
  if (rung?.action === 'Release') return { failure: 'Released', holds: true, problem: released };
  return undefined;
}

/** Returns the end of the drain of the pods; undefined as long as it goes on. */
export function ended(view: DrainView): End | undefined {
  const { progress, rung } = view;
  if (progress.paused) return { holds: true };
  if (progress.failure === 'DeadlineExceeded') {
    return { failure: 'DeadlineExceeded', holds: true, problem: deadlineExceeded };
  }
  return isEmpty(view) ? undefined : outOfTime(rung);
}

function uidOf({ pod }: Judged): string {
  return pod.uid;
}

export function about({ namespace, name }: Pod): {
  readonly namespace: string;
  readonly name: string;
} {
  return { namespace, name };
}

type Awaited = Extract<DrainBehavior, { readonly behavior: 'await' }>['reason'];

/** Blockers for pods that are left to end on their own. */
const awaited: Readonly<Record<Awaited, Pick<BlockerInfo, 'reason' | 'message'>>> = {
  AwaitingCompletion: {
    reason: 'AwaitingCompletion',
    message: 'is left to finish by itself, as the policy demands',
  },
  GoesWithItsVm: { reason: 'EarlierWave', message: 'is a volume of a VM, and goes with it' },
  WorkOfPlan: {
    reason: 'WorkOfPlan',
    message:
      'runs the work of a MaintenancePlan on this node, and ends within the time limit of that work',
  },
};

function behaviorBlockerInfo(pod: Pod, behavior: DrainBehavior): BlockerInfo | undefined {
  if (behavior.behavior === 'refuse')
    return {
      reason: behavior.reason,
      pod: about(pod),
      message: behavior.message,
      remedy: behavior.remedy,
    };
  if (behavior.behavior === 'await') return { pod: about(pod), ...awaited[behavior.reason] };
  return undefined;
}

type DrainAssessment = {
  readonly pods: readonly Pod[];
  readonly blockerInfos: ReadonlyMap<string, BlockerInfo>;
  readonly vms: VmAssessment;
};

export function progressAfter(
  view: DrainView,
  { pods, blockerInfos, vms }: DrainAssessment,
  context: ReconcileContext,
): DrainProgress {
  const { request } = view.progress;
  const left = view.behaviors.filter(one => !stays(one));
  const before =
    context.snapshot.memo.tallies.get(request.key) ?? startCounter(request.history, left.length);
  const tally = updateCounter(before, left.map(uidOf), view.behaviors.filter(stays).map(uidOf));
  const count = countOf(tally, left.length);
  const own = left.flatMap(
    ({ pod, behavior }) => behaviorBlockerInfo(pod, behavior) ?? blockerInfos.get(pod.key) ?? [],
  );
  return {
    tally,
    count,
    total: count.toEvict + pods.length - left.length,
    waiting: left.map(({ pod }) => about(pod)),
    blockerInfos: own,
    emptied: left.length === 0,
    complete: left.length === 0,
    vms: vms.statusesOf(view.behaviors),
    ...(vms.movedAt && { vmsMovedAt: vms.movedAt }),
  };
}
