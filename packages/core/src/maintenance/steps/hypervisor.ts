import type { BlockerInfo } from '../../drain/blockers/blocker.ts';
import type { DesiredHostState, HostView } from '../../vm/host.ts';
import type { ServerPolicy } from '../../vm/server-policy.ts';
import { hasGone, type VmStatus } from '../../vm/vm-status.ts';
import {
  type DrainProgress,
  hasNode,
  isActive,
  type ReconcileContext,
  type ReconcileStep,
  type RequestProgress,
} from '../reconcile-context.ts';

/** Policy for a node that is only to get nothing new. */
const leaveAll: ServerPolicy = {
  active: 'Leave',
  paused: 'Leave',
  stopped: 'Leave',
  failed: 'Leave',
  localDisk: 'Leave',
};

function desiredOf({ request }: RequestProgress, policy: ServerPolicy): DesiredHostState {
  return {
    why: [request.name, ...(request.reason === undefined ? [] : [request.reason])].join(': '),
    policy,
  };
}

/**
 * Returns the state that the hypervisor is to have after this pass. A drain that pauses or has
 * failed moves nothing.
 */
function desiredState({ progresses }: ReconcileContext): DesiredHostState | undefined {
  const holding = progresses.filter(hasNode);
  const draining = holding.find(progress => isActive(progress) && progress.drain !== undefined);
  if (draining !== undefined) return desiredOf(draining, draining.request.policy.servers);
  const cordoning = holding.find(({ request }) => request.level === 'Cordon');
  return cordoning && desiredOf(cordoning, leaveAll);
}

function serverBlockerInfo({ id, name, state, message, remedy }: VmStatus): BlockerInfo {
  return {
    reason: state === 'Cannot' ? 'ServerNotMovable' : 'ServerMoving',
    server: { id, name },
    message: `server ${name}: ${message ?? (state === 'Migrating' ? 'is being migrated' : 'waits for its turn')}`,
    ...(remedy !== undefined && { remedy }),
  };
}

function unknown(message: string): BlockerInfo {
  return {
    reason: 'HypervisorUnknown',
    message,
    remedy: 'check the connection to OpenStack; the operator log has the details',
  };
}

function blockerInfos(view: HostView | 'unknown'): readonly BlockerInfo[] {
  if (view === 'unknown') return [unknown('the servers on its hypervisor are not known yet')];
  const servers = view.vms.filter(vm => !hasGone(vm)).map(serverBlockerInfo);
  return view.problem === undefined ? servers : [unknown(view.problem), ...servers];
}

function later(
  one: Temporal.Instant | undefined,
  other: Temporal.Instant | undefined,
): Temporal.Instant | undefined {
  return one === undefined || other === undefined || Temporal.Instant.compare(one, other) > 0
    ? one
    : other;
}

function withHost(drain: DrainProgress, view: HostView | 'unknown'): DrainProgress {
  const { emptied, complete, vmsMovedAt, ...rest } = drain;
  const vms = view === 'unknown' ? [] : view.vms;
  const isEmpty = view !== 'unknown' && view.empty;
  const end =
    view === 'unknown'
      ? undefined
      : vms.every(hasGone)
        ? vmsMovedAt
        : later(view.expectedEnd, vmsMovedAt);
  return {
    ...rest,
    emptied: emptied && isEmpty,
    complete: complete && isEmpty,
    blockerInfos: [...drain.blockerInfos, ...blockerInfos(view)],
    vms: [...drain.vms, ...vms],
    ...(end && { vmsMovedAt: end }),
  };
}

/**
 * Waits for the hypervisor: a node that is a hypervisor of OpenStack is drained only once the
 * hypervisor is empty as well.
 */
export const hypervisor: ReconcileStep = context => {
  const { host } = context.snapshot;
  if (host === undefined || host === 'none') return { done: true, context };
  const desiredHost = desiredState(context);
  const progresses = context.progresses.map(progress =>
    progress.drain === undefined
      ? progress
      : { ...progress, drain: withHost(progress.drain, host) },
  );
  return { done: true, context: { ...context, progresses, ...(desiredHost && { desiredHost }) } };
};
