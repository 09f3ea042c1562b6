import type { Pod } from '../../pod/pod.ts';
import { isBefore } from '../../time.ts';
import { isAsked, looksDifferentAt, type NodeVms, type VmPod } from '../../vm/vm-pod.ts';
import { type Attempt, retryAt } from '../outcome/retry.ts';
import type { PodDecision } from '../pod-decision.ts';
import { noSlotBlockerInfo, vmPodBlockerInfo } from './vm-blockers.ts';

/** How many more VMs may be asked to move: counted down while one plan is made. */
export class MigrationSlots {
  #left: number;

  constructor(left: number) {
    this.#left = left;
  }

  take(): boolean {
    this.#left -= 1;
    return this.#left >= 0;
  }
}

/** What decides over a VM's pod beside its VM. */
type VmPodContext = {
  readonly vms: NodeVms;
  readonly attempt: Attempt | undefined;
  /** A request has agreed to VMs being shut down by their eviction. */
  readonly mayStop: boolean;
  readonly room: MigrationSlots;
  readonly now: Temporal.Instant;
};

/**
 * What becomes of a VM's pod now; undefined: it has its turn like any other pod. A VM is asked to move once, and again only when nobody
 * moves it any more and its pod is still here. What KubeVirt would refuse is not asked for. Budgets are not looked at for VMs that
 * migrate: KubeVirt's webhook comes before them, and those of older versions allow nothing, ever, without being asked.
 */
export const vmPodDecision = (pod: Pod, vmPod: VmPod, { vms, attempt, mayStop, room, now }: VmPodContext): PodDecision | undefined => {
  const { settings } = vms;
  const later = looksDifferentAt(vmPod, now);
  const wait: PodDecision = {
    verdict: 'wait',
    blockerInfo: vmPodBlockerInfo(pod, vmPod, settings, now),
    ...(later && { requeueAt: later }),
  };
  if (vmPod.stay !== 'here' || isAsked(vmPod)) return wait;
  switch (vmPod.evictionEffect) {
    case 'Cannot':
    case 'Undecided':
      return wait;
    case 'Stops':
      return mayStop ? undefined : wait;
    case 'External':
    case 'Migrates':
      if (attempt?.method === 'evict' && isBefore(now, retryAt(attempt, pod.uid))) return undefined;
      if (vmPod.evictionEffect === 'External' || room.take()) return { verdict: 'call' };
      return { verdict: 'wait', blockerInfo: noSlotBlockerInfo(pod, vmPod, settings), waitsForSlots: true };
    default:
      return vmPod.evictionEffect satisfies never;
  }
};
