import { earliest, isBefore, secondsAfter } from '@drydock/apimachinery';
import type { InFlight } from '../in-flight.ts';
import type { Plan, Run } from '../plan.ts';
import { revisionOfRun } from '../records.ts';
import type { Approval } from '../snapshot.ts';
import type { PlanView } from '../view.ts';

/** Approvals: that a run begins, that it goes on after a stage, or that a quiet time is over. */

/** State of an approval now. */
export type ApprovalState = {
  readonly isGiven: boolean;
  /** Time from which it is void, unless whatever it approves has begun by then. */
  readonly until?: Temporal.Instant;
  /** Approval that has expired. */
  readonly expired?: Approval;
};

/**
 * Reports whether it was given to this very run, of this plan and not of an earlier one of the same
 * name.
 */
function isOfRun({ plan: name, run, revision, createdAt }: Approval, plan: Plan): boolean {
  return (
    name === plan.name &&
    plan.run !== undefined &&
    run === plan.run.id &&
    revision === revisionOfRun(plan.run) &&
    !isBefore(createdAt, plan.createdAt)
  );
}

/**
 * Returns the spec that it agrees to: the one that it names, otherwise the one that existed when it
 * was first observed.
 */
function agreedSpecOf({ specHash, uid }: Approval, plan: Plan): string {
  return specHash ?? plan.run?.agreed?.get(uid) ?? plan.specHash;
}

/**
 * Reports whether it was given to the plan in its current form: an approval from before an edit is
 * void.
 */
function isFor(approval: Approval, plan: Plan): boolean {
  return isOfRun(approval, plan) && agreedSpecOf(approval, plan) === plan.specHash;
}

/** Returns the run, with the spec at the first observation of each approval that names none. */
export function runWithAgreed(run: Run, { plan, approvals }: PlanView['snapshot']): Run {
  const unnamed = approvals.filter(
    one => one.specHash === undefined && isOfRun(one, { ...plan, run }),
  );
  const { agreed: _agreed, ...rest } = run;
  return unnamed.length === 0
    ? rest
    : {
        ...rest,
        agreed: new Map(unnamed.map(one => [one.uid, agreedSpecOf(one, { ...plan, run })])),
      };
}

/** Returns the names of the stages after this one; all of them if there is none. */
function stagesBehind({ stages }: PlanView, stage: string | undefined): ReadonlySet<string> {
  const names = stages.map(one => one.stage.name);
  return new Set(stage === undefined ? names : names.slice(names.indexOf(stage) + 1));
}

/**
 * Returns the times at which nodes of this run began after this stage, or in any stage if there is
 * none.
 */
export function startsBehind(view: PlanView, stage?: string): readonly Temporal.Instant[] {
  const { plan, slices } = view.snapshot;
  const { run } = plan;
  if (run === undefined) return [];
  const behind = stagesBehind(view, stage);
  const flying = plan.inFlight.filter(({ revision }) => revision === run.revision);
  const stored = [...(run.begun ?? [])].map(([of, startedAt]) => ({ stage: of, startedAt }));
  // A remainder of another run of the same work has begun before this one.
  return [...stored, ...slices.flatMap(({ verdicts }) => verdicts), ...flying].flatMap(one =>
    behind.has(one.stage) && !isBefore(one.startedAt, run.startedAt) ? one.startedAt : [],
  );
}

function agreement(
  view: PlanView,
  stage: string | undefined,
  given: readonly Approval[],
  now: Temporal.Instant,
): ApprovalState {
  const { approvalExpiresAfter: seconds } = view.snapshot.plan;
  if (seconds === undefined || given.length === 0) return { isGiven: given.length > 0 };
  const begun = earliest(startsBehind(view, stage));
  const endOf = ({ createdAt }: Approval): Temporal.Instant => secondsAfter(createdAt, seconds);
  const valid = given.filter(one => isBefore(begun ?? now, endOf(one)));
  const [expired] = given;
  if (valid.length === 0) return { isGiven: false, ...(expired && { expired }) };
  const until = begun === undefined ? earliest(valid.map(endOf)) : undefined;
  return { isGiven: true, ...(until && { until }) };
}

function about(
  { snapshot: { plan, approvals } }: PlanView,
  stage: string | undefined,
): readonly Approval[] {
  return approvals.filter(
    one => isFor(one, plan) && (one.promote === 'Full' || one.stage === stage),
  );
}

/** Returns the approval of the run, or of the stages after this one. */
export function approvalOf(view: PlanView, now: Temporal.Instant, stage?: string): ApprovalState {
  return agreement(view, stage, about(view, stage), now);
}

/** Returns the promotion that ends the quiet time after this stage. */
export function promotionOf(view: PlanView, now: Temporal.Instant, stage: string): ApprovalState {
  return agreement(
    view,
    stage,
    about(view, stage).filter(one => one.promote !== undefined),
    now,
  );
}

/**
 * Returns the run, with the time at which its stage began: an approval that held then continues to
 * hold.
 */
export function runWith(run: Run, plan: Plan, begun: InFlight | undefined): Run {
  return begun === undefined ||
    plan.approvalExpiresAfter === undefined ||
    run.begun?.has(begun.stage) === true
    ? run
    : { ...run, begun: new Map([...(run.begun ?? []), [begun.stage, begun.startedAt]]) };
}
