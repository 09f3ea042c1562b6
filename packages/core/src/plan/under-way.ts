import { pauseNow } from './pause.ts';
import type { Plan } from './plan.ts';

/**
 * Reports whether the plan was never allowed to begin: it has not been processed, is not valid, or
 * waits for the approval of its run.
 */
function isDraft({ run, problem, status: { phase, run: stored } }: Plan): boolean {
  const isAsked =
    phase === 'AwaitingApproval' &&
    (stored as { readonly stage?: string } | undefined)?.stage === undefined;
  return run === undefined || problem !== undefined || phase === 'Pending' || isAsked;
}

/**
 * Reports whether the limits of a plan count for others: it has nodes in flight, or will begin with
 * some. A draft, a paused or aborted plan, and one that is over delay no other plan, unless they
 * have nodes in flight.
 */
export function isUnderWayNow(plan: Plan, now: Temporal.Instant): boolean {
  if (plan.inFlight.length > 0) return true;
  const { phase } = plan.status;
  const isOver = phase === 'Complete' || phase === 'Aborted';
  return (
    !isOver &&
    !plan.aborted &&
    !plan.deleting &&
    pauseNow(plan, now) === undefined &&
    !isDraft(plan)
  );
}
