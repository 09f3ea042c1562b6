import type { Pod } from '../pod/pod.ts';
import { guestHindrance } from './hindrance.ts';
import { hasEnded, type KubeVirtSettings, type Vmi } from './kubevirt.ts';
import { type Guest, isStranded, journeyOf, type VmsKnown } from './vm-pod.ts';
import type { VmStanding, VmState } from './vm-status.ts';

/** How the VMs of a node stand over the life of a maintenance. */
export type Tracked = {
  /** By the uid of the VMI. */
  readonly vms: ReadonlyMap<string, VmStanding>;
  /** Those that had left before this process looked, and of which nothing else is known any more. */
  readonly before: { readonly moved: number; readonly stopped: number };
};

export const nothingTracked: Tracked = { vms: new Map(), before: { moved: 0, stopped: 0 } };

const stateOf = (guest: Guest, now: Temporal.Instant): VmState => {
  if (isStranded(guest, now)) return 'Cannot';
  const journey = journeyOf(guest, now);
  return journey === 'Placing' || journey === 'Moving' ? 'Migrating' : 'Waiting';
};

const intention = ({ prospect }: Guest): string =>
  prospect === 'Stops' ? 'is shut down by its eviction, as its evictionStrategy says' : 'waits for its turn';

const present = (pod: Pod, guest: Guest, settings: KubeVirtSettings, now: Temporal.Instant): VmStanding => {
  const { vmi, migration } = guest;
  const state = stateOf(guest, now);
  const isIdle = state === 'Waiting' && journeyOf(guest, now) === 'None' && guest.prospect !== 'Undecided';
  const { message, remedy } = isIdle ? { message: intention(guest) } : guestHindrance(pod, guest, settings, now);
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
};

/** One that was here and is no more. Where it still runs somewhere, it has been moved. */
const departed = (before: VmStanding, vmi: Vmi | undefined, nodeName: string): VmStanding => {
  const { platform, id, name, target, state } = before;
  if (state === 'Moved' || state === 'Stopped') return before;
  if (vmi === undefined || hasEnded(vmi) || vmi.deleting) return { platform, id, name, state: 'Stopped' };
  if (vmi.nodeName === nodeName || vmi.nodeName === undefined) return before;
  return { platform, id, name, state: 'Moved', target: vmi.nodeName ?? target };
};

/** The standings after a look: those that are here, and what has become of the others. Arriving ones count once they are here. */
export const track = (
  nodeName: string,
  pods: readonly Pod[],
  guests: ReadonlyMap<string, Guest>,
  known: VmsKnown,
  before: Tracked,
  now: Temporal.Instant,
): Tracked => {
  const here = pods.flatMap(pod => {
    const guest = guests.get(pod.uid);
    return guest === undefined || guest.stay !== 'here' ? [] : [[guest.vmi.uid, present(pod, guest, known.settings, now)] as const];
  });
  const vmis = new Map(known.vmis.map(vmi => [vmi.uid, vmi] as const));
  const after = new Map([...before.vms].map(([id, standing]) => [id, departed(standing, vmis.get(id), nodeName)] as const));
  // One that has come back is here again.
  for (const [id, standing] of here) after.set(id, standing);
  return { ...before, vms: after };
};
