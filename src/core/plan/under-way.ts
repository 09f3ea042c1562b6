import { pauseNow } from './pause.ts';
import type { Plan } from './plan.ts';

/** Nobody has let it begin: it has not been looked at, is not valid, or waits for somebody to agree to its run. */
const isDraft = ({ run, problem, status: { phase, run: stored } }: Plan): boolean => {
  const isAsked = phase === 'AwaitingApproval' && (stored as { readonly stage?: string } | undefined)?.stage === undefined;
  return run === undefined || problem !== undefined || phase === 'Pending' || isAsked;
};

/**
 * Whether the limits of a plan count for others: it has nodes in flight, or goes on to begin with some. A draft, a plan that somebody has paused or aborted, and one that is
 * over slow nobody down, unless they have nodes in flight.
 */
export const isUnderWayNow = (plan: Plan, now: Temporal.Instant): boolean => {
  if (plan.inFlight.length > 0) return true;
  const { phase } = plan.status;
  const isOver = phase === 'Complete' || phase === 'Aborted';
  return !isOver && !plan.aborted && !plan.deleting && pauseNow(plan, now) === undefined && !isDraft(plan);
};
