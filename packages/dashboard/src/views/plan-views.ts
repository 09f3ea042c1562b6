import { isObject, type JsonObject, readTime, timeText, truncate } from '@drydock/apimachinery';
import { nodeStates, type Plan, planPhases } from '@drydock/core/plan';
import type {
  PlanApprovalView,
  PlanCountsView,
  PlanFailureView,
  PlanForecastView,
  PlanNodeView,
  PlanPointView,
  PlanStageView,
  PlanSummary,
  PlanWaitView,
} from '../scene.ts';

/**
 * Views of plans, as pure functions of their statuses. A status may be long, and from an operator
 * that is older or newer than this page.
 */

/** Limits of lists; no user reads longer ones, and the whole view is sent at every change. */
const maxStages = 40;
const inFlightLimit = 12;
const maxWaiting = 8;
const maxFailures = 5;
const maxTextLength = 512;

function cut(text: string): string {
  return truncate(text, maxTextLength);
}

function textIn(object: JsonObject, name: string): string {
  const value = object[name];
  return typeof value === 'string' ? cut(value) : '';
}

/** Returns a count of the status. */
function numberIn(object: JsonObject, name: string): number {
  const value = object[name];
  return typeof value === 'number' && value > 0 ? value : 0;
}

function partIn(object: JsonObject, name: string): JsonObject | undefined {
  const value = object[name];
  return isObject(value) ? value : undefined;
}

function listIn(object: JsonObject, name: string): readonly JsonObject[] {
  const value = object[name];
  return Array.isArray(value) ? (value as readonly unknown[]).filter(isObject) : [];
}

function timeIn(object: JsonObject, name: string): string {
  const time = readTime(object[name]);
  return time === undefined ? '' : timeText(time);
}

function waitView(raw: JsonObject): PlanWaitView {
  const [node, until] = [textIn(raw, 'node'), timeIn(raw, 'until')];
  return {
    reason: textIn(raw, 'reason'),
    message: textIn(raw, 'message'),
    ...(node !== '' && { node }),
    ...(until !== '' && { until }),
  };
}

function nodeInFlight(raw: JsonObject, waiting: readonly PlanWaitView[]): PlanNodeView {
  const node = textIn(raw, 'node');
  const wait = waiting.find(one => one.node === node);
  return {
    node,
    stage: textIn(raw, 'stage'),
    state: nodeStates.find(state => state === raw['state']) ?? 'Starting',
    since: timeIn(raw, 'stateStartTime'),
    ...(wait && { wait }),
  };
}

function stageView(raw: JsonObject): PlanStageView {
  return {
    name: textIn(raw, 'name'),
    phase: textIn(raw, 'phase'),
    selected: numberIn(raw, 'selected'),
    done: numberIn(raw, 'done'),
  };
}

function failureView(raw: JsonObject): PlanFailureView {
  return {
    node: textIn(raw, 'node'),
    stage: textIn(raw, 'stage'),
    state: textIn(raw, 'state'),
    message: textIn(raw, 'message'),
    at: timeIn(raw, 'time'),
    held: raw['held'] === true,
  };
}

function countsView(raw: JsonObject): PlanCountsView {
  return {
    due: numberIn(raw, 'due'),
    blocked: numberIn(raw, 'blocked'),
    inFlight: numberIn(raw, 'inFlight'),
    done: numberIn(raw, 'done'),
    failed: numberIn(raw, 'failed'),
    skipped: numberIn(raw, 'skipped'),
  };
}

/**
 * Returns the approval that the plan waits for; undefined when there is none, or when the status is
 * about an older spec.
 */
export function approvalOf({
  status,
  generation,
  deleting,
  specHash,
}: Plan): PlanApprovalView | undefined {
  const isAsked = listIn(status, 'waiting').some(({ reason }) => reason === 'Approval');
  if (!isAsked || deleting || status['observedGeneration'] !== generation) return undefined;
  const { id, revision, stage } = partIn(status, 'run') ?? {};
  if (typeof id !== 'string' || typeof revision !== 'string') return undefined;
  return { run: id, revision, specHash, ...(typeof stage === 'string' && { stage }) };
}

/** Returns the fields of the view that are lists. */
function listsOf({
  status,
}: Plan): Pick<PlanSummary, 'stages' | 'inFlight' | 'waiting' | 'failures'> {
  const waiting = listIn(status, 'waiting').map(waitView);
  const flying = listIn(status, 'inFlight');
  const names = new Set(flying.map(({ node }) => node));
  return {
    stages: listIn(status, 'stages').slice(0, maxStages).map(stageView),
    inFlight: flying.slice(0, inFlightLimit).map(raw => nodeInFlight(raw, waiting)),
    waiting: waiting.filter(({ node }) => !names.has(node)).slice(0, maxWaiting),
    failures: listIn(status, 'failures').slice(-maxFailures).toReversed().map(failureView),
  };
}

/** Returns the current or last run of a plan. */
export function runIn({
  status,
}: Plan): { readonly id: string; readonly startedAt: string } | undefined {
  const run = partIn(status, 'run');
  return run && { id: textIn(run, 'id'), startedAt: timeIn(run, 'startTime') };
}

/** Returns the number of done nodes of the run. */
export function doneIn({ status }: Plan): number | undefined {
  const counts = partIn(status, 'nodes');
  return counts && numberIn(counts, 'done');
}

/** Returns the forecast of the shown run. */
function forecastView({ forecast }: Plan, run: string | undefined): PlanForecastView | undefined {
  if (forecast === undefined || (run !== undefined && forecast.runId !== run)) return undefined;
  const {
    rehearsedAt,
    end,
    latestEnd,
    firstEnd,
    finishes,
    windows,
    podsMoved,
    podsMovedAgain,
    blocked,
    blockedNodes,
    lowest,
  } = forecast;
  return {
    rehearsedAt: timeText(rehearsedAt),
    ...(end && { end: timeText(end) }),
    ...(latestEnd && { latestEnd: timeText(latestEnd) }),
    ...(firstEnd && { firstEnd: timeText(firstEnd) }),
    finishes,
    windows,
    podsMoved,
    podsMovedAgain,
    blockedNodes,
    blocked: blocked.slice(0, maxFailures),
    lowest: lowest.slice(0, maxFailures),
  };
}

function timesOf(
  plan: Plan,
  history: readonly PlanPointView[],
): Pick<PlanSummary, 'startedAt' | 'deadline' | 'history' | 'forecast'> {
  const run = runIn(plan);
  const forecast = forecastView(plan, run?.id);
  const { pace } = plan;
  return {
    ...(run !== undefined && run.startedAt !== '' && { startedAt: run.startedAt }),
    ...(pace && { deadline: timeText(pace.deadline) }),
    history,
    ...(forecast && { forecast }),
  };
}

/**
 * Returns whether the plan is paused. The operator decides whether a pause has ended, because its
 * clock counts.
 */
function isPaused({ paused, pause, status }: Plan): boolean {
  return (
    paused ||
    (pause !== undefined &&
      !listIn(status, 'conditions').some(
        one => one['type'] === 'Paused' && one['status'] === 'False',
      ))
  );
}

/** Returns the view of a plan with the history of its run. */
export function planView(plan: Plan, history: readonly PlanPointView[] = []): PlanSummary {
  const { name, uid, aborted, deleting, status } = plan;
  const [counts, resolved, approval] = [
    partIn(status, 'nodes'),
    partIn(status, 'resolved'),
    approvalOf(plan),
  ];
  return {
    key: name,
    uid,
    phase: planPhases.find(phase => phase === status['phase']) ?? 'Pending',
    message: textIn(status, 'message'),
    paused: isPaused(plan),
    aborted,
    deleting,
    ...(counts && { counts: countsView(counts) }),
    ...(resolved && { atOnce: numberIn(resolved, 'maxInFlight') }),
    ...listsOf(plan),
    ...(approval && { approval }),
    ...timesOf(plan, history),
  };
}
