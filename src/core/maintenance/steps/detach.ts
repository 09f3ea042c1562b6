import type { Attachment } from '../../drain/attachment.ts';
import type { Hindrance } from '../../drain/blocker.ts';
import type { Course, Standing, Step } from '../reconcile-context.ts';

const attached = ({ volume, key }: Attachment): Hindrance => ({
  cause: 'VolumeAttached',
  volume: volume ?? key,
  message: `volume ${volume ?? key} of a pod that left is still attached`,
});

/** Claims of the pods that are still on the node: their volumes may stay attached. */
const claimsInUse = ({ picture }: Course): readonly string[] => [
  ...new Set((picture.pods ?? []).flatMap(({ namespace, claims }) => claims.map(claim => `${namespace}/${claim}`))),
];

const waitsForVolumes = ({ request, drain }: Standing): boolean => drain?.emptied === true && request.policy.waitForVolumeDetach;

/**
 * A disk must not be pulled from under a node: a drained node has no volume of a pod that left attached any more. Which volumes belong to
 * pods that stay has to be looked up once.
 */
export const detach: Step = course => {
  const { attachments, volumes } = course.picture;
  const persistent = attachments.filter(({ volume }) => volume !== undefined);
  if (persistent.length === 0 || !course.standings.some(waitsForVolumes)) return { done: true, course };
  const claims = claimsInUse(course);
  const lookups = claims.filter(claim => !volumes.has(claim));
  if (lookups.length > 0) return { done: false, course: { ...course, lookups } };
  const used = new Set(claims.map(claim => volumes.get(claim)));
  const left = persistent.filter(({ volume }) => !used.has(volume)).map(attached);
  if (left.length === 0) return { done: true, course };
  return {
    done: true,
    course: {
      ...course,
      standings: course.standings.map(standing =>
        standing.drain !== undefined && waitsForVolumes(standing)
          ? { ...standing, drain: { ...standing.drain, complete: false, hindrances: left } }
          : standing,
      ),
    },
  };
};
