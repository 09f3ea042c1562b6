import { earliest, isBefore, secondsAfter } from '../../time.ts';
import type { InFlight } from '../in-flight.ts';
import type { Plan, Run } from '../plan.ts';
import { revisionOfRun } from '../records.ts';
import type { Approval } from '../snapshot.ts';
import type { PlanView } from '../view.ts';

/** What somebody has agreed to: that a run begins, that it goes on after a stage, or that a quiet time is over. */

/** Whether there is such an agreement now. */
export type ApprovalState = {
  readonly isGiven: boolean;
  /** It is void from then on, unless that has begun by then which it is for. */
  readonly until?: Temporal.Instant;
  /** There is one that has expired. */
  readonly expired?: Approval;
};

/** It was given to this very run, of this plan and of no earlier one of the same name. */
const isOfRun = ({ plan: name, run, revision, createdAt }: Approval, plan: Plan): boolean =>
  name === plan.name &&
  plan.run !== undefined &&
  run === plan.run.id &&
  revision === revisionOfRun(plan.run) &&
  !isBefore(createdAt, plan.createdAt);

/** The spec that it agrees to: the one that it names, else the one that was there when it was first seen. */
const agreedSpecOf = ({ specHash, uid }: Approval, plan: Plan): string => specHash ?? plan.run?.agreed?.get(uid) ?? plan.specHash;

/** It was given to the plan as it is now: what was agreed to before an edit is void. */
const isFor = (approval: Approval, plan: Plan): boolean => isOfRun(approval, plan) && agreedSpecOf(approval, plan) === plan.specHash;

/** The run, with the spec that each approval without a word about it was first seen with. */
export const runWithAgreed = (run: Run, { plan, approvals }: PlanView['snapshot']): Run => {
  const unnamed = approvals.filter(one => one.specHash === undefined && isOfRun(one, { ...plan, run }));
  const { agreed: _agreed, ...rest } = run;
  return unnamed.length === 0 ? rest : { ...rest, agreed: new Map(unnamed.map(one => [one.uid, agreedSpecOf(one, { ...plan, run })])) };
};

/** Names of the stages behind this one; all of them where it is none. */
const stagesBehind = ({ stages }: PlanView, stage: string | undefined): ReadonlySet<string> => {
  const names = stages.map(one => one.stage.name);
  return new Set(stage === undefined ? names : names.slice(names.indexOf(stage) + 1));
};

/** When nodes of this run were begun with behind this stage, or in any of them where it is none. */
export const startsBehind = (view: PlanView, stage?: string): readonly Temporal.Instant[] => {
  const { plan, slices } = view.snapshot;
  const { run } = plan;
  if (run === undefined) return [];
  const behind = stagesBehind(view, stage);
  const flying = plan.inFlight.filter(({ revision }) => revision === run.revision);
  const stored = [...(run.begun ?? [])].map(([of, startedAt]) => ({ stage: of, startedAt }));
  // What is left of another run of the same work has begun before this one.
  return [...stored, ...slices.flatMap(({ verdicts }) => verdicts), ...flying].flatMap(one =>
    behind.has(one.stage) && !isBefore(one.startedAt, run.startedAt) ? one.startedAt : [],
  );
};

const agreement = (view: PlanView, stage: string | undefined, given: readonly Approval[], now: Temporal.Instant): ApprovalState => {
  const { approvalExpiresAfter: seconds } = view.snapshot.plan;
  if (seconds === undefined || given.length === 0) return { isGiven: given.length > 0 };
  const begun = earliest(startsBehind(view, stage));
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
export const approvalOf = (view: PlanView, now: Temporal.Instant, stage?: string): ApprovalState =>
  agreement(view, stage, about(view, stage), now);

/** Whether somebody has ended the quiet time after this stage. */
export const promotionOf = (view: PlanView, now: Temporal.Instant, stage: string): ApprovalState =>
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
