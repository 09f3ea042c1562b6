import type { Pod } from '../../pod/pod.ts';
import { hasEnded, type KubeVirtSettings, type Vmi } from '../../vm/kubevirt.ts';
import { isStranded, migrationProgressOf, type NodeVms, type VmPod } from '../../vm/vm-pod.ts';
import type { VmState, VmStatus } from '../../vm/vm-status.ts';
import { vmPodBlockerInfo } from './vm-blockers.ts';

/** States of the VMs of a node over the life of a maintenance. */
export type VmTrackingState = {
  /** States by the uid of the VMI. */
  readonly vms: ReadonlyMap<string, VmStatus>;
  /**
   * Numbers of VMs that had left before this process looked, and of which nothing else is known any
   * more.
   */
  readonly before: { readonly moved: number; readonly stopped: number };
};

export const nothingTracked: VmTrackingState = { vms: new Map(), before: { moved: 0, stopped: 0 } };

function stateOf(vmPod: VmPod, now: Temporal.Instant): VmState {
  if (isStranded(vmPod, now)) return 'Cannot';
  const migrationProgress = migrationProgressOf(vmPod, now);
  return migrationProgress === 'Placing' || migrationProgress === 'Moving'
    ? 'Migrating'
    : 'Waiting';
}

function intention({ evictionEffect }: VmPod): string {
  return evictionEffect === 'Stops'
    ? 'is shut down by its eviction, as its evictionStrategy says'
    : 'waits for its turn';
}

function present(
  pod: Pod,
  vmPod: VmPod,
  settings: KubeVirtSettings,
  now: Temporal.Instant,
): VmStatus {
  const { vmi, migration } = vmPod;
  const state = stateOf(vmPod, now);
  const isIdle =
    state === 'Waiting' &&
    migrationProgressOf(vmPod, now) === 'None' &&
    vmPod.evictionEffect !== 'Undecided';
  const { message, remedy } = isIdle
    ? { message: intention(vmPod) }
    : vmPodBlockerInfo(pod, vmPod, settings, now);
  return {
    platform: 'KubeVirt',
    id: vmi.uid,
    name: vmi.key,
    state,
    message,
    ...(remedy !== undefined && { remedy }),
    ...(migration?.target !== undefined && { target: migration.target }),
    ...(migration?.since && { since: migration.since }),
  };
}

/**
 * Returns the state of a VM that was here and is not any more. If it still runs elsewhere, it has
 * been moved.
 */
function departed(before: VmStatus, vmi: Vmi | undefined, nodeName: string): VmStatus {
  const { platform, id, name, state } = before;
  if (state === 'Moved' || state === 'Stopped') return before;
  if (vmi === undefined || hasEnded(vmi) || vmi.deleting)
    return { platform, id, name, state: 'Stopped' };
  if (vmi.nodeName === nodeName || vmi.nodeName === undefined) return before;
  return { platform, id, name, state: 'Moved', target: vmi.nodeName };
}

/**
 * Returns the states after a look: VMs that are here, and the present state of the others. Arriving
 * VMs count once they are here.
 */
export function trackVms(
  nodeName: string,
  pods: readonly Pod[],
  vmPods: ReadonlyMap<string, VmPod>,
  known: NodeVms,
  before: VmTrackingState,
  now: Temporal.Instant,
): VmTrackingState {
  const here = pods.flatMap(pod => {
    const vmPod = vmPods.get(pod.uid);
    return vmPod === undefined || vmPod.stay !== 'here'
      ? []
      : [[vmPod.vmi.uid, present(pod, vmPod, known.settings, now)] as const];
  });
  const vmis = new Map(known.vmis.map(vmi => [vmi.uid, vmi] as const));
  const after = new Map(
    [...before.vms].map(
      ([id, standing]) => [id, departed(standing, vmis.get(id), nodeName)] as const,
    ),
  );
  // A VM that has come back is here again.
  for (const [id, standing] of here) after.set(id, standing);
  return { ...before, vms: after };
}
