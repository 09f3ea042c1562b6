import { haltedBy, haltOfAll } from './halt.ts';
import { pauseNow, pauseText } from './pause.ts';
import type { Plan } from './plan.ts';
import type { PlanSnapshot, WaitReason } from './snapshot.ts';
import type { PlanView } from './view.ts';

/**
 * Reason why a plan begins nothing new: no node, no attempt of the work, no hook, no pod, no
 * machine. Everything in progress is followed to its end. Every start is checked here, and nowhere
 * else.
 */
export type Stop = {
  readonly kind: 'Deleting' | 'Aborted' | 'Halted' | 'Paused';
  /** Text for people, as a sentence of its own. */
  readonly message: string;
  /**
   * Reason why it is halted, even if something else stops it too: nodes whose work has not begun
   * are postponed.
   */
  readonly halted?: string;
  /** Time at which it ends on its own. */
  readonly until?: Temporal.Instant;
};

function haltStop(reason: string): Stop {
  return { kind: 'Halted', message: reason, halted: reason };
}

/** Returns what stops the plan now; undefined while it may begin something. */
export function stopOf(view: PlanView, now: Temporal.Instant): Stop | undefined {
  const { plan } = view.snapshot;
  const reason = haltedBy(view);
  const halted = reason === undefined ? {} : { halted: reason };
  if (plan.deleting) return { kind: 'Deleting', message: 'the plan is being deleted', ...halted };
  if (plan.aborted) return { kind: 'Aborted', message: 'the plan is aborted', ...halted };
  if (reason !== undefined) return haltStop(reason);
  const pause = pauseNow(plan, now);
  return (
    pause && {
      kind: 'Paused',
      message: pauseText(pause),
      ...(pause.until && { until: pause.until }),
    }
  );
}

/** Reports whether nothing begins any more. */
export function isEnding({ deleting, aborted }: Plan): boolean {
  return deleting || aborted;
}

/**
 * Returns the stop that hooks of a node wait for: the stop of the plan, but for a deleted plan only
 * a halt of all plans, because its own halts would end with a retry, and it has none any more.
 */
export function stopOfHooks(
  stop: Stop | undefined,
  snapshot: Pick<PlanSnapshot, 'halted'>,
): Stop | undefined {
  if (stop?.kind !== 'Deleting') return stop;
  const reason = haltOfAll(snapshot);
  return reason === undefined ? undefined : haltStop(reason);
}

/** Returns the reason of waiting work. */
export function stopWaiting(
  { kind, message, until }: Stop,
  what: string,
  node?: string,
): WaitReason {
  return {
    reason: kind,
    message: `${what} waits: ${message}`,
    ...(node !== undefined && { node }),
    ...(until && { until }),
  };
}
