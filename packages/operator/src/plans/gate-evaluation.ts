import { joinLimited } from '@drydock/apimachinery';
import { evaluate, Typed } from '@drydock/cel';
import type { GateValue, PromqlGate } from '@drydock/core/plan';
import type { FiringAlert, QueryResult, Sample } from '../ports.ts';

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

function few(samples: readonly Sample[]): string {
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
  if (broken.length > 0) return { value: 'False', message: plainly(few(broken)) };
  if (numbers.length < samples.length)
    return unknown(`no number: ${few(samples.filter(one => !numbers.includes(one)))}`);
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
export function evaluateSamples(
  { minSamples }: Pick<PromqlGate, 'minSamples'>,
  program: Program,
  told: QueryResult<readonly Sample[]>,
): GateValue {
  if ('problem' in told) return unknown(told.problem);
  const samples = told.value;
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

/** Evaluates to True if only alerts about uncounted nodes fire. `told`: all alerts that fire. */
export function evaluateAlerts(
  told: QueryResult<readonly FiringAlert[]>,
  uncounted: ReadonlySet<string>,
): GateValue {
  if ('problem' in told) return unknown(told.problem);
  const all = told.value.filter(alert => !isAbout(uncounted)(alert)).map(({ name }) => name);
  if (all.length === 0) return { value: 'True', message: '' };
  const byName = Map.groupBy(all.toSorted(), name => name);
  const names = [...byName].map(
    ([name, { length }]) => `${name.slice(0, 100)}${length > 1 ? ` (${length})` : ''}`,
  );
  return { value: 'False', message: plainly(`firing: ${joinLimited(names, maxNamed)}`) };
}
