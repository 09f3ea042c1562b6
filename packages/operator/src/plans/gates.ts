import { joinLimited } from '@drydock/apimachinery';
import { evaluate, Typed } from '@drydock/cel';
import type { Budget } from '@drydock/core/drain';
import type { Gate, GateValue, Plan, PromqlGate, WorkloadGate } from '@drydock/core/plan';
import type { FiringAlert, QueryResult, Sample } from '../ports.ts';
import { type PlanExpressions, planExpressions } from './expressions.ts';
import type { GateObjectState, GateObjects } from './gate-objects.ts';
import type { GateQueries } from './gate-queries.ts';

/** Evaluates the responses of Prometheus and Alertmanager for a gate. */

type Program = Parameters<typeof evaluate>[0];

/** Characters of one text that are shown. */
const maxLength = 300;
/** Number of samples, or alerts, that are named. */
const maxNamed = 3;

/**
 * Removes control characters and cuts the text: names and values come from the measured targets and
 * must not act on a terminal.
 */
function plainly(message: string): string {
  return message.replaceAll(/\p{C}+/gu, ' ').slice(0, maxLength);
}

function unknown(message: string): GateValue {
  return { value: 'Unknown', message: plainly(message) };
}

/**
 * Schema of a sample's value. A whole number is a double too: `value / 2.0` must not depend on the
 * measured value.
 */
const double = { type: 'number' };

/** Returns the sample as Prometheus writes it, with the name of the metric in front. */
function titleOf({ __name__: name = '', ...labels }: Sample['labels']): string {
  const pairs = Object.entries(labels)
    .map(([label, value]) => `${label}=${JSON.stringify(value)}`)
    .toSorted();
  const inside = pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
  return name === '' && inside === '' ? 'the query' : `${name}${inside}`;
}

/**
 * Returns the value with three digits: the status of a plan must not change with every measured
 * digit.
 */
function written(value: number): string {
  return String(Number(value.toPrecision(3)));
}

function fewSamples(samples: readonly Sample[]): string {
  return joinLimited(
    samples
      .map(
        ({ labels, value }) =>
          `${titleOf(labels).slice(0, 100)} is ${Number.isFinite(value) ? written(value) : value}`,
      )
      .toSorted(),
    maxNamed,
  );
}

type Judged = { readonly sample: Sample; readonly holds: boolean } | { readonly fails: string };

function judged(program: Program, sample: Sample, steps: number): Judged {
  const result = evaluate(
    program,
    { value: new Typed(sample.value, double), labels: sample.labels },
    { steps },
  );
  if (result.kind === 'error')
    return {
      fails: `its expression fails for ${titleOf(sample.labels).slice(0, 100)}: ${result.message}`,
    };
  return typeof result.value === 'boolean'
    ? { sample, holds: result.value }
    : { fails: 'its expression is not true or false' };
}

/** Steps that the expression may cost for all samples together: as much as for an object. */
const maxSteps = 1_000_000;

function overSamples(program: Program, samples: readonly Sample[]): GateValue {
  const numbers = samples.filter(({ value }) => Number.isFinite(value));
  const steps = Math.ceil(maxSteps / samples.length);
  const all = numbers.map(sample => judged(program, sample, steps));
  const broken = all.flatMap(one => ('holds' in one && !one.holds ? [one.sample] : []));
  if (broken.length > 0) return { value: 'False', message: plainly(fewSamples(broken)) };
  if (numbers.length < samples.length)
    return unknown(`no number: ${fewSamples(samples.filter(one => !numbers.includes(one)))}`);
  const failed = all.find(one => 'fails' in one);
  return failed === undefined ? { value: 'True', message: '' } : unknown(failed.fails);
}

/** Results of the last response for a gate: it is evaluated far more often than it changes. */
const known = new WeakMap<
  Program,
  { readonly samples: readonly Sample[]; readonly value: GateValue }
>();

/**
 * Evaluates the expression for every sample: True if all are true. If it fails for one sample the
 * result is Unknown, unless it is false for another.
 */
function evaluateSamples(
  { minSamples }: Pick<PromqlGate, 'minSamples'>,
  program: Program,
  result: QueryResult<readonly Sample[]>,
): GateValue {
  if ('problem' in result) return unknown(result.problem);
  const samples = result.value;
  if (samples.length < minSamples) {
    const some =
      samples.length === 0 ? 'its query has no result' : `its query has ${samples.length} samples`;
    return unknown(`${some}, and at least ${minSamples} ${minSamples === 1 ? 'is' : 'are'} needed`);
  }
  const before = known.get(program);
  if (before?.samples === samples) return before.value;
  const value = overSamples(program, samples);
  known.set(program, { samples, value });
  return value;
}

/**
 * Reports whether the alert is about one of the nodes. Some exporters name a node with the port of
 * their target.
 */
function isAbout(nodes: ReadonlySet<string>) {
  return ({ about }: FiringAlert): boolean =>
    about.some(value => nodes.has(value) || nodes.has(value.replace(/:\d{1,5}$/, '')));
}

/** Evaluates to True if only alerts about uncounted nodes fire. `result`: all alerts that fire. */
function evaluateAlerts(
  result: QueryResult<readonly FiringAlert[]>,
  uncounted: ReadonlySet<string>,
): GateValue {
  if ('problem' in result) return unknown(result.problem);
  const all = result.value.filter(alert => !isAbout(uncounted)(alert)).map(({ name }) => name);
  if (all.length === 0) return { value: 'True', message: '' };
  const byName = Map.groupBy(all.toSorted(), name => name);
  const names = [...byName].map(
    ([name, { length }]) => `${name.slice(0, 100)}${length > 1 ? ` (${length})` : ''}`,
  );
  return { value: 'False', message: plainly(`firing: ${joinLimited(names, maxNamed)}`) };
}

/** Evaluates the gates of a plan. */

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

function fewBudgets(budgets: readonly Budget[], text: (budget: Budget) => string): string {
  return joinLimited(budgets.map(text).toSorted(), 3);
}

function ofWorkloads({ namespaces }: WorkloadGate, all: Iterable<Budget>): GateValue {
  const budgets = [...all].filter(
    ({ namespace }) => namespaces.length === 0 || namespaces.includes(namespace),
  );
  const short = budgets.filter(budget => !isUntold(budget) && isShort(budget));
  if (short.length > 0) {
    const text = fewBudgets(
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
    message: `the disruption controller has not counted the pods of ${fewBudgets(untold, ({ key }) => key)}`,
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

/** A cache of the expressions of plans, compiled once a generation, regardless of the status. */
export class CompiledExpressions {
  /** Compiled expressions by uid. */
  readonly #known = new Map<
    string,
    { readonly generation: number; readonly expressions: PlanExpressions }
  >();

  /**
   * Returns the expressions of this plan. `plans`: the number of plans; expressions of removed
   * plans are dropped eventually.
   */
  of(plan: Plan, plans: number): PlanExpressions {
    const { uid, generation } = plan;
    const known = this.#known.get(uid);
    if (known?.generation === generation) return known.expressions;
    if (this.#known.size > 2 * plans) this.#known.clear();
    const expressions = planExpressions(plan);
    this.#known.set(uid, { generation, expressions });
    return expressions;
  }
}
