import {
  instantAt,
  type JsonObject,
  readTime,
  secondsBetween,
  shortenedTo,
  timeText,
} from '@drydock/apimachinery';
import {
  type InFlight,
  maxEntryMessageLength,
  type NodeVerdict,
  type Plan,
  type PlanAdapter,
  type PlanDecision,
  type PodTask,
  type Preparing,
  pauseNow,
  pauseOver,
  pauseText,
  type RehearsalTask,
  type Run,
  revisionOfRun,
  type StageSoak,
  type WaitReason,
} from '@drydock/core/plan';
import { drainPolicy } from '../maintenance/maintenance.ts';
import { type NewCondition, withTransitions } from '../read.ts';
import type { MaintenancePlanStatus } from '../schema/maintenance-plan-status.ts';
import {
  readMaintenanceApproval,
  readMaintenancePlan,
  readPlanRecord,
} from './maintenance-plan.ts';
import { forecastJson } from './rehearsal.ts';

/**
 * The status of a MaintenancePlan: only nodes in flight and the latest failures, for any number of
 * nodes.
 */

const maxWaiting = 50;
const maxTextLength = 512;

function cut(text: string): string {
  return shortenedTo(text, maxTextLength);
}

/** Cuts the text of entries of which there may be hundreds. */
function cutEntry(text: string): string {
  return shortenedTo(text, maxEntryMessageLength);
}

function timesJson({ workStartedAt, rebootStartedAt, workEndedAt }: InFlight): JsonObject {
  return {
    ...(workStartedAt && { workStartTime: timeText(workStartedAt) }),
    ...(rebootStartedAt && { rebootStartTime: timeText(rebootStartedAt) }),
    ...(workEndedAt && { workCompletionTime: timeText(workEndedAt) }),
  };
}

function inFlightJson(one: InFlight): JsonObject {
  const {
    uid,
    startedAt,
    since,
    bootIdBefore,
    idleBootId,
    taintsBefore,
    providerId,
    podUid,
    soakSince,
    soakBrokenAt,
    outcome,
    workStartedAt: _work,
    rebootStartedAt: _reboot,
    workEndedAt: _end,
    ...rest
  } = one;
  return {
    ...rest,
    nodeUID: uid,
    startTime: timeText(startedAt),
    stateStartTime: timeText(since),
    ...(providerId !== undefined && { providerID: providerId }),
    ...(bootIdBefore !== undefined && { bootIDBefore: bootIdBefore }),
    ...(idleBootId !== undefined && { idleBootID: idleBootId }),
    ...(taintsBefore && { taintsBefore: [...taintsBefore] }),
    ...(podUid !== undefined && { podUID: podUid }),
    ...(soakSince && { soakStartTime: timeText(soakSince) }),
    ...(soakBrokenAt && { soakBrokenTime: timeText(soakBrokenAt) }),
    ...timesJson(one),
    ...(outcome && { outcome: { ...outcome, message: cutEntry(outcome.message) } }),
  };
}

/** Returns the JSON of a task, with the other stored fields. */
function taskJson({ podUid, since, message, ...rest }: PodTask): JsonObject {
  return {
    ...rest,
    startTime: timeText(since),
    ...(podUid !== undefined && { podUID: podUid }),
    message: cutEntry(message),
  };
}

function rehearsalJson({ runId, ...rest }: RehearsalTask): JsonObject {
  return { ...taskJson(rest), runID: runId };
}

function preparingJson({ uid, ...rest }: Preparing): JsonObject {
  return { ...taskJson(rest), nodeUID: uid };
}

function waitingJson(
  waiting: readonly WaitReason[],
  stored: MaintenancePlanStatus,
  now: Temporal.Instant,
): readonly JsonObject[] {
  return waiting.slice(0, maxWaiting).map(({ reason, message, node, until }) => {
    const before = (stored.waiting ?? []).find(one => one.reason === reason && one.node === node);
    return {
      reason,
      message: cut(message),
      startTime: before?.startTime ?? timeText(now),
      ...(node !== undefined && { node }),
      ...(until && { until: timeText(until) }),
    };
  });
}

function pausedOf(plan: Plan, now: Temporal.Instant): NewCondition {
  const [pause, over] = [pauseNow(plan, now), pauseOver(plan, now)];
  if (pause !== undefined)
    return { type: 'Paused', status: 'True', reason: 'Paused', message: pauseText(pause) };
  if (over === undefined)
    return { type: 'Paused', status: 'False', reason: 'NotPaused', message: '' };
  return {
    type: 'Paused',
    status: 'False',
    reason: 'PauseOver',
    message: `The pause is over. ${pauseText(over)}`,
  };
}

function conditionsOf(
  decision: PlanDecision,
  plan: Plan,
  now: Temporal.Instant,
): readonly NewCondition[] {
  const { phase, message, forecast, counts, contested } = decision;
  const { deadline } = forecast;
  const is = (type: string, yes: boolean, reason: string, text = ''): NewCondition => ({
    type,
    status: yes ? 'True' : 'False',
    reason,
    message: yes ? text : '',
  });
  const awaitsApproval = decision.waiting.some(({ reason }) => reason === 'Approval');
  return [
    {
      ...is(
        'Valid',
        plan.problem === undefined,
        plan.problem === undefined ? 'Valid' : 'NotReadable',
      ),
      message: plan.problem ?? '',
    },
    is(
      'Progressing',
      decision.inFlight.length > 0,
      decision.inFlight.length > 0 ? 'NodesInFlight' : 'NothingInFlight',
    ),
    pausedOf(plan, now),
    is('AwaitingApproval', awaitsApproval, awaitsApproval ? 'Approval' : 'NotAsked', message),
    is('Halted', phase === 'Halted', phase === 'Halted' ? 'Failures' : 'NotHalted', message),
    ...(deadline
      ? [
          {
            ...is('Predicted', deadline.isMet, deadline.isMet ? 'OnTime' : 'MissesDeadline'),
            message: deadline.message,
          },
        ]
      : []),
    ...(contested === undefined ? [] : [is('Contested', true, 'WorkIsUndone', cut(contested))]),
    is(
      'Complete',
      phase === 'Complete',
      phase === 'Complete' && counts.failed > 0 ? 'CompleteWithFailures' : phase,
      message,
    ),
  ];
}

/**
 * Share of the remaining time by which the forecast may be off before another time is stored; at
 * least a minute.
 */
const slack = 0.05;

/**
 * Returns the expected end in whole minutes; the stored one while it is near enough, because the
 * status would change all the time otherwise.
 */
function expectedEnd(
  { phase, forecast }: PlanDecision,
  stored: MaintenancePlanStatus,
  now: Temporal.Instant,
): string | undefined {
  if (phase !== 'Running' || forecast.end === undefined) return undefined;
  const before = readTime(stored.estimatedCompletionTime);
  const left = secondsBetween(now, forecast.end);
  const isNear =
    before !== undefined &&
    Math.abs(secondsBetween(before, forecast.end)) <= Math.max(60, left * slack);
  return isNear
    ? stored.estimatedCompletionTime
    : timeText(instantAt(Math.ceil(forecast.end.epochMilliseconds / 60_000) * 60_000));
}

function soakJson({ stage, since, mark, lacking }: StageSoak): JsonObject {
  return {
    stage,
    ...(since && { startTime: timeText(since) }),
    ...(mark !== undefined && { mark }),
    ...(lacking.length > 0 && {
      lacking: lacking.map(({ node, uid, since: at }) => ({
        node,
        nodeUID: uid,
        startTime: timeText(at),
      })),
    }),
  };
}

function runJson(
  { id, revision, number, startedAt, begun, agreed, soak }: Run,
  stage: string | undefined,
): JsonObject {
  return {
    id,
    revision: revisionOfRun({ revision, ...(number !== undefined && { number }) }),
    ...(number !== undefined && { number }),
    startTime: timeText(startedAt),
    ...(soak && { soak: soakJson(soak) }),
    ...(stage !== undefined && { stage }),
    ...(begun && { begun: Object.fromEntries([...begun].map(([of, at]) => [of, timeText(at)])) }),
    ...(agreed && { agreed: Object.fromEntries(agreed) }),
  };
}

function nodesJson({
  counts,
  inFlight,
  stages,
}: PlanDecision): NonNullable<MaintenancePlanStatus['nodes']> {
  const { selected, due, dueAgain, blocked, done, failed, skipped, unavailable } = counts;
  const all = stages.reduce((sum, stage) => sum + stage.selected, 0);
  return {
    selected,
    due,
    dueAgain,
    blocked,
    inFlight: inFlight.length,
    done,
    failed,
    skipped,
    unavailable,
    progress: `${done}/${all}`,
  };
}

function failureJson({ node, stage, state, message, completedAt, held }: NodeVerdict): JsonObject {
  return {
    node,
    stage,
    state,
    message: cut(message),
    time: timeText(completedAt),
    held,
  };
}

function passedOverJson({ node, uid, since }: PlanDecision['passedOver'][number]): JsonObject {
  return { node, nodeUID: uid, startTime: timeText(since) };
}

function gateJson({ name, value, since, message }: PlanDecision['gates'][number]): JsonObject {
  return { name, value, startTime: timeText(since), message: cut(message) };
}

function gateHaltJson({ gate, message, at }: NonNullable<PlanDecision['gateHalt']>): JsonObject {
  return { gate, message: cut(message), time: timeText(at) };
}

/** Returns the status for a decision. Times are whole seconds, UTC. */
export function maintenancePlanStatus(
  decision: PlanDecision,
  plan: Plan,
  now: Temporal.Instant,
): JsonObject {
  const stored = plan.status as MaintenancePlanStatus;
  const {
    phase,
    message,
    counts,
    stages,
    run,
    stage,
    failures,
    hooks,
    gates,
    gateHalt,
    passedOver,
    rehearsal,
    rehearsed,
  } = decision;
  const waiting = waitingJson(decision.waiting, stored, now);
  const status = {
    phase,
    message: cut(message),
    observedGeneration: plan.generation,
    specHash: plan.specHash,
    run: run && runJson(run, stage),
    nodes: nodesJson(decision),
    resolved: { maxInFlight: counts.maxInFlight, maxUnavailable: counts.maxUnavailable },
    stages: stages.map(one => ({ ...one })),
    inFlight: decision.inFlight.map(inFlightJson),
    preparing: decision.preparing.length === 0 ? undefined : decision.preparing.map(preparingJson),
    waiting,
    passedOver: passedOver.length === 0 ? undefined : passedOver.map(passedOverJson),
    waitingFor: decision.waiting[0]?.reason,
    upNext: decision.upNext.length === 0 ? undefined : [...decision.upNext],
    failures: failures.map(failureJson),
    hooks: hooks.length === 0 ? undefined : hooks.map(taskJson),
    gates: gates.length === 0 ? undefined : gates.map(gateJson),
    haltedBy: gateHalt && gateHaltJson(gateHalt),
    estimatedCompletionTime: expectedEnd(decision, stored, now),
    rehearsal: rehearsal && rehearsalJson(rehearsal),
    forecast: rehearsed && forecastJson(rehearsed),
    completionTime: phase === 'Complete' ? (stored.completionTime ?? timeText(now)) : undefined,
    conditions: withTransitions(
      conditionsOf(decision, plan, now),
      stored.conditions,
      plan.generation,
      now,
    ),
  } satisfies { readonly [Field in keyof MaintenancePlanStatus]: unknown };
  return status;
}

/** Adapter of the kinds about plans, as they are served. */
export const planAdapter: PlanAdapter = {
  readPlan: readMaintenancePlan,
  readRecord: readPlanRecord,
  readApproval: readMaintenanceApproval,
  drainPolicy,
  status: maintenancePlanStatus,
};
