import type { Json } from '@drydock/apimachinery';
import { CostExceeded, CostMeter, EvalError, fail, overload } from '../failure.ts';
import { type Arithmetic, computed, negated } from '../library/arithmetic.ts';
import { isInOrder } from '../library/library.ts';
import type { Expression, Operator } from '../parse/syntax.ts';
import { same } from '../values/compare.ts';
import { typeNames, written } from '../values/convert.ts';
import { LazyMapping, List, Mapping, none, Optional, Type, type Value } from '../values/values.ts';
import { listOf, mapOf } from './build.ts';
import { called } from './calls.ts';
import { each, mapped } from './loops.ts';
import { Lazy, plainOf, valueOfBound } from './plain.ts';
import { attempt, type Bindings, type EvaluationScope, raised, truth } from './scope.ts';

export type Result =
  | { readonly kind: 'value'; readonly value: Json }
  | { readonly kind: 'error'; readonly message: string };

/**
 * Cost limits. `steps`: for one evaluation; by default as many as Kubernetes gives an expression
 * (apiserver/pkg/apis/cel, PerCallLimit). `pool`: for several together; the cost of each is
 * deducted from it.
 */
export type EvaluationLimits = { readonly steps?: number; readonly pool?: { left: number } };
const defaults = 1_000_000;

/** Evaluates an expression to a CEL value. Throws `EvalError` and `CostExceeded`. */
export function compute(
  expression: Expression,
  bindings: Bindings,
  meter: CostMeter,
  locals?: EvaluationScope['locals'],
): Value {
  return valueOf(expression, { bindings, meter, locals, valueOf });
}

/**
 * Evaluates an expression. Never throws: an error at run time, such as a missing key, is returned
 * as a value, and so is a cost beyond the limits.
 */
export function evaluate(
  expression: Expression,
  bindings: Bindings,
  { steps = defaults, pool }: EvaluationLimits = {},
): Result {
  const meter = new CostMeter(Math.min(steps, pool?.left ?? steps));
  try {
    return { kind: 'value', value: plainOf(compute(expression, bindings, meter), meter) };
  } catch (error) {
    if (error instanceof EvalError || error instanceof CostExceeded)
      return { kind: 'error', message: error.message };
    // Values and variables that refer to one another can nest more deeply than an expression may.
    if (error instanceof RangeError)
      return { kind: 'error', message: 'evaluation nests too deeply' };
    throw error;
  } finally {
    if (pool !== undefined) pool.left -= meter.spent;
  }
}

function valueOf(expression: Expression, scope: EvaluationScope): Value {
  scope.meter.charge(1);
  switch (expression.kind) {
    case 'literal':
      return expression.value;
    case 'name':
      return named(expression.name, scope);
    case 'member':
      return (
        denoted(expression) ??
        selected(valueOf(expression.of, scope), expression.name, expression.optional === true)
      );
    case 'index':
      return selected(
        valueOf(expression.of, scope),
        valueOf(expression.index, scope),
        expression.optional === true,
      );
    case 'has':
      return isThere(valueOf(expression.of, scope), expression.name);
    case 'call':
      return called(expression, scope);
    case 'not':
      return !truth(valueOf(expression.of, scope));
    case 'minus':
      return negated(valueOf(expression.of, scope));
    case 'binary':
      return binary(expression, scope);
    case 'choice':
      return valueOf(
        truth(valueOf(expression.test, scope)) ? expression.yes : expression.no,
        scope,
      );
    case 'list':
      return listOf(expression, scope);
    case 'map':
      return mapOf(expression, scope);
    case 'each':
      return each(expression, scope);
    case 'within':
      return mapped(expression, scope);
    default:
      return expression satisfies never;
  }
}

function named(name: string, scope: EvaluationScope): Value {
  for (let { locals } = scope; locals !== undefined; locals = locals.outer)
    if (locals.name === name) return locals.value;
  const bound = Object.hasOwn(scope.bindings, name) ? scope.bindings[name] : undefined;
  if (bound instanceof Lazy) {
    const members = Array.from(
      bound.members,
      ([key, member]) => [key, () => compute(member, scope.bindings, scope.meter)] as const,
    );
    return new LazyMapping(new Map(members));
  }
  const value = bound === undefined ? undefined : valueOfBound(bound);
  if (value !== undefined) return value;
  return typeNames.has(name) ? new Type(name) : fail(`no such key: ${name}`);
}

/** Returns the type google.protobuf.Timestamp or google.protobuf.Duration, if it is one. */
function denoted({ of, name }: Extract<Expression, { readonly kind: 'member' }>): Type | undefined {
  if (name !== 'Timestamp' && name !== 'Duration') return undefined;
  const isProtobuf =
    of.kind === 'member' &&
    of.name === 'protobuf' &&
    of.of.kind === 'name' &&
    of.of.name === 'google';
  return isProtobuf ? new Type(`google.protobuf.${name}`) : undefined;
}

/** Returns the value under a key or at an index; undefined where there is none. */
function found(of: Value, key: Value): Value | undefined {
  if (of instanceof Mapping) return of.get(key);
  if (!(of instanceof List)) return typeof key === 'string' ? undefined : overload();
  const index = typeof key === 'string' ? undefined : Number(written(key) ?? Number.NaN);
  if (index !== undefined && !Number.isInteger(index)) return overload();
  return index === undefined ? undefined : of.at(index);
}

function selected(of: Value, key: Value, optional: boolean): Value {
  if (of instanceof Optional) {
    if (of.value === undefined) return none;
    if (!(of.value instanceof Mapping || of.value instanceof List))
      return fail(`no such key: ${written(key) ?? ''}`);
    return new Optional(found(of.value, key));
  }
  if (optional) return new Optional(found(of, key));
  const value = found(of, key);
  if (value !== undefined) return value;
  return fail(
    `${of instanceof List && typeof key !== 'string' ? 'index out of bounds' : 'no such key'}: ${written(key) ?? ''}`,
  );
}

function isThere(of: Value, name: string): boolean {
  const value = of instanceof Optional ? (of.value ?? null) : of;
  return value instanceof Mapping && value.has(name);
}

/** Evaluates `&&` or `||`, which absorb the error of one side when the other decides. */
function logical(
  operator: '&&' | '||',
  left: Expression,
  right: Expression,
  scope: EvaluationScope,
): boolean {
  const decisive = operator === '||';
  const first = attempt(left, scope);
  if (first === decisive) return decisive;
  const second = attempt(right, scope);
  if (second === decisive) return decisive;
  if (first instanceof EvalError) return raised(first);
  if (second instanceof EvalError) return raised(second);
  return truth(first) && truth(second);
}

function binary(
  { operator, left, right }: Extract<Expression, { readonly kind: 'binary' }>,
  scope: EvaluationScope,
): Value {
  if (operator === '&&' || operator === '||') return logical(operator, left, right, scope);
  return combined(operator, valueOf(left, scope), valueOf(right, scope), scope.meter);
}

/**
 * Returns whether two values are equal; fails for an optional and a plain one, which Kubernetes
 * rejects at compile time.
 */
function isEqual(left: Value, right: Value, meter: CostMeter): boolean {
  return left instanceof Optional === right instanceof Optional
    ? same(left, right, meter)
    : overload();
}

function isIn(value: Value, of: Value, meter: CostMeter): boolean {
  if (of instanceof Mapping) return of.has(value);
  if (!(of instanceof List)) return overload();
  for (const item of of) if (same(item, value, meter)) return true;
  return false;
}

function combined(
  operator: Exclude<Operator, '&&' | '||'>,
  left: Value,
  right: Value,
  meter: CostMeter,
): Value {
  switch (operator) {
    case '==':
      return isEqual(left, right, meter);
    case '!=':
      return !isEqual(left, right, meter);
    case 'in':
      return isIn(left, right, meter);
    case '<':
    case '<=':
    case '>':
    case '>=':
      return isInOrder(operator, left, right, meter);
    default:
      return computed(operator satisfies Arithmetic, left, right, meter);
  }
}
