import type { Pod } from '../pod/pod.ts';
import { isBefore } from '../time.ts';
import { guestHindrance, noRoomHindrance } from '../vm/hindrance.ts';
import { type Guest, isAsked, looksDifferentAt, type VmsKnown } from '../vm/vm-pod.ts';
import type { Verdict } from './pod-decision.ts';
import { type Attempt, retryAt } from './retry.ts';

/** How many more VMs may be asked to move: counted down while one plan is made. */
export class Room {
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
type Circumstances = {
  readonly vms: VmsKnown;
  readonly attempt: Attempt | undefined;
  /** A request has agreed to VMs being shut down by their eviction. */
  readonly mayStop: boolean;
  readonly room: Room;
  readonly now: Temporal.Instant;
};

/**
 * What becomes of a VM's pod now; undefined: it has its turn like any other pod. A VM is asked to move once, and again only when nobody
 * moves it any more and its pod is still here. What KubeVirt would refuse is not asked for. Budgets are not looked at for VMs that
 * migrate: KubeVirt's webhook comes before them, and those of older versions allow nothing, ever, without being asked.
 */
export const guestTurn = (pod: Pod, guest: Guest, { vms, attempt, mayStop, room, now }: Circumstances): Verdict | undefined => {
  const { settings } = vms;
  const later = looksDifferentAt(guest, now);
  const wait: Verdict = { verdict: 'wait', hindrance: guestHindrance(pod, guest, settings, now), ...(later && { again: later }) };
  if (guest.stay !== 'here' || isAsked(guest)) return wait;
  switch (guest.prospect) {
    case 'Cannot':
    case 'Undecided':
      return wait;
    case 'Stops':
      return mayStop ? undefined : wait;
    case 'External':
    case 'Migrates':
      if (attempt?.method === 'evict' && isBefore(now, retryAt(attempt, pod.uid))) return undefined;
      if (guest.prospect === 'External' || room.take()) return { verdict: 'call' };
      return { verdict: 'wait', hindrance: noRoomHindrance(pod, guest, settings), waitsForRoom: true };
    default:
      return guest.prospect satisfies never;
  }
};
