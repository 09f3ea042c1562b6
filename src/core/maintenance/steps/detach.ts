import type { Attachment } from '../../drain/blockers/attachment.ts';
import type { BlockerInfo } from '../../drain/blockers/blocker.ts';
import type { ReconcileContext, ReconcileStep, RequestProgress } from '../reconcile-context.ts';

const attached = ({ volume, key }: Attachment): BlockerInfo => ({
  cause: 'VolumeAttached',
  volume: volume ?? key,
  message: `volume ${volume ?? key} of a pod that left is still attached`,
});

/** Claims of the pods that are still on the node: their volumes may stay attached. */
const claimsInUse = ({ snapshot }: ReconcileContext): readonly string[] => [
  ...new Set((snapshot.pods ?? []).flatMap(({ namespace, claims }) => claims.map(claim => `${namespace}/${claim}`))),
];

const waitsForVolumes = ({ request, drain }: RequestProgress): boolean => drain?.emptied === true && request.policy.waitForVolumeDetach;

/**
 * A disk must not be pulled from under a node: a drained node has no volume of a pod that left attached any more. Which volumes belong to
 * pods that stay has to be looked up once.
 */
export const detach: ReconcileStep = context => {
  const { attachments, volumes } = context.snapshot;
  const persistent = attachments.filter(({ volume }) => volume !== undefined);
  if (persistent.length === 0 || !context.progresses.some(waitsForVolumes)) return { done: true, context };
  const claims = claimsInUse(context);
  const lookups = claims.flatMap(key => (volumes.has(key) ? [] : [{ kind: 'PersistentVolumeClaim', key } as const]));
  if (lookups.length > 0) return { done: false, context: { ...context, lookups: [...context.lookups, ...lookups] } };
  const used = new Set(claims.map(claim => volumes.get(claim)));
  const left = persistent.filter(({ volume }) => !used.has(volume)).map(attached);
  if (left.length === 0) return { done: true, context };
  return {
    done: true,
    context: {
      ...context,
      progresses: context.progresses.map(progress =>
        progress.drain !== undefined && waitsForVolumes(progress)
          ? { ...progress, drain: { ...progress.drain, complete: false, blockerInfos: left } }
          : progress,
      ),
    },
  };
};
