import { readTime } from '@drydock/apimachinery';
import type { Plan, PodTask } from '@drydock/core/plan';
import { type Gate, type GatePlace, type GateState, gatePlaces } from '@drydock/core/plan';
import type { MaintenancePlanSpec } from '../schema/maintenance-plan.ts';
import type { MaintenancePlanStatus } from '../schema/maintenance-plan-status.ts';

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
export function taskOf<Raw extends RawTask>({
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
