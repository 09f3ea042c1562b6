import { earliest, isBefore, secondsAfter } from '../../time.ts';
import type { InFlight } from '../in-flight.ts';
import type { Plan, Run } from '../plan.ts';
import type { Approval } from '../snapshot.ts';
import type { PlanView } from '../view.ts';

/** What somebody has agreed to: that a run begins, that it goes on after a stage, or that a quiet time is over. */

/** Whether there is such an agreement now. */
export type Agreement = {
  readonly isGiven: boolean;
  /** It is void from then on, unless that has begun by then which it is for. */
  readonly until?: Temporal.Instant;
  /** There is one that has expired. */
  readonly expired?: Approval;
};

/** It was given to this very run and revision of this plan: what was agreed to before an edit of the work, or to an earlier plan of the same name, is void. */
const isFor = ({ plan: name, run, revision, createdAt }: Approval, plan: Plan): boolean =>
  name === plan.name && run === plan.run?.id && revision === plan.run.revision && !isBefore(createdAt, plan.createdAt);

/** Names of the stages behind this one; all of them where it is none. */
const stagesBehind = ({ stages }: PlanView, stage: string | undefined): ReadonlySet<string> => {
  const names = stages.map(one => one.stage.name);
  return new Set(stage === undefined ? names : names.slice(names.indexOf(stage) + 1));
};

/** When the first node of this run was begun with that the agreement is for; undefined as long as there is none. */
const begunAt = (view: PlanView, stage: string | undefined): Temporal.Instant | undefined => {
  const { plan, slices } = view.snapshot;
  const { run } = plan;
  const behind = stagesBehind(view, stage);
  // What is left of another run of the same work has begun before this one.
  const flying = plan.inFlight.filter(
    ({ revision, startedAt }) => run !== undefined && revision === run.revision && !isBefore(startedAt, run.startedAt),
  );
  const stored = [...(run?.begun ?? [])].map(([of, startedAt]) => ({ stage: of, startedAt }));
  const begun = [...stored, ...slices.flatMap(({ verdicts }) => verdicts), ...flying].filter(one => behind.has(one.stage));
  return earliest(begun.map(({ startedAt }) => startedAt));
};

const agreement = (view: PlanView, stage: string | undefined, given: readonly Approval[], now: Temporal.Instant): Agreement => {
  const { approvalExpiresAfter: seconds } = view.snapshot.plan;
  if (seconds === undefined || given.length === 0) return { isGiven: given.length > 0 };
  const begun = begunAt(view, stage);
  const endOf = ({ createdAt }: Approval): Temporal.Instant => secondsAfter(createdAt, seconds);
  const valid = given.filter(one => isBefore(begun ?? now, endOf(one)));
  const [expired] = given;
  if (valid.length === 0) return { isGiven: false, ...(expired && { expired }) };
  const until = begun === undefined ? earliest(valid.map(endOf)) : undefined;
  return { isGiven: true, ...(until && { until }) };
};

const about = ({ snapshot: { plan, approvals } }: PlanView, stage: string | undefined): readonly Approval[] =>
  approvals.filter(one => isFor(one, plan) && (one.promote === 'Full' || one.stage === stage));

/** Whether somebody has agreed to the run, or to what follows this stage. */
export const approvalOf = (view: PlanView, now: Temporal.Instant, stage?: string): Agreement =>
  agreement(view, stage, about(view, stage), now);

/** Whether somebody has ended the quiet time after this stage. */
export const promotionOf = (view: PlanView, now: Temporal.Instant, stage: string): Agreement =>
  agreement(
    view,
    stage,
    about(view, stage).filter(one => one.promote !== undefined),
    now,
  );

/** The run, with the moment at which its stage was begun with: an approval that held then goes on to hold. */
export const runWith = (run: Run, plan: Plan, begun: InFlight | undefined): Run =>
  begun === undefined || plan.approvalExpiresAfter === undefined || run.begun?.has(begun.stage) === true
    ? run
    : { ...run, begun: new Map([...(run.begun ?? []), [begun.stage, begun.startedAt]]) };
