import type { Hindrance } from '../../drain/blocker.ts';
import type { HostView, HostWish } from '../../vm/host.ts';
import type { ServerPolicy } from '../../vm/server-policy.ts';
import { hasGone, type VmStanding } from '../../vm/vm-status.ts';
import { type Course, type DrainStanding, isActive, type Standing, type Step } from '../reconcile-context.ts';

/** For a node that is only to get nothing new. */
const leaveAll: ServerPolicy = { active: 'Leave', paused: 'Leave', stopped: 'Leave', failed: 'Leave', localDisk: 'Leave' };

const wishOf = ({ request }: Standing, policy: ServerPolicy): HostWish => ({
  why: [request.name, ...(request.reason === undefined ? [] : [request.reason])].join(': '),
  policy,
});

/** What is wanted of the hypervisor at this look. A drain that pauses or has failed wants nothing moved. */
const wished = ({ standings }: Course): HostWish | undefined => {
  const holding = standings.filter(({ granted, holds }) => granted && holds);
  const draining = holding.find(standing => isActive(standing) && standing.drain !== undefined);
  if (draining !== undefined) return wishOf(draining, draining.request.policy.servers);
  const cordoning = holding.find(({ request }) => request.stage === 'Cordon');
  return cordoning && wishOf(cordoning, leaveAll);
};

const serverHindrance = ({ id, name, state, message, remedy }: VmStanding): Hindrance => ({
  cause: state === 'Cannot' ? 'ServerNotMovable' : 'ServerMoving',
  server: { id, name },
  message: `server ${name}: ${message ?? (state === 'Migrating' ? 'is being migrated' : 'waits for its turn')}`,
  ...(remedy !== undefined && { remedy }),
});

const unknown = (message: string): Hindrance => ({
  cause: 'HypervisorUnknown',
  message,
  remedy: 'look into the connection to OpenStack: the log of the operator has the details',
});

const hindrances = (view: HostView | 'unknown'): readonly Hindrance[] => {
  if (view === 'unknown') return [unknown('what is on its hypervisor has not been found out yet')];
  const servers = view.vms.filter(vm => !hasGone(vm)).map(serverHindrance);
  return view.problem === undefined ? servers : [unknown(view.problem), ...servers];
};

const later = (one: Temporal.Instant | undefined, other: Temporal.Instant | undefined): Temporal.Instant | undefined =>
  one === undefined || other === undefined || Temporal.Instant.compare(one, other) > 0 ? one : other;

const withHost = (drain: DrainStanding, view: HostView | 'unknown'): DrainStanding => {
  const { emptied, complete, vmsMovedAt, ...rest } = drain;
  const vms = view === 'unknown' ? [] : view.vms;
  const isEmpty = view !== 'unknown' && view.empty;
  const end = view === 'unknown' ? undefined : vms.every(hasGone) ? vmsMovedAt : later(view.expectedEnd, vmsMovedAt ?? view.expectedEnd);
  return {
    ...rest,
    emptied: emptied && isEmpty,
    complete: complete && isEmpty,
    hindrances: [...drain.hindrances, ...hindrances(view)],
    vms: [...drain.vms, ...vms],
    ...(end && { vmsMovedAt: end }),
  };
};

/** A node that is a hypervisor of OpenStack is not drained before the hypervisor is empty as well. */
export const hypervisor: Step = course => {
  const { host } = course.picture;
  if (host === undefined || host === 'none') return { done: true, course };
  const hostWish = wished(course);
  const standings = course.standings.map(standing =>
    standing.drain === undefined ? standing : { ...standing, drain: withHost(standing.drain, host) },
  );
  return { done: true, course: { ...course, standings, ...(hostWish && { hostWish }) } };
};
