import { type JsonObject, readTime, secondsBetween, short, timeText } from '@drydock/apimachinery';
import {
  type Gate,
  type GatePlace,
  type GateState,
  gatePlaces,
  type InFlight,
  maxAttempts,
  type Outcome,
  type Pause,
  type Plan,
  type PodTask,
  type Preparing,
  type Rehearse,
  type RehearsedForecast,
  summaryIn,
  summaryJson,
} from '@drydock/core/plan';
import { canonical, writtenIn } from '../read.ts';
import type { MaintenancePlanSpec } from '../schema/maintenance-plan.ts';
import type { MaintenancePlanStatus } from '../schema/maintenance-plan-status.ts';
import { planFields } from './plan-fields.ts';

/** Gates and hooks of a MaintenancePlan, and their stored state. */

type RawGate = NonNullable<MaintenancePlanSpec['gates']>[number];

type GateCommon = Pick<Gate, 'name' | 'at' | 'onFalse' | 'forSeconds'>;

function objectGateOf(
  common: GateCommon,
  { name, namespace, apiVersion, resource, expression }: NonNullable<RawGate['object']>,
): Gate {
  return {
    ...common,
    kind: 'object',
    apiVersion,
    resource,
    object: name,
    expression,
    ...(namespace !== undefined && { namespace }),
  };
}

function gateOf({
  name,
  at = [...gatePlaces],
  onFalse = 'Wait',
  forSeconds = 0,
  workloads,
  object,
  promql,
  alerts,
}: RawGate): Gate {
  const common = { name, at: at as readonly GatePlace[], onFalse, forSeconds };
  if (object) return objectGateOf(common, object);
  if (promql) {
    const { source = 'default', query, expression, minSamples = 1 } = promql;
    return { ...common, kind: 'promql', source, query, expression, minSamples };
  }
  if (alerts)
    return {
      ...common,
      kind: 'alerts',
      source: alerts.source ?? 'default',
      matchers: alerts.matchers,
      excludesHeldNodes: alerts.excludeHeldNodes === true,
    };
  return { ...common, kind: 'workloads', namespaces: workloads?.namespaces ?? [] };
}

function statesOf({ gates = [] }: MaintenancePlanStatus): ReadonlyMap<string, GateState> {
  return new Map(
    gates.flatMap(({ startTime, ...rest }): [string, GateState][] => {
      const since = readTime(startTime);
      return since === undefined ? [] : [[rest.name, { ...rest, since }]];
    }),
  );
}

/** Reads the gates, with the defaults of the CRD. */
export function gatesOf(
  { gates = [] }: MaintenancePlanSpec,
  status: MaintenancePlanStatus,
): Pick<Plan, 'gates' | 'gateStates' | 'gateHalt'> {
  const { haltedBy } = status;
  const at = readTime(haltedBy?.time);
  return {
    gates: gates.map(gateOf),
    gateStates: statesOf(status),
    ...(haltedBy && at && { gateHalt: { gate: haltedBy.gate, message: haltedBy.message, at } }),
  };
}

const epoch = Temporal.Instant.fromEpochMilliseconds(0);

type RawTask = { readonly startTime: string; readonly podUID?: string | undefined };

/**
 * Returns the stored state of a pod that is to run to its end once, with the other stored fields.
 */
function taskOf<Raw extends RawTask>({
  podUID,
  startTime,
  ...rest
}: Raw): Omit<Raw, 'podUID' | 'startTime'> & Pick<PodTask, 'podUid' | 'since'> {
  return {
    ...rest,
    since: readTime(startTime) ?? epoch,
    ...(podUID !== undefined && { podUid: podUID }),
  };
}

/** Reads the hooks, with the defaults of the CRD. */
export function hooksOf(
  { hooks = [] }: MaintenancePlanSpec,
  { hooks: runs = [] }: MaintenancePlanStatus,
): Pick<Plan, 'hooks' | 'hookRuns'> {
  return {
    hooks: hooks.map(
      ({ name, at, job: { podSpec, timeoutSeconds = 600 }, onFailure = 'Pause' }) => ({
        name,
        at,
        podSpec,
        timeoutSeconds,
        onFailure,
      }),
    ),
    hookRuns: runs.map(taskOf),
  };
}

/** Rehearsals of a MaintenancePlan: their settings, and their stored state. */

const written = writtenIn(planFields);

/**
 * Returns the hash of the fields that change how a plan goes. Pauses, retries, skipped nodes,
 * approvals and gates do not: no rehearsal plays them.
 */
function specHashOf(served: MaintenancePlanSpec): string {
  const spec = written(served as unknown as JsonObject) as unknown as MaintenancePlanSpec;
  const {
    nodeSelector,
    membership,
    due,
    done,
    concurrency,
    order,
    stages,
    controlPlane,
    pace,
    windows,
    template,
    work,
    onFailure,
  } = spec;
  const { workSeconds, rebootSeconds } = spec.rehearse ?? {};
  const played = {
    nodeSelector,
    membership,
    due,
    done,
    concurrency,
    by: order?.by,
    expression: order?.expression,
    stages,
  };
  const rest = {
    controlPlane,
    pace,
    windows,
    template,
    work,
    onFailure,
    workSeconds,
    rebootSeconds,
  };
  return short(canonical({ ...played, ...rest } as unknown as JsonObject));
}

function rehearseOf(spec: MaintenancePlanSpec): Rehearse | undefined {
  if (spec.rehearse === undefined) return undefined;
  const {
    before = 'Required',
    everySeconds,
    refuse = [],
    timeoutSeconds = 900,
    image,
    workSeconds,
    rebootSeconds,
  } = spec.rehearse;
  return {
    required: before === 'Required',
    refuse,
    timeoutSeconds,
    specHash: specHashOf(spec),
    ...(everySeconds !== undefined && { everySeconds }),
    ...(image !== undefined && { image }),
    ...(workSeconds !== undefined && { workSeconds }),
    ...(rebootSeconds !== undefined && { rebootSeconds }),
  };
}

function forecastOf(
  raw: NonNullable<MaintenancePlanStatus['forecast']>,
): RehearsedForecast | undefined {
  const summary = summaryIn(raw);
  const [rehearsedAt, firstEnd] = [
    readTime(raw.rehearsalTime),
    readTime(raw.firstEstimatedCompletionTime),
  ];
  if (summary === undefined || rehearsedAt === undefined) return undefined;
  return {
    ...summary,
    rehearsedAt,
    runId: raw.runID,
    specHash: raw.specHash,
    ...(firstEnd && { firstEnd }),
  };
}

/** Reads settings and state of rehearsals, with the defaults of the CRD. */
export function rehearsalOf(
  spec: MaintenancePlanSpec,
  status: MaintenancePlanStatus,
): Pick<Plan, 'rehearse' | 'rehearsal' | 'forecast'> {
  const rehearse = rehearseOf(spec);
  const forecast = status.forecast && forecastOf(status.forecast);
  const { rehearsal: raw } = status;
  if (raw === undefined) return { ...(rehearse && { rehearse }), ...(forecast && { forecast }) };
  const { runID: runId, ...task } = taskOf(raw);
  return {
    ...(rehearse && { rehearse }),
    ...(forecast && { forecast }),
    rehearsal: { ...task, runId },
  };
}

/** Returns the forecast in the form of status.forecast. */
export function forecastJson(forecast: RehearsedForecast): JsonObject {
  const { rehearsedAt, runId, specHash, end, firstEnd } = forecast;
  const drift = end && firstEnd && Math.round(secondsBetween(firstEnd, end));
  return {
    ...summaryJson(forecast),
    rehearsalTime: timeText(rehearsedAt),
    runID: runId,
    specHash,
    ...(firstEnd && { firstEstimatedCompletionTime: timeText(firstEnd) }),
    ...(drift !== undefined && { driftSeconds: drift }),
  };
}

/** Nodes in flight of a MaintenancePlan, and nodes in preparation, as stored in its status. */

type RawInFlight = NonNullable<MaintenancePlanStatus['inFlight']>[number];

function timesOf(
  one: RawInFlight,
): Pick<InFlight, 'workStartedAt' | 'rebootStartedAt' | 'workEndedAt'> {
  const [workStartedAt, rebootStartedAt, workEndedAt] = [
    one.workStartTime,
    one.rebootStartTime,
    one.workCompletionTime,
  ].map(readTime);
  return {
    ...(workStartedAt && { workStartedAt }),
    ...(rebootStartedAt && { rebootStartedAt }),
    ...(workEndedAt && { workEndedAt }),
  };
}

function outcomeOf({ stuck, ...rest }: NonNullable<RawInFlight['outcome']>): Outcome {
  return { ...rest, ...(stuck === true && { stuck }) };
}

export function inFlightOf(one: RawInFlight): InFlight {
  const [soakSince, soakBrokenAt] = [readTime(one.soakStartTime), readTime(one.soakBrokenTime)];
  return {
    node: one.node,
    uid: one.nodeUID,
    stage: one.stage,
    revision: one.revision,
    work: one.work,
    ...(one.providerID !== undefined && { providerId: one.providerID }),
    ...(one.heldAs !== undefined && { heldAs: one.heldAs }),
    ...(one.domains && { domains: one.domains }),
    state: one.state,
    startedAt: readTime(one.startTime) ?? epoch,
    since: readTime(one.stateStartTime) ?? epoch,
    attempt: Math.min(Math.max(0, one.attempt), maxAttempts),
    ...(one.bootIDBefore !== undefined && { bootIdBefore: one.bootIDBefore }),
    ...(one.idleBootID !== undefined && { idleBootId: one.idleBootID }),
    ...(one.taintsBefore && { taintsBefore: one.taintsBefore }),
    ...(one.ranAttempt !== undefined && { ranAttempt: one.ranAttempt }),
    ...(one.pod !== undefined && { pod: one.pod }),
    ...(one.podUID !== undefined && { podUid: one.podUID }),
    ...timesOf(one),
    ...(soakSince && { soakSince }),
    ...(one.soakMark !== undefined && { soakMark: one.soakMark }),
    ...(soakBrokenAt && { soakBrokenAt }),
    ...(one.rebooted === true && { rebooted: true }),
    ...(one.outcome && { outcome: outcomeOf(one.outcome) }),
  };
}

export function preparingOf({
  nodeUID,
  ...rest
}: NonNullable<MaintenancePlanStatus['preparing']>[number]): Preparing {
  return {
    ...taskOf(rest),
    uid: nodeUID,
  };
}

/**
 * Fields that users change in a MaintenancePlan while it runs: whether it goes on, which nodes are
 * skipped, which are retried.
 */

function retriesOf({ retries = [] }: MaintenancePlanSpec): Plan['retries'] {
  return new Map(
    retries.flatMap(({ name, before }) =>
      ((at): [string, Temporal.Instant][] => (at ? [[name, at]] : []))(readTime(before)),
    ),
  );
}

function pauseOf({ reason, until }: NonNullable<MaintenancePlanSpec['pause']>): Pause {
  const end = readTime(until);
  return { ...(reason !== undefined && { reason }), ...(end && { until: end }) };
}

/** Reads these fields, with the defaults of the CRD. */
export function switchesOf(
  spec: MaintenancePlanSpec,
): Pick<Plan, 'onDelete' | 'paused' | 'pause' | 'aborted' | 'skips' | 'retries'> {
  const isPaused = spec.state === 'Paused';
  return {
    onDelete: spec.onDelete ?? 'Release',
    paused: isPaused && spec.pause?.until === undefined,
    ...(isPaused && spec.pause && { pause: pauseOf(spec.pause) }),
    aborted: spec.state === 'Aborted',
    skips: new Map((spec.skipNodes ?? []).map(({ name, reason = '' }) => [name, reason])),
    retries: retriesOf(spec),
  };
}
