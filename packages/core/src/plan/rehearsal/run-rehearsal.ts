import {
  isBefore,
  type JsonObject,
  joinLimited,
  secondsAfter,
  timeText,
} from '@drydock/apimachinery';
import type { Write } from '../../write.ts';
import { isRetried } from '../contest.ts';
import type { Plan, PlanPhase } from '../plan.ts';
import { podOfTask, stateOfTask } from '../pods/work-pods.ts';
import type { PlanSnapshot, WaitReason } from '../snapshot.ts';
import type { PlanView } from '../view.ts';
import { createPodWrite, deletePodWrite, podNameFor, rehearsalPurpose } from '../writes.ts';
import {
  type RehearsalRefusal,
  type RehearsalSubject,
  type RehearsalSummary,
  type RehearsalTask,
  type Rehearse,
  type RehearsedForecast,
  readSummary,
} from './rehearsal.ts';

/**
 * Refusals by a rehearsal: its forecast may keep a run from its first node. A run that has begun
 * goes on: a stop half-way repairs nothing.
 */

function named(forecast: RehearsedForecast): string {
  return joinLimited(
    forecast.blocked.map(({ node, message }) => `${node}: ${message}`),
    3,
  );
}

/** Reasons why the plan should not begin, by the refusals that a plan may name. */
const reasons: Readonly<
  Record<
    RehearsalRefusal,
    (forecast: RehearsedForecast, deadline: Temporal.Instant | undefined) => string | undefined
  >
> = {
  MissesDeadline: ({ end }, deadline) => {
    if (deadline === undefined || (end !== undefined && !isBefore(deadline, end))) return undefined;
    return `it ends ${end === undefined ? 'never' : `at ${timeText(end)}`}, and the deadline is ${timeText(deadline)}`;
  },
  BlockedNodes: forecast => {
    const { blockedNodes } = forecast;
    if (blockedNodes === 0) return undefined;
    return `${blockedNodes} ${blockedNodes === 1 ? 'node gets' : 'nodes get'} stuck (${named(forecast)})`;
  },
  Unfinished: ({ finishes }) => (finishes ? undefined : 'the plan does not finish'),
};

function hasBegun({ snapshot: { plan }, verdicts }: PlanView): boolean {
  return plan.inFlight.length > 0 || verdicts.size > 0;
}

function reasonIn(
  view: PlanView,
  forecast: RehearsedForecast,
  { refuse }: Rehearse,
): string | undefined {
  if (hasBegun(view)) return undefined;
  const deadline = view.snapshot.plan.pace?.deadline;
  const all = refuse.flatMap(refusal => reasons[refusal](forecast, deadline) ?? []);
  return all.length === 0 ? undefined : all.join('; ');
}

/** Reports whether this forecast keeps the run from its first node. */
function isRefusing(view: PlanView, forecast: RehearsedForecast, rehearse: Rehearse): boolean {
  return reasonIn(view, forecast, rehearse) !== undefined;
}

/** Returns what the run waits for because of this forecast, if anything. */
function refusalOf(
  view: PlanView,
  forecast: RehearsedForecast,
  rehearse: Rehearse,
): WaitReason | undefined {
  const reason = reasonIn(view, forecast, rehearse);
  if (reason === undefined) return undefined;
  const { name } = view.snapshot.plan;
  return {
    reason: 'Forecast',
    message: `the rehearsal of ${timeText(forecast.rehearsedAt)} predicts: ${reason}; the plan is rehearsed again automatically, or at once by drydock plan retry ${name} --failed`,
  };
}

/**
 * Name of the service account in the namespace of the work; it has the rights of the shipped roles
 * for viewers.
 */
const serviceAccount = 'drydock-rehearsal';

function durations({ workSeconds, rebootSeconds }: Rehearse): readonly string[] {
  return [
    ...(workSeconds === undefined ? [] : [`--work-time=${workSeconds}s`]),
    ...(rebootSeconds === undefined ? [] : [`--reboot-time=${rebootSeconds}s`]),
  ];
}

/**
 * Returns the pod that rehearses a plan: it reads the cluster, and its result is its termination
 * message, so that it needs no right to write anything. It runs where the operator's own pods may
 * run (`placement`): an attacker on its node has its token, which lists the pods of the whole
 * cluster.
 */
function rehearsalPodSpec(
  image: string,
  plan: string,
  rehearse: Rehearse,
  placement: JsonObject = {},
): JsonObject {
  return {
    ...placement,
    serviceAccountName: serviceAccount,
    enableServiceLinks: false,
    terminationGracePeriodSeconds: 5,
    securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
    containers: [
      {
        name: 'rehearse',
        image,
        args: [
          'plan',
          'rehearse',
          plan,
          '--summary-file=/dev/termination-log',
          ...durations(rehearse),
        ],
        // A third more than the largest measured rehearsal takes (docs/rehearse.md): beyond that
        // limit this pod is killed, and not another one of its node.
        resources: { requests: { cpu: '100m', memory: '256Mi' }, limits: { memory: '4Gi' } },
        securityContext: {
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        },
      },
    ],
  };
}

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

/** Returns what the next node of the plan waits for in its rehearsal, if anything. */
export function awaitRehearsal(view: PlanView): WaitReason | undefined {
  const { rehearse, rehearsal, forecast, name } = view.snapshot.plan;
  if (rehearse === undefined) return undefined;
  if (forecast !== undefined && isAbout(forecast, subjectOf(view.snapshot.plan, rehearse)))
    return refusalOf(view, forecast, rehearse);
  if (!rehearse.required) return undefined;
  if (rehearsal?.state !== 'Failed')
    return { reason: 'NotRehearsed', message: 'the plan is being rehearsed' };
  const message = `its rehearsal has failed: ${rehearsal.message}; it is retried automatically, or at once by drydock plan retry ${name} --failed`;
  return { reason: 'NotRehearsed', message };
}
