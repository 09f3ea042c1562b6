import { earliest, secondsAfter, secondsBetween } from '@drydock/apimachinery';
import type { EvictionCandidate } from '../../../drain/plan.ts';
import type { Rung } from '../../../drain/policy.ts';
import { shutDownAt } from '../../../vm/shut-down.ts';
import type { VmPod } from '../../../vm/vm-pod.ts';
import type { RequestProgress } from '../../reconcile-context.ts';
import { type DrainView, isEmpty } from './view.ts';
import type { VmAssessment } from './vms.ts';

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
