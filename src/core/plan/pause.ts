import { isBefore, timeText } from '../time.ts';

/** Plans that somebody has paused: by `paused`, which stays until it is taken back, or by `pause`, which may say why and end by itself. */

export type Pause = { readonly reason?: string; readonly until?: Temporal.Instant };

type Paused = { readonly paused: boolean; readonly pause?: Pause };

const isPast = ({ until }: Pause, now: Temporal.Instant): boolean => until !== undefined && !isBefore(now, until);

/** The pause that holds now. What has an end never ends one that has none. */
export const pauseNow = ({ paused, pause }: Paused, now: Temporal.Instant): Pause | undefined => {
  const known = pause === undefined || isPast(pause, now) ? undefined : pause;
  if (!paused) return known;
  return known?.reason === undefined ? {} : { reason: known.reason };
};

/** The pause that has ended by itself, and is still in the spec. */
export const pauseOver = (plan: Paused, now: Temporal.Instant): Pause | undefined =>
  plan.pause !== undefined && pauseNow(plan, now) === undefined ? plan.pause : undefined;

/** When the plan goes on by itself. */
export const pauseEnd = (plan: Paused, now: Temporal.Instant): Temporal.Instant | undefined => pauseNow(plan, now)?.until;

/** Until when and why, around what else is to be told of a paused plan. */
export const pauseText = ({ until, reason }: Pause, rest = ''): string =>
  `Paused${until === undefined ? '' : ` until ${timeText(until)}`}${rest}${reason === undefined ? '' : `: ${reason}`}`;
