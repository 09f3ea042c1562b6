import { isBefore } from '@drydock/apimachinery';
import type { Pod } from '../../pod/pod.ts';
import { isAsked, looksDifferentAt, type NodeVms, type VmPod } from '../../vm/vm-pod.ts';
import { type Attempt, retryAt } from '../outcome/retry.ts';
import type { PodDecision } from '../pod-decision.ts';
import { noSlotBlockerInfo, vmPodBlockerInfo } from './vm-blockers.ts';

/** Number of further VMs that may be evicted: decremented while one plan is made. */
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

/** Facts beside the VM that decide on its pod. */
type VmPodContext = {
  readonly vms: NodeVms;
  readonly attempt: Attempt | undefined;
  /** True if a request allows that the eviction of a VM's pod shuts the VM down. */
  readonly mayStop: boolean;
  readonly room: MigrationSlots;
  readonly now: Temporal.Instant;
};

/**
 * Returns the decision for a VM's pod; undefined: the pod is handled like any other. A VM's move is
 * requested once, and again only when it no longer moves and its pod is still here. An eviction
 * that KubeVirt would refuse is not sent. Budgets are not considered for VMs that migrate:
 * KubeVirt's webhook comes before them, and the budgets of older versions never allow anything and
 * are never evaluated.
 */
export function vmPodDecision(
  pod: Pod,
  vmPod: VmPod,
  { vms, attempt, mayStop, room, now }: VmPodContext,
): PodDecision | undefined {
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
      return {
        verdict: 'wait',
        blockerInfo: noSlotBlockerInfo(pod, vmPod, settings),
        waitsForSlots: true,
      };
    default:
      return vmPod.evictionEffect satisfies never;
  }
}
