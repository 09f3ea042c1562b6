import type { JsonObject } from '@drydock/apimachinery';
import { readTime, secondsBetween, short, timeText } from '@drydock/apimachinery';
import type { Plan, Rehearse, RehearsedForecast } from '@drydock/core/plan';
import { summaryIn, summaryJson } from '@drydock/core/plan';
import { canonical } from '../canonical.ts';
import { writtenIn } from '../known-fields.ts';
import type { MaintenancePlanSpec } from '../schema/maintenance-plan.ts';
import type { MaintenancePlanStatus } from '../schema/maintenance-plan-status.ts';
import { taskOf } from './gates-and-hooks.ts';
import { planFields } from './plan-fields.ts';

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
