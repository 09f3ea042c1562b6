import { haltedBy } from './halt.ts';
import { pauseNow, pauseText } from './pause.ts';
import type { Plan } from './plan.ts';
import type { Waiting } from './snapshot.ts';
import type { PlanView } from './view.ts';

/**
 * Why a plan begins nothing new: no node, no attempt of the work, no hook, no pod, no machine. What is under way is followed to its end. Whoever is about to begin
 * something asks here, and nowhere else.
 */
export type Stop = {
  readonly kind: 'Deleting' | 'Aborted' | 'Halted' | 'Paused';
  /** For people, as a sentence of its own. */
  readonly message: string;
  /** Why it is halted, whatever else stops it: nodes whose work has not begun are put off. */
  readonly halted?: string;
  /** When it ends by itself. */
  readonly ends?: Temporal.Instant;
};

/** What stops the plan now; undefined while it may begin something. */
export const stopOf = (view: PlanView, now: Temporal.Instant): Stop | undefined => {
  const { plan } = view.snapshot;
  const reason = haltedBy(view);
  const halted = reason === undefined ? {} : { halted: reason };
  if (plan.deleting) return { kind: 'Deleting', message: 'the plan is being deleted', ...halted };
  if (plan.aborted) return { kind: 'Aborted', message: 'the plan is aborted', ...halted };
  if (reason !== undefined) return { kind: 'Halted', message: reason, ...halted };
  const pause = pauseNow(plan, now);
  return pause && { kind: 'Paused', message: pauseText(pause), ...(pause.until && { ends: pause.until }) };
};

/** Nothing begins any more, whatever happens. */
export const isEnding = ({ deleting, aborted }: Plan): boolean => deleting || aborted;

/** Whether what waits goes on when the stop is over. A plan that is deleted or aborted begins nothing any more, but for what it finishes. */
export const isForNow = ({ kind, halted }: Stop): boolean => kind === 'Paused' || halted !== undefined;

/** What waits says why. */
export const stopWaiting = ({ kind, message, ends }: Stop, what: string, node?: string): Waiting => ({
  word: kind,
  who: `${what} waits: ${message}`,
  ...(node !== undefined && { node }),
  ...(ends && { ends }),
});
