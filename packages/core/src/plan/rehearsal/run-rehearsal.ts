import { isBefore, secondsAfter } from '@drydock/apimachinery';
import type { Write } from '../../write.ts';
import type { Plan, PlanPhase } from '../plan.ts';
import { podOfTask, stateOfTask } from '../pods/pod-task.ts';
import { isRetried } from '../retries.ts';
import type { PlanSnapshot } from '../snapshot.ts';
import type { PlanView } from '../view.ts';
import { createPodWrite, deletePodWrite, podNameFor, rehearsalPurpose } from '../writes.ts';
import { isRefusing } from './refusals.ts';
import type {
  RehearsalSubject,
  RehearsalSummary,
  RehearsalTask,
  Rehearse,
  RehearsedForecast,
} from './rehearsal.ts';
import { rehearsalPodSpec } from './rehearsal-pod.ts';
import { readSummary } from './summary.ts';

/**
 * Decides when a plan is rehearsed, and what is kept of it. One rehearsal at a time, by a pod whose
 * name is stored before it is created.
 */

/** State to store, and writes to send after that. */
export type RehearsalStep = {
  readonly task?: RehearsalTask | undefined;
  readonly forecast?: RehearsedForecast | undefined;
  readonly writes: readonly Write[];
  readonly requeueAt?: Temporal.Instant | undefined;
};

/**
 * Seconds after which a forecast that keeps the run from its first node is repeated: its reasons
 * may have been repaired.
 */
const refusedAgain = 600;

/** Returns the seconds until another attempt, by the attempts so far. */
function retryAfter(attempt: number): number {
  return Math.min(3600, 60 * 2 ** Math.min(attempt - 1, 6));
}

/** Returns the subject of a rehearsal now. */
export function subjectOf({ run, runId }: Plan, { specHash }: Rehearse): RehearsalSubject {
  return { runId: run?.id ?? runId, specHash };
}

/** Reports whether it is about this run, and about the plan in its current form. */
export function isAbout(one: RehearsalSubject, subject: RehearsalSubject): boolean {
  return one.runId === subject.runId && one.specHash === subject.specHash;
}

/**
 * Phases with rehearsals. Plans that are stopped for a while, or wait for an approval, are
 * rehearsed as well: the approver needs the forecast.
 */
const phasesThatRehearse: readonly PlanPhase[] = ['Running', 'AwaitingApproval', 'Paused'];

/** Returns the seconds after which a forecast about the current form of the plan is repeated. */
function repeatedAfter(
  view: PlanView,
  forecast: RehearsedForecast,
  rehearse: Rehearse,
  phase: PlanPhase,
): number | undefined {
  if (isRefusing(view, forecast, rehearse)) return rehearse.everySeconds ?? refusedAgain;
  return phase === 'Running' ? rehearse.everySeconds : undefined;
}

/** Returns when the next rehearsal is to begin; undefined: it does not begin on its own. */
function dueAt(
  view: PlanView,
  rehearse: Rehearse,
  phase: PlanPhase,
  now: Temporal.Instant,
): Temporal.Instant | undefined {
  const { plan } = view.snapshot;
  if (!phasesThatRehearse.includes(phase) || view.open.size + plan.inFlight.length === 0)
    return undefined;
  const { forecast } = plan;
  const subject = subjectOf(plan, rehearse);
  if (
    forecast === undefined ||
    !isAbout(forecast, subject) ||
    isRetried(forecast.rehearsedAt, plan)
  )
    return now;
  const seconds = repeatedAfter(view, forecast, rehearse, phase);
  return seconds === undefined ? undefined : secondsAfter(forecast.rehearsedAt, seconds);
}

function begun(
  snapshot: PlanSnapshot,
  subject: RehearsalSubject,
  attempt: number,
  now: Temporal.Instant,
): RehearsalTask {
  return {
    ...subject,
    state: 'Running',
    attempt,
    since: now,
    pod: podNameFor(snapshot, rehearsalPurpose(snapshot.plan, subject.specHash, now, attempt)),
    message: '',
  };
}

function kept(
  view: PlanView,
  summary: RehearsalSummary,
  task: RehearsalTask,
  now: Temporal.Instant,
): RehearsedForecast {
  const { forecast } = view.snapshot.plan;
  const { runId, specHash } = task;
  const first = forecast?.runId === runId ? (forecast.firstEnd ?? summary.end) : summary.end;
  return { ...summary, runId, specHash, rehearsedAt: now, ...(first && { firstEnd: first }) };
}

/** Returns the next step of the running rehearsal. */
function advanceRunning(
  view: PlanView,
  task: RehearsalTask,
  rehearse: Rehearse,
  now: Temporal.Instant,
): RehearsalStep {
  const { snapshot } = view;
  const pod = podOfTask(snapshot, task);
  const state = stateOfTask(snapshot, task, rehearse.timeoutSeconds, now);
  const failed = (message: string): RehearsalStep => ({
    task: { ...task, state: 'Failed', since: now, message },
    writes: [],
  });
  if (state.kind === 'missing') return { task, writes: createWrites(snapshot, task, rehearse) };
  if (state.kind === 'seen') return { task: { ...task, podUid: state.podUid }, writes: [] };
  if (state.kind === 'failed') return failed(state.message);
  if (state.kind === 'running')
    return { task, writes: [], requeueAt: secondsAfter(task.since, rehearse.timeoutSeconds) };
  const summary = readSummary(pod?.output ?? '');
  if (summary === undefined)
    return failed('its pod has succeeded, but its output is not a forecast');
  return {
    task: { ...task, state: 'Succeeded', since: now },
    forecast: kept(view, summary, task, now),
    writes: [],
  };
}

function createWrites(
  snapshot: PlanSnapshot,
  task: RehearsalTask,
  rehearse: Rehearse,
): readonly Write[] {
  const image = rehearse.image ?? snapshot.settings.image;
  if (image === undefined) return [];
  const podSpec = rehearsalPodSpec(
    image,
    snapshot.plan.name,
    rehearse,
    snapshot.settings.placement,
  );
  return [
    createPodWrite(
      snapshot,
      { podSpec },
      { name: task.pod, what: 'rehearses the plan', deadlineSeconds: rehearse.timeoutSeconds },
    ),
  ];
}

/**
 * Removes a rehearsal that is over, or about an old form: its pod first, then its entry. A failure
 * is kept, for its next attempt.
 */
function leave(snapshot: PlanSnapshot, task: RehearsalTask): RehearsalStep {
  const pod = podOfTask(snapshot, task);
  const isLeft = pod !== undefined || task.state === 'Failed';
  return {
    ...(isLeft && { task }),
    writes: pod === undefined || pod.deleting ? [] : [deletePodWrite(pod)],
  };
}

function afterFailure(
  view: PlanView,
  task: RehearsalTask,
  due: Temporal.Instant | undefined,
  now: Temporal.Instant,
): RehearsalStep {
  const { snapshot } = view;
  const left = leave(snapshot, task);
  if (left.writes.length > 0 || due === undefined) return left;
  const retried = isRetried(task.since, snapshot.plan);
  const at = secondsAfter(task.since, retryAfter(task.attempt));
  if (!retried && isBefore(now, at)) return { ...left, requeueAt: at };
  return { task: begun(snapshot, task, task.attempt + 1, now), writes: [] };
}

/** Returns the forecast of this run: it is kept for the order by cost and for comparisons. */
function forecastOfRun({ forecast, run, runId }: Plan): Pick<RehearsalStep, 'forecast'> {
  return forecast !== undefined && forecast.runId === (run?.id ?? runId) ? { forecast } : {};
}

/** Returns the next step of the rehearsals of a plan in this phase. */
export function runRehearsal(
  view: PlanView,
  phase: PlanPhase,
  now: Temporal.Instant,
): RehearsalStep {
  const { snapshot } = view;
  const { rehearse, rehearsal: task } = snapshot.plan;
  const stored = forecastOfRun(snapshot.plan);
  if (rehearse === undefined)
    return {
      ...stored,
      ...(task ? leave(snapshot, { ...task, state: 'Succeeded' }) : { writes: [] }),
    };
  const due = dueAt(view, rehearse, phase, now);
  const subject = subjectOf(snapshot.plan, rehearse);
  if (
    task !== undefined &&
    (due === undefined || !isAbout(task, subject)) &&
    task.state !== 'Succeeded'
  ) {
    return { ...stored, ...leave(snapshot, { ...task, state: 'Succeeded' }) };
  }
  if (task?.state === 'Running') return { ...stored, ...advanceRunning(view, task, rehearse, now) };
  if (task?.state === 'Failed') return { ...stored, ...afterFailure(view, task, due, now) };
  if (task !== undefined) return { ...stored, ...leave(snapshot, task) };
  if (due === undefined) return { ...stored, writes: [] };
  return isBefore(now, due)
    ? { ...stored, writes: [], requeueAt: due }
    : { ...stored, task: begun(snapshot, subject, 1, now), writes: [] };
}
