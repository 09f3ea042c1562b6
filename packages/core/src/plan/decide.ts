import { earliest, secondsAfter } from '@drydock/apimachinery';
import type { Write } from '../write.ts';
import { advance, type Strays, straysOf, unansweredStep } from './advance.ts';
import { contestants, contestText, retriesNow, revisionOfRun, unfinishedIn } from './contest.ts';
import type { InFlight } from './in-flight.ts';
import { type Plan, planFinalizer, type Run } from './plan.ts';
import { type Preparation, prepareAhead } from './pods/prepare.ts';
import { haltScope, hooksToStore, runHooks } from './pods/run-hooks.ts';
import { runRehearsal } from './rehearsal/run-rehearsal.ts';
import type { PlanDecision, PlanSnapshot, StageCount, WaitReason } from './snapshot.ts';
import { forecastOf } from './start/forecast.ts';
import { runWith, runWithAgreed } from './start/node-reasons.ts';
import { withSoak } from './start/soak.ts';
import { isUsed } from './start/stages.ts';
import { nextStart, type StartDecision } from './start/start.ts';
import type { NodeStepResult, PlanDirective } from './states/common.ts';
import { isEnding, type Stop, stopOf } from './stop.ts';
import { pauseEnd, pauseNow, pauseText } from './unavailability.ts';
import { isOver, type PlanView, viewOf } from './view.ts';
import { announce, deleteRecordWrite, ownWrite, recordWrite, targetOf } from './writes.ts';

/** Decision beside the nodes that are in flight. */
type PlanState = Pick<PlanDecision, 'phase' | 'message'> & {
  readonly warning?: true;
  readonly start?: StartDecision;
};

/**
 * Returns the run. An edit of the work, or another runID, begins a new run, even if an edit is
 * taken back: earlier verdicts do not apply to it.
 */
function runOf(plan: Plan, now: Temporal.Instant): Run {
  const { run, runId, revision } = plan;
  if (run !== undefined && run.id === runId && run.revision === revision) return run;
  return {
    id: runId,
    revision,
    startedAt: now,
    ...(run !== undefined && { number: (run.number ?? 1) + 1 }),
  };
}

function claim(plan: Plan): Write | undefined {
  if (plan.deleting || plan.finalizers.includes(planFinalizer)) return undefined;
  return ownWrite(plan, 'claim', [...plan.finalizers, planFinalizer], []);
}

function isBusy({ inFlight, preparing, hookRuns, rehearsal }: Plan): boolean {
  return inFlight.length + preparing.length + hookRuns.length > 0 || rehearsal !== undefined;
}

/** Releases a deleted plan when no node is in flight any more, and none waits for its release. */
function releasePlan({ plan }: PlanSnapshot, strays: Strays): Write | undefined {
  if (
    !plan.deleting ||
    isBusy(plan) ||
    strays.waiting.length > 0 ||
    !plan.finalizers.includes(planFinalizer)
  )
    return undefined;
  const finalizers = plan.finalizers.filter(one => one !== planFinalizer);
  return ownWrite(plan, 'let go', finalizers, [
    announce(plan, 'Normal', 'PlanEnded', 'The plan is over'),
  ]);
}

function going(inFlight: readonly InFlight[]): string {
  return inFlight.length === 0 ? '' : `; ${inFlight.length} in flight continue`;
}

const stopTexts: Readonly<
  Record<Stop['kind'], (rest: string, stop: Stop, plan: Plan, now: Temporal.Instant) => string>
> = {
  Deleting: rest => `The plan is being deleted${rest}`,
  Aborted: rest => `Aborted${rest}`,
  Halted: (rest, { message }) => `Halted${rest}: ${message}`,
  Paused: (rest, _stop, plan, now) => pauseText(pauseNow(plan, now) ?? {}, rest),
};

/** Returns the state that forbids every start, for any nodes. */
function stopped(
  { snapshot: { plan } }: PlanView,
  stop: Stop | undefined,
  now: Temporal.Instant,
): PlanState | undefined {
  if (plan.problem !== undefined && !plan.deleting)
    return { phase: 'Pending', message: plan.problem, warning: true };
  if (stop === undefined) return undefined;
  const message = stopTexts[stop.kind](going(plan.inFlight), stop, plan, now);
  return { phase: stop.kind, message, ...(stop.kind === 'Halted' && { warning: true }) };
}

function progress({ counts, dueAgain, snapshot }: PlanView): string {
  const { done, failed, due, selected } = counts;
  const by = contestants(dueAgain, snapshot);
  const next = `and have their turn in the next run: drydock plan rerun ${snapshot.plan.name}`;
  const dueAgainText =
    dueAgain.length === 0 ? '' : `; ${dueAgain.length} are due again${by}, ${next}`;
  return `${snapshot.plan.undo === true ? 'Undone: ' : ''}${done} done, ${failed} failed, ${due} due of ${selected} nodes${dueAgainText}`;
}

function stateOf(view: PlanView, stop: Stop | undefined, now: Temporal.Instant): PlanState {
  const none = stopped(view, stop, now);
  if (none !== undefined) return none;
  const start = nextStart(view, now);
  const { inFlight } = view.snapshot.plan;
  if (start.over && inFlight.length === 0)
    return { phase: 'Complete', message: progress(view), start };
  const awaited = start.waiting.find(({ reason }) => reason === 'Approval');
  if (awaited !== undefined && inFlight.length === 0)
    return { phase: 'AwaitingApproval', message: awaited.message, warning: true, start };
  return { phase: 'Running', message: progress(view), start };
}

/**
 * Returns the phase of the stage that delays the plan when its nodes are over: it soaks, or needs
 * an approval.
 */
function heldUp(waiting: readonly WaitReason[]): StageCount['phase'] {
  return waiting.some(({ reason }) => reason === 'StageSoak' || reason === 'SoakBroken')
    ? 'Soaking'
    : 'AwaitingApproval';
}

function stageCounts(
  { stages, verdicts, snapshot }: PlanView,
  start: StartDecision | undefined,
): readonly StageCount[] {
  const used = stages.filter(isUsed);
  const at = used.findIndex(({ stage }) => stage.name === start?.stage);
  return used.map(({ stage, nodes, past }, index) => {
    const left = nodes.filter(
      ({ node }) => !isOver(verdicts.get(node.uid)) && !snapshot.plan.skips.has(node.name),
    ).length;
    const selected = new Set([
      ...nodes.map(({ node }) => node.name),
      ...past.map(({ node }) => node),
    ]).size;
    const waits = start?.waiting ?? [];
    const phase =
      left === 0
        ? index === at && waits.length > 0
          ? heldUp(waits)
          : 'Complete'
        : index === at
          ? 'Running'
          : 'Pending';
    return { name: stage.name, selected, done: selected - left, phase };
  });
}

/** Reports whether the plan gives up nodes on which nothing was done yet. */
function isWithdrawn({ deleting, onDelete, aborted }: Plan): boolean {
  return aborted || (deleting && onDelete === 'Release');
}

/**
 * Reports whether hooks are withdrawn. Hooks of nodes that a deleted plan finishes run as usual;
 * with the last of these nodes all hooks are withdrawn.
 */
function withdrawsHooks(plan: Plan): boolean {
  return isWithdrawn(plan) || (plan.deleting && plan.inFlight.length === 0);
}

/** Deletes the oldest of the records of past runs. */
function outdatedWrites({ snapshot }: PlanView): readonly Write[] {
  return snapshot.outdated.slice(0, 1).map(deleteRecordWrite);
}

/** Records the failure of a node that did not stay healthy in the soak time of its stage. */
function soakWrites({ snapshot, soak }: PlanView): readonly Write[] {
  const { run } = snapshot.plan;
  return soak?.failed === undefined || run === undefined
    ? []
    : [recordWrite(snapshot, soak.failed, revisionOfRun(run))];
}

/** Returns the preparation. A plan that is stopped for a while keeps its prepared nodes. */
function preparationOf(
  view: PlanView,
  start: StartDecision | undefined,
  now: Temporal.Instant,
): Preparation {
  const { plan } = view.snapshot;
  if (start === undefined && !isEnding(plan)) return { preparing: plan.preparing, writes: [] };
  return prepareAhead(view, start?.candidates ?? [], now);
}

/** Seconds until the next look at a plan with a deadline: its forecast changes as time passes. */
const forecastAgain = 300;

/** Number of failures that are shown; all are recorded. */
const maxFailures = 50;

/**
 * Reports whether the run has begun and is not over, so that a halt matters. A run that is not
 * approved, or that is long over, does not run hooks for it.
 */
function isUnderWayAtAll({ snapshot: { plan, slices }, open }: PlanView): boolean {
  return (
    plan.inFlight.length > 0 ||
    (open.size > 0 && slices.some(({ verdicts }) => verdicts.length > 0))
  );
}

/**
 * Returns what goes on beside the nodes: preparations, hooks, gates, rehearsals. Hooks of a halt
 * run in any case.
 */
function beside(
  view: PlanView,
  { phase, start }: PlanState,
  strays: Strays,
  steps: readonly NodeStepResult[],
  now: Temporal.Instant,
) {
  const { plan } = view.snapshot;
  const halted = phase === 'Halted';
  const preparation = preparationOf(view, start, now);
  const onHalt =
    halted && isUnderWayAtAll(view)
      ? [runHooks(view.snapshot, { at: 'OnHalt', scope: haltScope }, now)]
      : [];
  const awaited = [...(start?.hooks ?? []), ...steps.flatMap(step => step.hooks ?? []), ...onHalt];
  const rehearsal = runRehearsal(view, phase, now);
  const hooks = hooksToStore(view.snapshot, awaited, { halted, withdrawn: withdrawsHooks(plan) });
  return {
    stored: {
      preparing: preparation.preparing,
      passedOver: start === undefined ? plan.passedOver : (start.passedOver ?? []),
      hooks: hooks.runs,
      gates: view.gates.map(({ state }) => state),
      ...(view.gateHalt && { gateHalt: view.gateHalt }),
      rehearsal: rehearsal.task,
      rehearsed: rehearsal.forecast,
    },
    writes: [
      ...soakWrites(view),
      ...strays.writes,
      ...outdatedWrites(view),
      ...preparation.writes,
      ...hooks.writes,
      ...rehearsal.writes,
    ],
    requeueAt: earliest([
      preparation.requeueAt,
      rehearsal.requeueAt,
      ...onHalt.map(step => step.requeueAt),
    ]),
  };
}

/** Puts the write into a chain of its own: no other write waits for it. */
function alone(write: Write): Write {
  return { ...write, of: targetOf(write) };
}

/** Puts the writes about the node into one chain, so that they are sent one after the other. */
function ofNode({ slot: one, writes = [] }: NodeStepResult): readonly Write[] {
  return writes.map(write => ({ ...write, of: one?.node ?? targetOf(write) }));
}

function runWithSoak({ soak: _before, ...run }: Run, { soak }: PlanView): Run {
  return { ...run, ...(soak && { soak: soak.soak }) };
}

function decisionOf(
  view: PlanView,
  run: Run,
  steps: readonly NodeStepResult[],
  stop: Stop | undefined,
  now: Temporal.Instant,
): PlanDecision {
  const state = stateOf(view, stop, now);
  const { phase, message, warning, start } = state;
  const begun = start?.slot;
  const all =
    begun === undefined
      ? steps
      : [...steps, advance(view.snapshot, begun, { withdrawn: false }, now)];
  const strays = straysOf(view);
  const more = beside(view, state, strays, all, now);
  const waiting: readonly WaitReason[] = [
    ...(start?.waiting ?? []),
    ...all.flatMap(({ waiting }) => waiting ?? []),
    ...strays.waiting,
  ];
  const own = claim(view.snapshot.plan) ?? releasePlan(view.snapshot, strays);
  const forecast = forecastOf(view, now);
  const contested = contestText(view.dueAgain, view.snapshot);
  const hasDeadline = forecast.deadline !== undefined && forecast.end !== undefined;
  const next = hasDeadline ? secondsAfter(now, forecastAgain) : undefined;
  const requeueAt = earliest([
    start?.requeueAt,
    more.requeueAt,
    view.soak?.waiting?.until,
    ...all.map(step => step.requeueAt),
    next,
  ]);
  return {
    phase,
    message,
    ...more.stored,
    run: runWithSoak(runWithAgreed(runWith(run, view.snapshot.plan, begun), view.snapshot), view),
    inFlight: all.flatMap(({ slot: one }) => one ?? []),
    waiting,
    upNext: start?.upNext ?? [],
    counts: view.counts,
    ...(contested !== undefined && { contested }),
    forecast,
    stages: stageCounts(view, start),
    failures: view.failures.slice(-maxFailures),
    writes: [...more.writes.map(alone), ...all.flatMap(ofNode)],
    ...(warning && { warning }),
    ...(start?.stage !== undefined && { stage: start.stage }),
    ...(own && { own }),
    ...(requeueAt && { requeueAt }),
  };
}

/**
 * Returns the snapshot for a run that begins: the records of the last run only show which nodes it
 * has left unfinished.
 */
function beforeRun({
  slices,
  unfinished,
}: PlanSnapshot): Pick<PlanSnapshot, 'slices' | 'unfinished'> {
  const last = slices.flatMap(({ verdicts }) => verdicts);
  const done = new Set(last.flatMap(({ uid, verdict }) => (verdict === 'Done' ? uid : [])));
  return {
    slices: [],
    unfinished: new Set([...[...unfinished].filter(uid => !done.has(uid)), ...unfinishedIn(last)]),
  };
}

/**
 * Decides what to do about a plan now: a pure function of the snapshot and the time. At most one
 * node begins, and its slot is in the status before anything is done to it; every node in flight
 * goes on as far as possible. Everything that the decision depends on is stored in the API.
 */
export function decidePlan(snapshot: PlanSnapshot, now: Temporal.Instant): PlanDecision {
  const run = runOf(snapshot.plan, now);
  const isNew = run !== snapshot.plan.run;
  const { retries, next } = retriesNow(snapshot.plan, now);
  const plan = { ...snapshot.plan, retries };
  const known = isNew
    ? { ...snapshot, ...beforeRun(snapshot), plan: { ...plan, run, passedOver: [] } }
    : { ...snapshot, plan };
  const view = withSoak(viewOf(known, now), now);
  const stop = stopOf(view, now);
  const intent: PlanDirective = { withdrawn: isWithdrawn(known.plan), stop };
  const steps = known.plan.inFlight.map(one =>
    known.unanswered.has(one.node) ? unansweredStep(known, one) : advance(known, one, intent, now),
  );
  // A freed slot counts as free from the next pass on, after it is stored.
  const decision = decisionOf(view, run, steps, stop, now);
  const requeueAt = earliest([decision.requeueAt, next, pauseEnd(known.plan, now)]);
  return { ...decision, ...(requeueAt && { requeueAt }) };
}
