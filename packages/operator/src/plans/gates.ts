import { joinLimited } from '@drydock/apimachinery';
import { evaluate } from '@drydock/cel';
import type { Budget } from '@drydock/core/drain';
import type { Gate, GateValue, Plan, WorkloadGate } from '@drydock/core/plan';
import type { PlanExpressions } from './expressions.ts';
import { evaluateAlerts, evaluateSamples } from './gate-evaluation.ts';
import type { GateObjectState, GateObjects } from './gate-objects.ts';
import type { GateQueries } from './gate-queries.ts';

/** Evaluates the gates of a plan. */

type Program = Parameters<typeof evaluate>[0];

/**
 * Reports whether the disruption controller lags behind, or could not count: the status is not
 * current.
 */
function isUntold({ fresh, syncFailure }: Budget): boolean {
  return !fresh || syncFailure !== undefined;
}

/**
 * Reports whether the budget has fewer healthy pods than it wants. A budget without pods is never
 * short.
 */
export function isShort({ expectedPods, currentHealthy, desiredHealthy }: Budget): boolean {
  return expectedPods > 0 && currentHealthy < desiredHealthy;
}

function few(budgets: readonly Budget[], text: (budget: Budget) => string): string {
  return joinLimited(budgets.map(text).toSorted(), 3);
}

function ofWorkloads({ namespaces }: WorkloadGate, all: Iterable<Budget>): GateValue {
  const budgets = [...all].filter(
    ({ namespace }) => namespaces.length === 0 || namespaces.includes(namespace),
  );
  const short = budgets.filter(budget => !isUntold(budget) && isShort(budget));
  if (short.length > 0) {
    const text = few(
      short,
      ({ key, currentHealthy, desiredHealthy }) =>
        `${key} has ${currentHealthy} healthy pods of ${desiredHealthy}`,
    );
    return { value: 'False', message: `budget ${text}` };
  }
  const untold = budgets.filter(isUntold);
  if (untold.length === 0) return { value: 'True', message: '' };
  return {
    value: 'Unknown',
    message: `the disruption controller has not counted the pods of ${few(untold, ({ key }) => key)}`,
  };
}

function ofObject(program: Program, sight: GateObjectState, now: Temporal.Instant): GateValue {
  if ('problem' in sight) return { value: 'Unknown', message: sight.problem };
  const result = evaluate(program, { object: sight.object, now });
  if (result.kind === 'error')
    return { value: 'Unknown', message: `its expression fails: ${result.message}`.slice(0, 300) };
  if (typeof result.value !== 'boolean')
    return { value: 'Unknown', message: 'its expression is not true or false' };
  return result.value
    ? { value: 'True', message: '' }
    : { value: 'False', message: 'its expression is false' };
}

/** Inputs of gates. */
type GateInputs = {
  readonly budgets: () => Iterable<Budget>;
  readonly objects: Pick<GateObjects, 'sightOf'>;
  readonly queries: Pick<GateQueries, 'samplesOf' | 'firingOf'>;
};

const noNodes: ReadonlySet<string> = new Set();

function valueOf(
  gate: Gate,
  program: Program | undefined,
  { budgets, objects, queries }: GateInputs,
  now: Temporal.Instant,
  held: ReadonlySet<string>,
): GateValue | undefined {
  if (gate.kind === 'workloads') return ofWorkloads(gate, budgets());
  if (gate.kind === 'alerts')
    return evaluateAlerts(queries.firingOf(gate), gate.excludesHeldNodes ? held : noNodes);
  if (program === undefined) return undefined;
  return gate.kind === 'object'
    ? ofObject(program, objects.sightOf(gate), now)
    : evaluateSamples(gate, program, queries.samplesOf(gate));
}

/**
 * Returns the values by the gate's name. A gate that cannot be evaluated is Unknown, never True.
 */
export function gateValues(
  { gates, inFlight }: Plan,
  expressions: PlanExpressions,
  inputs: GateInputs,
  now: Temporal.Instant,
): ReadonlyMap<string, GateValue> {
  const held = new Set(inFlight.map(({ node }) => node));
  return new Map(
    gates.flatMap((gate): [string, GateValue][] => {
      const value = valueOf(gate, expressions.gates.get(gate.name), inputs, now, held);
      return value === undefined ? [] : [[gate.name, value]];
    }),
  );
}
