import type { Fate } from '../../drain/filters.ts';
import type { Pod } from '../../pod/pod.ts';
import { lastMoveAt } from '../../vm/estimate.ts';
import { nothingTracked, type Tracked, track } from '../../vm/tracking.ts';
import { type Guest, guestsOf } from '../../vm/vm-pod.ts';
import type { VmStanding } from '../../vm/vm-status.ts';
import type { Course } from '../reconcile-context.ts';

/** What one look at the VMs of the node comes to. */
export type VmsLook = {
  /** By the uid of the pod. */
  readonly guests: ReadonlyMap<string, Guest>;
  /** Missing where there is no KubeVirt. */
  readonly tracked?: Tracked;
  readonly movedAt?: Temporal.Instant;
  /** Of the VMs that a request wants gone, those that have left included; sorted by name. */
  readonly standingsOf: (fates: readonly { readonly pod: Pod; readonly fate: Fate }[]) => readonly VmStanding[];
};

/** What was stored, for a process that has just begun. */
const trackedBefore = ({ picture, standings }: Course): Tracked =>
  picture.notes.vms ?? standings.map(({ request }) => request.history.vms).find(vms => vms !== undefined) ?? nothingTracked;

const byName = (one: VmStanding, other: VmStanding): number => (one.name < other.name ? -1 : one.name > other.name ? 1 : 0);

/** Looks at the VMs of the node once, for all requests. */
export const lookAtVms = (course: Course, pods: readonly Pod[]): VmsLook => {
  const { nodeName, vms } = course.picture;
  if (vms === undefined) return { guests: new Map(), standingsOf: () => [] };
  const guests = guestsOf(nodeName, pods, vms);
  const tracked = track(nodeName, pods, guests, vms, trackedBefore(course), course.now);
  const movedAt = lastMoveAt(guests.values(), vms, course.now);
  return {
    guests,
    tracked,
    ...(movedAt && { movedAt }),
    standingsOf: fates => {
      const staying = new Set(fates.flatMap(({ pod, fate }) => (fate.fate === 'ignore' ? (guests.get(pod.uid)?.vmi.uid ?? []) : [])));
      return [...tracked.vms.values()].filter(({ id }) => !staying.has(id)).sort(byName);
    },
  };
};
