import { type JsonObject, joinRows, timeText } from '@drydock/apimachinery';
import type { MaintenancePlanStatus } from '@drydock/apis/schema';
import type { NodeVerdict, RecordSlice } from '@drydock/core/plan';
import { durationText } from '@drydock/rehearse/report';
import { columns } from '@drydock/utils';
import { isUpToDate, type PlanObject } from './why-plans.ts';

/** Text of a plan's forecast from its latest rehearsal. */

type Forecast = NonNullable<MaintenancePlanStatus['forecast']>;

/** Smallest drift that is shown, in seconds; smaller ones are chance. */
const leastDriftSeconds = 30;

function driftText({ driftSeconds = 0 }: Forecast): string {
  if (Math.abs(driftSeconds) < leastDriftSeconds) return '';
  const much = durationText(1000 * Math.abs(driftSeconds));
  return `, ${much} ${driftSeconds > 0 ? 'later' : 'earlier'} than at first`;
}

function endText(forecast: Forecast): string {
  const { estimatedCompletionTime: end, latestCompletionTime: latest = end, finishes } = forecast;
  if (end === undefined) return finishes ? 'it is done' : 'it does not finish';
  return `it ends at ${end} (9 of 10 times by ${latest})${driftText(forecast)}`;
}

/** Returns the lines of the forecast; none where the plan has not been rehearsed. */
function forecastLines({ forecast }: MaintenancePlanStatus): readonly string[] {
  if (forecast === undefined) return [];
  const {
    rehearsalTime,
    nodes,
    podsMoved,
    podsMovedAgain,
    windows,
    blocked = [],
    blockedNodes,
    lowest = [],
  } = forecast;
  const openings = windows > 1 ? `, in ${windows} openings of its windows` : '';
  const [worst] = lowest;
  const least =
    worst === undefined
      ? ''
      : `; at the lowest ${worst.ready} of ${worst.replicas} pods of ${worst.workload} are ready`;
  return [
    `Rehearsed at ${rehearsalTime}: ${endText(forecast)}${openings}; ${nodes} nodes, ${podsMoved} pods moved, ${podsMovedAgain} of them again${least}`,
    ...blocked.map(({ node, message }) => `  ${node} gets stuck: ${message}`),
    ...(blockedNodes > blocked.length ? [`  and ${blockedNodes - blocked.length} more`] : []),
  ];
}

/** A MaintenancePlan as text: one line of a list, its whole status, or one line for a change. */

/** A verdict of the current run; `setAside`: whether it no longer counts. */
export type ShownVerdict = NodeVerdict & { readonly setAside: boolean };

/** Returns verdicts by the name of their node. */
export function shownVerdicts(
  slices: readonly RecordSlice[],
  isSetAside: (verdict: NodeVerdict) => boolean,
): readonly ShownVerdict[] {
  return slices
    .flatMap(({ verdicts }) => verdicts)
    .map(verdict => ({ ...verdict, setAside: isSetAside(verdict) }))
    .toSorted((one, other) => (one.node < other.node ? -1 : 1));
}

/** Returns one verdict as JSON for programs. */
export function verdictJson({ uid, startedAt, completedAt, ...rest }: ShownVerdict): JsonObject {
  return {
    ...rest,
    nodeUID: uid,
    startTime: timeText(startedAt),
    completionTime: timeText(completedAt),
  };
}

function table(rows: readonly (readonly string[])[]): readonly string[] {
  return columns(rows, 3);
}

const defaults = ['PLAN', 'PHASE', 'STAGE', 'DONE', 'FAILED', 'IN FLIGHT', 'WAITS FOR', 'MESSAGE'];
const more = ['RUN', 'STARTED', 'ETA', 'SELECTED', 'DUE', 'SKIPPED', 'BLOCKED', 'OUT OF SERVICE'];

const unseen = 'no operator has reconciled it yet';

function defaultCells({ metadata, status = {} }: PlanObject): readonly string[] {
  const { phase, run, nodes, waitingFor, message } = status;
  return [
    metadata.name,
    phase ?? 'Pending',
    run?.stage ?? '-',
    nodes?.progress ?? '-',
    String(nodes?.failed ?? '-'),
    String(nodes?.inFlight ?? '-'),
    waitingFor ?? '-',
    message ?? unseen,
  ];
}

function moreCells({ status = {} }: PlanObject): readonly string[] {
  const { run, nodes } = status;
  const { selected, due, skipped, blocked, unavailable } = nodes ?? {};
  return [
    run?.id ?? '-',
    run?.startTime ?? '-',
    status.estimatedCompletionTime ?? '-',
    ...[selected, due, skipped, blocked, unavailable].map(many => String(many ?? '-')),
  ];
}

/** Returns one line for each plan. The message has no limit, and comes last. */
export function plansTable(plans: readonly PlanObject[], wide: boolean): string {
  if (plans.length === 0) return 'There is no MaintenancePlan.';
  const withMore = (cells: readonly string[], others: readonly string[]): readonly string[] =>
    wide ? [...cells.slice(0, -1), ...others, cells.at(-1) ?? ''] : cells;
  return joinRows(
    table([
      withMore(defaults, more),
      ...plans.map(plan => withMore(defaultCells(plan), moreCells(plan))),
    ]),
  );
}

/** Returns a section of the status; empty where it has no rows. */
function part(head: readonly string[], rows: readonly (readonly string[])[]): readonly string[] {
  return rows.length === 0 ? [] : ['', ...table([head, ...rows])];
}

function summary({ status = {} }: PlanObject): readonly string[] {
  const { run, nodes, resolved, completionTime, estimatedCompletionTime } = status;
  if (run === undefined || nodes === undefined) return [];
  const expected =
    estimatedCompletionTime === undefined ? '' : `, expected to end at ${estimatedCompletionTime}`;
  const ended = completionTime === undefined ? expected : `, complete since ${completionTime}`;
  const missed = status.conditions?.find(
    ({ type, status: is }) => type === 'Predicted' && is === 'False',
  );
  const again =
    nodes.dueAgain === undefined || nodes.dueAgain === 0 ? '' : `, ${nodes.dueAgain} due again`;
  const flying =
    resolved === undefined ? `${nodes.inFlight}` : `${nodes.inFlight} of ${resolved.maxInFlight}`;
  const most = resolved?.maxUnavailable === undefined ? '' : ` of ${resolved.maxUnavailable}`;
  return [
    `Run ${run.id}, begun ${run.startTime}${ended}`,
    ...(missed === undefined ? [] : [`It misses its deadline: ${missed.message}`]),
    ...forecastLines(status),
    `Nodes: ${nodes.progress} done, ${nodes.failed} failed, ${nodes.skipped} skipped, ${nodes.blocked} blocked${again}; in flight ${flying}, out of service ${nodes.unavailable}${most}`,
  ];
}

function stagesPart({ status = {} }: PlanObject): readonly string[] {
  return part(
    ['STAGE', 'PHASE', 'NODES', 'DONE'],
    (status.stages ?? []).map(({ name, phase, selected, done }) => [
      name,
      phase,
      String(selected),
      String(done),
    ]),
  );
}

function inFlightPart({ status = {} }: PlanObject): readonly string[] {
  return part(
    ['IN FLIGHT', 'STATE', 'SINCE', 'ATTEMPT', 'STAGE'],
    (status.inFlight ?? []).map(({ node, state, stateStartTime: since, attempt, stage }) => [
      node,
      state,
      since,
      String(attempt),
      stage,
    ]),
  );
}

function waitingPart({ status = {} }: PlanObject): readonly string[] {
  return part(
    ['WAITS FOR', 'NODE', 'SINCE', 'UNTIL', 'MESSAGE'],
    (status.waiting ?? []).map(({ reason, node, startTime: since, until, message }) => [
      reason,
      node ?? '-',
      since,
      until ?? '-',
      message,
    ]),
  );
}

function held(isHeld: boolean): string {
  return isHeld ? 'yes' : 'no';
}

function failuresPart({ status = {} }: PlanObject): readonly string[] {
  return part(
    ['FAILED', 'STAGE', 'STATE', 'TIME', 'HELD', 'MESSAGE'],
    (status.failures ?? []).map(({ node, stage, state, time, held: isHeld, message }) => [
      node,
      stage,
      state,
      time,
      held(isHeld),
      message,
    ]),
  );
}

/** Returns the verdicts of one run, a line each. */
function verdictRows(verdicts: readonly ShownVerdict[]): readonly string[] {
  return table([
    ['NODE', 'VERDICT', 'STAGE', 'COMPLETED', 'ATTEMPTS', 'HELD', 'MESSAGE'],
    ...verdicts.map(one => [
      one.node,
      one.setAside ? `${one.verdict} (retried)` : one.verdict,
      one.stage,
      timeText(one.completedAt),
      String(one.attempts),
      held(one.held),
      one.message,
    ]),
  ]);
}

/** Returns the verdicts as one text. */
export function verdictsTable(verdicts: readonly ShownVerdict[]): string {
  return joinRows(verdictRows(verdicts));
}

function verdictsPart(verdicts: readonly ShownVerdict[] | undefined): readonly string[] {
  if (verdicts === undefined) return [];
  return [
    '',
    ...(verdicts.length === 0 ? ['No node has a verdict in this run yet.'] : verdictRows(verdicts)),
  ];
}

/** Returns the whole status; with the verdicts of the run where they are given. */
export function planText(plan: PlanObject, verdicts?: readonly ShownVerdict[]): string {
  const { metadata, status = {} } = plan;
  const { phase = 'Pending', message = unseen } = status;
  const behind =
    status.observedGeneration === undefined || isUpToDate(plan)
      ? []
      : ['The operator has not seen the latest change of this plan yet.'];
  return joinRows([
    `MaintenancePlan ${metadata.name}: ${phase}: ${message}`,
    ...behind,
    ...summary(plan),
    ...stagesPart(plan),
    ...inFlightPart(plan),
    ...waitingPart(plan),
    ...failuresPart(plan),
    ...verdictsPart(verdicts),
  ]);
}

/** Returns one line for a plan that is followed. */
export function planLine({ status = {} }: PlanObject): string {
  const { phase = 'Pending', run, nodes, waiting = [], inFlight = [], message = unseen } = status;
  const stage = run?.stage === undefined ? '' : `, stage ${run.stage}`;
  const counts = nodes === undefined ? '' : `, ${nodes.progress} done, ${nodes.failed} failed`;
  const flying =
    inFlight.length === 0
      ? ''
      : `; in flight: ${inFlight.map(({ node, state }) => `${node} ${state}`).join(', ')}`;
  const [first] = waiting;
  const waits = first === undefined ? '' : `; waits for ${first.reason}: ${first.message}`;
  const own = ['Running', 'Complete'].includes(phase) ? '' : `: ${message}`;
  return `${phase}${stage}${counts}${own}${flying}${own === '' ? waits : ''}`;
}
