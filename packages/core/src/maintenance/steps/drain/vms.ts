import type { DrainBehavior } from '../../../drain/filters.ts';
import { nothingTracked, trackVms, type VmTrackingState } from '../../../drain/vm/tracking.ts';
import type { Pod } from '../../../pod/pod.ts';
import { lastMoveAt } from '../../../vm/estimate.ts';
import { type VmPod, vmPodsOf } from '../../../vm/vm-pod.ts';
import type { VmStatus } from '../../../vm/vm-status.ts';
import type { ReconcileContext } from '../../reconcile-context.ts';

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
