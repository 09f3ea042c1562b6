import type { Plan } from './plan.ts';
import type { Approval, PlanSnapshot } from './snapshot.ts';

/** What somebody has agreed to: that a run begins, that it goes on after a stage, or that a quiet time is over. */

/** It was given to this very run and revision: what was agreed to before an edit of the work is void. */
const isFor = ({ plan: name, run, revision }: Approval, plan: Plan): boolean =>
  name === plan.name && run === plan.run?.id && revision === plan.run.revision;

const isAbout = ({ stage, promote }: Approval, asked: string | undefined): boolean => promote === 'Full' || stage === asked;

/** Whether somebody has agreed to the run, or to what follows this stage. */
export const isApproved = ({ plan, approvals }: PlanSnapshot, stage?: string): boolean =>
  approvals.some(one => isFor(one, plan) && isAbout(one, stage));

/** Whether somebody has ended the quiet time after this stage. */
export const isPromoted = ({ plan, approvals }: PlanSnapshot, stage: string): boolean =>
  approvals.some(one => one.promote !== undefined && isFor(one, plan) && isAbout(one, stage));
