import { isBefore } from '@drydock/apimachinery';
import {
  type Attachment,
  attachmentBlockerInfo,
  attachmentsUnknown,
  detachOverdueAt,
} from '../../drain/blockers/attachment.ts';
import { knownSince } from '../../drain/blockers/blocker.ts';
import type { ReconcileContext, ReconcileStep, RequestProgress } from '../reconcile-context.ts';

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
