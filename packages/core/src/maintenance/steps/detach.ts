import { isBefore } from '@drydock/apimachinery';
import {
  type Attachment,
  attachmentBlockerInfo,
  attachmentsUnknown,
  detachOverdueAt,
} from '../../drain/blockers/attachment.ts';
import { type BlockerInfo, knownSince } from '../../drain/blockers/blocker.ts';
import {
  type DesiredHostState,
  type HostView,
  hasGone,
  type ServerPolicy,
  type VmStatus,
} from '../../vm/vm-status.ts';
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

/** Returns the claims of the pods that are still on the node: their volumes may stay attached. */
function claimsInUse({ snapshot }: ReconcileContext): readonly string[] {
  return [
    ...new Set(
      (snapshot.pods ?? []).flatMap(({ namespace, claims }) =>
        claims.map(claim => `${namespace}/${claim}`),
      ),
    ),
  ];
}

function waitsForVolumes({ request, drain }: RequestProgress): boolean {
  return drain?.emptied === true && request.policy.waitForVolumeDetach;
}

/** Returns since when the attachment of this volume has been reported. */
function toldSince(
  attachment: Attachment,
  { request }: RequestProgress,
  { snapshot, now }: ReconcileContext,
): Temporal.Instant {
  const one = {
    reason: 'VolumeAttached',
    volume: attachment.volume ?? attachment.key,
    message: '',
  } as const;
  const lasting = { reason: 'DetachFailed', afterSeconds: 0 } as const;
  return (
    knownSince({ ...one, lasting }, snapshot.memo.blockedSince, request.history.blockedSince) ?? now
  );
}

function isDraining(
  progress: RequestProgress,
): progress is RequestProgress & { readonly drain: NonNullable<RequestProgress['drain']> } {
  return progress.drain !== undefined && waitsForVolumes(progress);
}

/** Makes the draining requests wait until the attachments are known. */
function withUnknown(context: ReconcileContext): ReconcileContext {
  return {
    ...context,
    progresses: context.progresses.map(progress =>
      isDraining(progress)
        ? {
            ...progress,
            drain: { ...progress.drain, complete: false, blockerInfos: [attachmentsUnknown] },
          }
        : progress,
    ),
  };
}

function withAttached(context: ReconcileContext, left: readonly Attachment[]): ReconcileContext {
  const { now } = context;
  const waiting = context.progresses.filter(waitsForVolumes);
  const overdue = waiting.flatMap(progress =>
    left.map(one => detachOverdueAt(one, toldSince(one, progress, context))),
  );
  return {
    ...context,
    moments: [...context.moments, ...overdue.filter(moment => isBefore(now, moment))],
    progresses: context.progresses.map(progress => {
      if (!isDraining(progress)) return progress;
      const blockerInfos = left.map(one =>
        attachmentBlockerInfo(one, toldSince(one, progress, context), now),
      );
      return { ...progress, drain: { ...progress.drain, complete: false, blockerInfos } };
    }),
  };
}

/**
 * Waits for the volumes. A disk must not be pulled from under a node: on a drained node, no volume
 * of a pod that left is attached any more. Volumes of pods that stay have to be looked up once.
 */
export const detach: ReconcileStep = context => {
  const { attachments, volumes } = context.snapshot;
  if (attachments === undefined) return { done: true, context: withUnknown(context) };
  const persistent = attachments.filter(({ volume }) => volume !== undefined);
  if (persistent.length === 0 || !context.progresses.some(waitsForVolumes))
    return { done: true, context };
  const claims = claimsInUse(context);
  const lookups = claims.flatMap(key =>
    volumes.has(key) ? [] : [{ kind: 'PersistentVolumeClaim', key } as const],
  );
  if (lookups.length > 0)
    return { done: false, context: { ...context, lookups: [...context.lookups, ...lookups] } };
  const used = new Set(claims.map(claim => volumes.get(claim)));
  const left = persistent.filter(({ volume }) => !used.has(volume));
  return left.length === 0
    ? { done: true, context }
    : { done: true, context: withAttached(context, left) };
};
