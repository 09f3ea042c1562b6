import { secondsAfter } from '@drydock/apimachinery';
import type { MaintenanceRequest } from '../../request/request.ts';
import { cancelEvictions as callBack } from '../../vm/eviction-cancellation.ts';
import { isActive, type ReconcileContext, type ReconcileStep } from '../reconcile-context.ts';

/** Reports whether evictions of its pods may have been sent. */
function hasBegun({ history: { drainStartedAt, state } }: MaintenanceRequest): boolean {
  return (
    drainStartedAt !== undefined ||
    state === 'Draining' ||
    state === 'Detaching' ||
    state === 'Drained' ||
    state === 'Failed'
  );
}

/**
 * Reports whether the drain that requested the evacuations has ended or pauses, and no other party
 * is seen to want the VMs gone.
 */
function wantsThemBack({ snapshot: { node }, progresses, leaving }: ReconcileContext): boolean {
  if (progresses.some(isActive) || node === undefined) return false;
  if (
    progresses.some(
      ({ holds, paused, failure, request }) =>
        holds && hasBegun(request) && (paused || failure !== undefined),
    )
  )
    return true;
  // A node that stays cordoned was so before: another party may be draining it.
  return leaving.some(hasBegun) && node.holdRecord === undefined && !node.unschedulable;
}

/**
 * Cancels evacuations of VMs: an uncordon alone leaves the VMs marked, and KubeVirt would go on to
 * move them. Migrations that have not begun are cancelled; the rest is named.
 */
export const cancelVmEvictions: ReconcileStep = context => {
  const { vms, nodeName, memo: notes } = context.snapshot;
  if (vms === undefined || !wantsThemBack(context)) return { done: true, context };
  const { writes, goingOn, asked, waits } = callBack(nodeName, vms, notes.recalled, context.now);
  const after: ReconcileContext = {
    ...context,
    writes: [...context.writes, ...writes],
    stillMoving: goingOn,
    recalled: asked,
  };
  if (!waits) return { done: true, context: after };
  const requeueAt = secondsAfter(context.now, 1);
  return {
    done: context.leaving.length === 0,
    context: { ...after, moments: [...context.moments, requeueAt] },
  };
};
