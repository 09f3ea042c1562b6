import { readTime, secondsAfter, timeText } from '../time.ts';

/**
 * What `disabled_reason` of a service begins with when we disabled it. Whoever follows nodes gives back what another one of its kind took, also after
 * a restart; what was emptied once, by hand, is left to whoever did that.
 */
export type Marker = 'drydock: ' | 'drydock nova: ';

/** Nova takes no longer reason. */
const maxLength = 255;

/** The reason that we disable a service with: for people, and for ourselves after a restart. At most 255 characters. */
export const markOf = (marker: Marker, why: string, now: Temporal.Instant): string => {
  const since = ` (since ${timeText(now)})`;
  // Nova refuses what is not printable.
  const text = why
    .replaceAll(/\p{C}+/gu, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();
  return `${marker}${text.slice(0, maxLength - marker.length - since.length)}${since}`;
};

/** We disabled it. */
export const isMarked = (marker: Marker, reason: string | undefined): boolean => reason?.startsWith(marker.trimEnd()) === true;

/** Clocks of two machines, and Nova's whole seconds. */
const slackSeconds = 5;

/** When we disabled it, a little earlier rather than later; undefined where the reason does not say it. */
export const markedSince = (marker: Marker, reason: string | undefined): Temporal.Instant | undefined => {
  if (!isMarked(marker, reason)) return undefined;
  const since = readTime(/ \(since (\S+)\)$/.exec(reason ?? '')?.[1]);
  return since && secondsAfter(since, -slackSeconds);
};
