import type { Write } from '../maintenance/decision.ts';
import { deleteChildWrite } from '../maintenance/delete-child.ts';
import { earliest, secondsAfter } from '../time.ts';
import { advance } from './advance.ts';
import { haltedBy } from './halt.ts';
import type { InFlight } from './in-flight.ts';
import { pauseEnd, pauseNow, pauseText } from './pause.ts';
import { type Plan, planFinalizer, type Run } from './plan.ts';
import { type Preparation, prepareAhead } from './pods/prepare.ts';
import { hooksToStore, ofHalt, runHooks } from './pods/run-hooks.ts';
import { runRehearsal } from './rehearsal/run-rehearsal.ts';
import { retriesNow } from './retries.ts';
import type { PlanDecision, PlanSnapshot, StageCount, Waiting } from './snapshot.ts';
import { runWith } from './start/approvals.ts';
import { forecastOf } from './start/forecast.ts';
import { isUsed } from './start/stages.ts';
import { nextStart, type Start } from './start/start.ts';
import type { PlanIntent, Step } from './states/common.ts';
import { isOver, type PlanView, viewOf } from './view.ts';
import { announce, childNameOf, deleteRecordWrite, ownWrite } from './writes.ts';

/** What is decided beside the nodes that are in flight. */
type PlanState = Pick<PlanDecision, 'phase' | 'message'> & { readonly warning?: true; readonly start?: Start };

/** Edits of the work, and another runID, begin a new run: verdicts of before say nothing about it. */
const runOf = (plan: Plan, now: Temporal.Instant): Run => {
  const { run, runId, revision } = plan;
  if (run !== undefined && run.id === runId && run.revision === revision) return run;
  return { id: runId, revision, startedAt: now };
};

const claim = (plan: Plan): Write | undefined => {
  if (plan.deleting || plan.finalizers.includes(planFinalizer)) return undefined;
  return ownWrite(plan, 'claim', [...plan.finalizers, planFinalizer], []);
};

const isBusy = ({ inFlight, preparing, hookRuns, rehearsal }: Plan): boolean =>
  inFlight.length + preparing.length + hookRuns.length > 0 || rehearsal !== undefined;

/** A deleted plan is gone when no node is in flight any more. */
const letGo = ({ plan }: PlanSnapshot): Write | undefined => {
  if (!plan.deleting || isBusy(plan) || !plan.finalizers.includes(planFinalizer)) return undefined;
  const finalizers = plan.finalizers.filter(one => one !== planFinalizer);
  return ownWrite(plan, 'let go', finalizers, [announce(plan, 'Normal', 'PlanEnded', 'The plan is over')]);
};

const going = (inFlight: readonly InFlight[]): string => (inFlight.length === 0 ? '' : `; ${inFlight.length} in flight continue`);

/** What forbids every start, whatever the nodes are like. */
const stopped = (view: PlanView, now: Temporal.Instant): PlanState | undefined => {
  const { plan } = view.snapshot;
  const rest = going(plan.inFlight);
  if (plan.deleting) return { phase: 'Deleting', message: `The plan is being deleted${rest}` };
  if (plan.problem !== undefined) return { phase: 'Pending', message: plan.problem, warning: true };
  if (plan.aborted) return { phase: 'Aborted', message: `Aborted${rest}` };
  const halted = haltedBy(view);
  if (halted !== undefined) return { phase: 'Halted', message: `Halted${rest}: ${halted}`, warning: true };
  const pause = pauseNow(plan, now);
  return pause && { phase: 'Paused', message: pauseText(pause, rest) };
};

const progress = ({ counts, snapshot }: PlanView): string =>
  `${snapshot.plan.undo === true ? 'Undone: ' : ''}${counts.done} done, ${counts.failed} failed, ${counts.due} due of ${counts.selected} nodes`;

const stateOf = (view: PlanView, now: Temporal.Instant): PlanState => {
  const stop = stopped(view, now);
  if (stop !== undefined) return stop;
  const start = nextStart(view, now);
  const { inFlight } = view.snapshot.plan;
  if (start.over && inFlight.length === 0) return { phase: 'Complete', message: progress(view), start };
  const asked = start.waiting.find(({ word }) => word === 'Approval');
  if (asked !== undefined && inFlight.length === 0) return { phase: 'AwaitingApproval', message: asked.who, warning: true, start };
  return { phase: 'Running', message: progress(view), start };
};

const stageCounts = ({ stages, verdicts, snapshot }: PlanView, current: string | undefined): readonly StageCount[] => {
  const used = stages.filter(isUsed);
  const at = used.findIndex(({ stage }) => stage.name === current);
  return used.map(({ stage, nodes, past }, index) => {
    const over = nodes.filter(({ node }) => isOver(verdicts.get(node.uid)) || snapshot.plan.skips.has(node.name)).length;
    const phase = over === nodes.length ? (index === at ? 'Soaking' : 'Complete') : index === at ? 'Running' : 'Pending';
    return { name: stage.name, selected: nodes.length + past.length, done: over + past.length, phase };
  });
};

/** Nodes that the plan gives up: of those that nothing was done to yet. */
const isWithdrawn = ({ deleting, onDelete, aborted }: Plan): boolean => aborted || (deleting && onDelete === 'Release');

/** Nothing begins any more, whatever happens. */
const isEnding = ({ deleting, aborted }: Plan): boolean => deleting || aborted;

/** Hooks of nodes that a deleted plan finishes run as ever; with the last of them all that is left is taken away. */
const withdrawsHooks = (plan: Plan): boolean => isWithdrawn(plan) || (plan.deleting && plan.inFlight.length === 0);

/** Maintenances of nodes that are gone, or have come back as others under their name: they would hold what the plan has not begun with. */
const strayWrites = ({ plan, children, nodes }: PlanSnapshot): readonly Write[] => {
  const used = new Set(plan.inFlight.map(({ uid }) => childNameOf(plan, uid)));
  return [...children.values()].flatMap(child => {
    if (child.plan !== plan.name || child.deleting || used.has(child.name)) return [];
    const node = nodes.get(child.nodeName)?.node;
    return node !== undefined && childNameOf(plan, node.uid) === child.name ? [] : [deleteChildWrite(child)];
  });
};

/** What is left of what is over. */
const tidyWrites = (snapshot: PlanSnapshot): readonly Write[] => [
  ...strayWrites(snapshot),
  ...snapshot.outdated.slice(0, 1).map(deleteRecordWrite),
];

/** A plan that is stopped for a while keeps what it has got ready. */
const preparationOf = (view: PlanView, start: Start | undefined, now: Temporal.Instant): Preparation => {
  const { plan } = view.snapshot;
  if (start === undefined && !isEnding(plan)) return { preparing: plan.preparing, writes: [] };
  return prepareAhead(view, start?.candidates ?? [], now);
};

/** Where a plan has a deadline, time that passes changes what is expected: it is looked at again after so many seconds. */
const forecastAgain = 300;

/** The failures that are shown; all are recorded. */
const mostFailures = 50;

/** What goes on beside the nodes: those that are got ready, hooks, gates, rehearsals. Hooks of a halt run whatever else goes on. */
const beside = (view: PlanView, { phase, start }: PlanState, steps: readonly Step[], now: Temporal.Instant) => {
  const { plan } = view.snapshot;
  const halted = phase === 'Halted';
  const preparation = preparationOf(view, start, now);
  const onHalt = halted ? [runHooks(view.snapshot, { at: 'OnHalt', of: ofHalt }, now)] : [];
  const asked = [...(start?.hooks ?? []), ...steps.flatMap(step => step.hooks ?? []), ...onHalt];
  const rehearsal = runRehearsal(view, phase, now);
  const hooks = hooksToStore(view.snapshot, asked, { halted, withdrawn: withdrawsHooks(plan) });
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
    writes: [...tidyWrites(view.snapshot), ...preparation.writes, ...hooks.writes, ...rehearsal.writes],
    again: earliest([preparation.again, rehearsal.again, ...onHalt.map(step => step.again)]),
  };
};

const decisionOf = (view: PlanView, run: Run, steps: readonly Step[], now: Temporal.Instant): PlanDecision => {
  const state = stateOf(view, now);
  const { phase, message, warning, start } = state;
  const begun = start?.one;
  const all = begun === undefined ? steps : [...steps, advance(view.snapshot, begun, { withdrawn: false }, now)];
  const more = beside(view, state, all, now);
  const waiting: readonly Waiting[] = [...(start?.waiting ?? []), ...all.flatMap(({ waiting }) => waiting ?? [])];
  const own = claim(view.snapshot.plan) ?? letGo(view.snapshot);
  const forecast = forecastOf(view, now);
  const hasDeadline = forecast.deadline !== undefined && forecast.end !== undefined;
  const next = hasDeadline ? secondsAfter(now, forecastAgain) : undefined;
  const again = earliest([start?.again, more.again, ...all.map(step => step.again), next]);
  return {
    phase,
    message,
    ...more.stored,
    run: runWith(run, view.snapshot.plan, begun),
    inFlight: all.flatMap(({ one }) => one ?? []),
    waiting,
    upNext: start?.upNext ?? [],
    counts: view.counts,
    forecast,
    stages: stageCounts(view, start?.stage),
    failures: view.failures.slice(-mostFailures),
    writes: [...more.writes, ...all.flatMap(step => step.writes ?? [])],
    ...(warning && { warning }),
    ...(start?.stage !== undefined && { stage: start.stage }),
    ...(own && { own }),
    ...(again && { again }),
  };
};

/**
 * What to do about a plan now: a pure function of what is known and of the time. At most one node is begun with, and its slot is in the status before anything is
 * done to it; every node in flight goes on as far as it gets. Everything that it goes by is stored in the API.
 */
export const decidePlan = (snapshot: PlanSnapshot, now: Temporal.Instant): PlanDecision => {
  const run = runOf(snapshot.plan, now);
  const isNew = run !== snapshot.plan.run;
  const { retries, next } = retriesNow(snapshot.plan, now);
  const plan = { ...snapshot.plan, retries };
  const known = isNew ? { ...snapshot, slices: [], plan: { ...plan, run, passedOver: [] } } : { ...snapshot, plan };
  const view = viewOf(known, now);
  const intent: PlanIntent = { withdrawn: isWithdrawn(known.plan), halted: haltedBy(view) };
  const steps = known.plan.inFlight.map(one => advance(known, one, intent, now));
  // A slot that is free counts as free from the next look on, when that is stored.
  const decision = decisionOf(view, run, steps, now);
  const again = earliest([decision.again, next, pauseEnd(known.plan, now)]);
  return { ...decision, ...(again && { again }) };
};
