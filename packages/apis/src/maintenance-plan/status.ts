import type { JsonObject } from '@drydock/apimachinery';
import { instantAt, readTime, secondsBetween, shortenedTo, timeText } from '@drydock/apimachinery';
import type { Plan, PlanDecision, PodTask, RehearsalTask, Run, StageSoak, Waiting } from '@drydock/core/plan';
import {
  type InFlight,
  maxEntryMessageLength,
  type NodeVerdict,
  type Preparing,
  pauseNow,
  pauseOver,
  pauseText,
  revisionOfRun,
} from '@drydock/core/plan';
import { type SaidCondition, withTransitions } from '../conditions.ts';
import type { MaintenancePlanStatus } from '../schema/maintenance-plan-status.ts';
import { forecastJson } from './rehearsal.ts';

/**
 * The status of a MaintenancePlan: only nodes in flight and the latest failures, for any number of
 * nodes.
 */

const maxWaiting = 50;
const maxTextLength = 512;

const cut = (text: string): string => shortenedTo(text, maxTextLength);

/** Cuts the text of entries of which there may be hundreds. */
const cutEntry = (text: string): string => shortenedTo(text, maxEntryMessageLength);

const timesJson = ({ workStartedAt, rebootStartedAt, workEndedAt }: InFlight): JsonObject => ({
  ...(workStartedAt && { workStartTime: timeText(workStartedAt) }),
  ...(rebootStartedAt && { rebootStartTime: timeText(rebootStartedAt) }),
  ...(workEndedAt && { workEndTime: timeText(workEndedAt) }),
});

const inFlightJson = (one: InFlight): JsonObject => {
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
    since: timeText(since),
    ...(providerId !== undefined && { providerID: providerId }),
    ...(bootIdBefore !== undefined && { bootIDBefore: bootIdBefore }),
    ...(idleBootId !== undefined && { idleBootID: idleBootId }),
    ...(taintsBefore && { taintsBefore: [...taintsBefore] }),
    ...(podUid !== undefined && { podUID: podUid }),
    ...(soakSince && { soakSince: timeText(soakSince) }),
    ...(soakBrokenAt && { soakBrokenTime: timeText(soakBrokenAt) }),
    ...timesJson(one),
    ...(outcome && { outcome: { ...outcome, message: cutEntry(outcome.message) } }),
  };
};

/** Returns the JSON of a task, with the other stored fields. */
const taskJson = ({ podUid, since, message, ...rest }: PodTask): JsonObject => ({
  ...rest,
  since: timeText(since),
  ...(podUid !== undefined && { podUID: podUid }),
  message: cutEntry(message),
});

const rehearsalJson = ({ runId, ...rest }: RehearsalTask): JsonObject => ({ ...taskJson(rest), runID: runId });

const preparingJson = ({ uid, ...rest }: Preparing): JsonObject => ({ ...taskJson(rest), nodeUID: uid });

const waitingJson = (waiting: readonly Waiting[], stored: MaintenancePlanStatus, now: Temporal.Instant): readonly JsonObject[] =>
  waiting.slice(0, maxWaiting).map(({ word, who, node, ends }) => {
    const before = (stored.waiting ?? []).find(one => one.word === word && one.node === node);
    return {
      word,
      who: cut(who),
      since: before?.since ?? timeText(now),
      ...(node !== undefined && { node }),
      ...(ends && { ends: timeText(ends) }),
    };
  });

const pausedOf = (plan: Plan, now: Temporal.Instant): SaidCondition => {
  const [pause, over] = [pauseNow(plan, now), pauseOver(plan, now)];
  if (pause !== undefined) return { type: 'Paused', status: 'True', reason: 'Paused', message: pauseText(pause) };
  if (over === undefined) return { type: 'Paused', status: 'False', reason: 'NotPaused', message: '' };
  return { type: 'Paused', status: 'False', reason: 'PauseOver', message: `The pause is over. ${pauseText(over)}` };
};

const conditionsOf = (decision: PlanDecision, plan: Plan, now: Temporal.Instant): readonly SaidCondition[] => {
  const { phase, message, forecast, counts, contested } = decision;
  const { deadline } = forecast;
  const is = (type: string, yes: boolean, reason: string, text = ''): SaidCondition => ({
    type,
    status: yes ? 'True' : 'False',
    reason,
    message: yes ? text : '',
  });
  const asked = decision.waiting.some(({ word }) => word === 'Approval');
  return [
    {
      ...is('Valid', plan.problem === undefined, plan.problem === undefined ? 'Valid' : 'NotReadable'),
      message: plan.problem ?? '',
    },
    is('Progressing', decision.inFlight.length > 0, decision.inFlight.length > 0 ? 'NodesInFlight' : 'NothingInFlight'),
    pausedOf(plan, now),
    is('AwaitingApproval', asked, asked ? 'Approval' : 'NotAsked', message),
    is('Halted', phase === 'Halted', phase === 'Halted' ? 'Failures' : 'NotHalted', message),
    ...(deadline ? [{ ...is('Predicted', deadline.isMet, deadline.isMet ? 'OnTime' : 'MissesDeadline'), message: deadline.message }] : []),
    ...(contested === undefined ? [] : [is('Contested', true, 'WorkIsUndone', cut(contested))]),
    is('Complete', phase === 'Complete', phase === 'Complete' && counts.failed > 0 ? 'CompleteWithFailures' : phase, message),
  ];
};

/**
 * Share of the remaining time by which the forecast may be off before another time is stored; at
 * least a minute.
 */
const slack = 0.05;

/**
 * Returns the expected end in whole minutes; the stored one while it is near enough, because the
 * status would change all the time otherwise.
 */
const expectedEnd = ({ phase, forecast }: PlanDecision, stored: MaintenancePlanStatus, now: Temporal.Instant): string | undefined => {
  if (phase !== 'Running' || forecast.end === undefined) return undefined;
  const before = readTime(stored.expectedEndTime);
  const left = secondsBetween(now, forecast.end);
  const isNear = before !== undefined && Math.abs(secondsBetween(before, forecast.end)) <= Math.max(60, left * slack);
  return isNear ? stored.expectedEndTime : timeText(instantAt(Math.ceil(forecast.end.epochMilliseconds / 60_000) * 60_000));
};

const soakJson = ({ stage, since, mark, lacking }: StageSoak): JsonObject => ({
  stage,
  ...(since && { since: timeText(since) }),
  ...(mark !== undefined && { mark }),
  ...(lacking.length > 0 && { lacking: lacking.map(({ node, uid, since: at }) => ({ node, nodeUID: uid, since: timeText(at) })) }),
});

const runJson = ({ id, revision, number, startedAt, begun, agreed, soak }: Run, stage: string | undefined): JsonObject => ({
  id,
  revision: revisionOfRun({ revision, ...(number !== undefined && { number }) }),
  ...(number !== undefined && { number }),
  startTime: timeText(startedAt),
  ...(soak && { soak: soakJson(soak) }),
  ...(stage !== undefined && { stage }),
  ...(begun && { begun: Object.fromEntries([...begun].map(([of, at]) => [of, timeText(at)])) }),
  ...(agreed && { agreed: Object.fromEntries(agreed) }),
});

const nodesJson = ({ counts, inFlight, stages }: PlanDecision): NonNullable<MaintenancePlanStatus['nodes']> => {
  const { selected, due, dueAgain, blocked, done, failed, skipped, unavailable } = counts;
  const all = stages.reduce((sum, stage) => sum + stage.selected, 0);
  return { selected, due, dueAgain, blocked, inFlight: inFlight.length, done, failed, skipped, unavailable, progress: `${done}/${all}` };
};

const failureJson = ({ node, stage, step, message, completedAt, held }: NodeVerdict): JsonObject => ({
  node,
  stage,
  step,
  message: cut(message),
  time: timeText(completedAt),
  held,
});

/** Returns the status for a decision. Times are whole seconds, UTC. */
export const maintenancePlanStatus = (decision: PlanDecision, plan: Plan, now: Temporal.Instant): JsonObject => {
  const stored = plan.status as MaintenancePlanStatus;
  const { phase, message, counts, stages, run, stage, failures, hooks, gates, gateHalt, passedOver, rehearsal, rehearsed } = decision;
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
    passedOver:
      passedOver.length === 0 ? undefined : passedOver.map(({ node, uid, since }) => ({ node, nodeUID: uid, since: timeText(since) })),
    waitingFor: decision.waiting[0]?.word,
    upNext: decision.upNext.length === 0 ? undefined : [...decision.upNext],
    failures: failures.map(failureJson),
    hooks: hooks.length === 0 ? undefined : hooks.map(taskJson),
    gates:
      gates.length === 0
        ? undefined
        : gates.map(({ name, value, since, message: text }) => ({ name, value, since: timeText(since), message: cut(text) })),
    haltedBy: gateHalt && { gate: gateHalt.gate, message: cut(gateHalt.message), time: timeText(gateHalt.at) },
    expectedEndTime: expectedEnd(decision, stored, now),
    rehearsal: rehearsal && rehearsalJson(rehearsal),
    forecast: rehearsed && forecastJson(rehearsed),
    completionTime: phase === 'Complete' ? (stored.completionTime ?? timeText(now)) : undefined,
    conditions: withTransitions(conditionsOf(decision, plan, now), stored.conditions, plan.generation, now),
  } satisfies { readonly [Field in keyof MaintenancePlanStatus]: unknown };
  return status;
};
