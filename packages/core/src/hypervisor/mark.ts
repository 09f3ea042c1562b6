import { readTime, secondsAfter, timeText } from '@drydock/apimachinery';

/**
 * Prefix of a service's `disabled_reason` if we disabled it. The operator that follows nodes
 * releases services that another replica took, also after a restart; a host that was emptied once,
 * by a command, is left to its user.
 */
export type Marker = 'drydock: ' | 'drydock nova: ';

/** Longest reason that Nova accepts. */
const maxLength = 255;

/**
 * Returns the reason with which we disable a service: for people, and for ourselves after a
 * restart. At most 255 characters.
 */
export function markOf(marker: Marker, why: string, now: Temporal.Instant): string {
  const since = ` (since ${timeText(now)})`;
  // Nova refuses unprintable characters.
  const text = why
    .replaceAll(/\p{C}+/gu, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();
  return `${marker}${text.slice(0, maxLength - marker.length - since.length)}${since}`;
}

/** Reports whether we disabled it. */
export function isMarked(marker: Marker, reason: string | undefined): boolean {
  return reason?.startsWith(marker.trimEnd()) === true;
}

/** Seconds of difference between the clocks of two machines, and Nova's whole seconds. */
const slackSeconds = 5;

/**
 * Returns when we disabled it, rather a little early than late; undefined if the reason does not
 * contain the time.
 */
export function markedSince(
  marker: Marker,
  reason: string | undefined,
): Temporal.Instant | undefined {
  if (!isMarked(marker, reason)) return undefined;
  const since = readTime(/ \(since (\S+)\)$/.exec(reason ?? '')?.[1]);
  return since && secondsAfter(since, -slackSeconds);
}
