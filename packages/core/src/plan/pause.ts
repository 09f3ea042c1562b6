import { isBefore, timeText } from '@drydock/apimachinery';

/**
 * A pause of a plan: by `paused`, which stays until a user removes it, or by `pause`, which may
 * have a reason and an end.
 */

export type Pause = { readonly reason?: string; readonly until?: Temporal.Instant };

type Paused = { readonly paused: boolean; readonly pause?: Pause };

function isPast({ until }: Pause, now: Temporal.Instant): boolean {
  return until !== undefined && !isBefore(now, until);
}

/** Returns the pause that holds now. A pause with an end never ends one without. */
export function pauseNow({ paused, pause }: Paused, now: Temporal.Instant): Pause | undefined {
  const known = pause === undefined || isPast(pause, now) ? undefined : pause;
  if (!paused) return known;
  return known?.reason === undefined ? {} : { reason: known.reason };
}

/** Returns the pause that has reached its end, and is still in the spec. */
export function pauseOver(plan: Paused, now: Temporal.Instant): Pause | undefined {
  return plan.pause !== undefined && pauseNow(plan, now) === undefined ? plan.pause : undefined;
}

/** Returns the time at which the paused plan continues on its own. */
export function pauseEnd(plan: Paused, now: Temporal.Instant): Temporal.Instant | undefined {
  return pauseNow(plan, now)?.until;
}

/** Returns the text of a pause, with its end and reason around the rest of the message. */
export function pauseText({ until, reason }: Pause, rest = ''): string {
  return `Paused${until === undefined ? '' : ` until ${timeText(until)}`}${rest}${reason === undefined ? '' : `: ${reason}`}`;
}
