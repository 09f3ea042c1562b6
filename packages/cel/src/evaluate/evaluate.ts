import type { Json } from '@drydock/apimachinery';
import { CostExceeded, CostMeter, EvalError, fail, overload } from '../failure.ts';
import {
  type Arithmetic,
  computed,
  globals,
  isInOrder,
  methods,
  negated,
} from '../library/library.ts';
import type { Expression, Operator } from '../parse/tokens.ts';
import { same, typeNames, written } from '../values/compare.ts';
import {
  EntryMapping,
  LazyMapping,
  List,
  Mapping,
  none,
  Optional,
  Type,
  type Value,
} from '../values/values.ts';
import {
  type AuthorizerQuery,
  attempt,
  authorizer,
  type Bindings,
  type EvaluationScope,
  Lazy,
  listOf,
  mapOf,
  plainOf,
  put,
  raised,
  truth,
  valueOfBound,
  within,
} from './scope.ts';

function word(value: Value): string {
  return typeof value === 'string' ? value : overload();
}

type Call = Extract<Expression, { readonly kind: 'call' }>;

/** Calls a function. */
function called({ name, on, args }: Call, scope: EvaluationScope): Value {
  if (on === undefined) {
    const global = globals.get(name) ?? fail(`undeclared reference to '${name}' (in container '')`);
    if (args.length < global.least || args.length > global.most) return overload();
    return global.call(
      args.map(argument => scope.valueOf(argument, scope)),
      scope.meter,
    );
  }
  if (name === 'allowed') return (scope.bindings[authorizer] ?? overload)(questionOf(on, scope));
  const [first] = args;
  if ((name === 'orValue' || name === 'or') && first !== undefined && args.length === 1)
    return instead(name, on, first, scope);
  const method = methods.get(name) ?? fail(`undeclared reference to '${name}' (in container '')`);
  if (args.length < method.least || args.length > method.most) return overload();
  return method.call(
    [on, ...args].map(argument => scope.valueOf(argument, scope)),
    scope.meter,
  );
}

/** Returns an optional's value, or the alternative, which is evaluated only where it is needed. */
function instead(
  name: 'or' | 'orValue',
  on: Expression,
  other: Expression,
  scope: EvaluationScope,
): Value {
  const optional = scope.valueOf(on, scope);
  if (!(optional instanceof Optional)) return overload();
  if (optional.value !== undefined) return name === 'or' ? optional : optional.value;
  const value = scope.valueOf(other, scope);
  return name === 'orValue' || value instanceof Optional ? value : overload();
}

/**
 * Returns the query of `authorizer.group(…).resource(…).check(…)`. Upstream:
 * apiserver/pkg/cel/library/authz.go.
 */
function questionOf(expression: Expression, scope: EvaluationScope): AuthorizerQuery {
  if (expression.kind === 'name' && expression.name === 'authorizer') return {};
  if (expression.kind !== 'call' || expression.on === undefined) return overload();
  const [argument] = expression.args;
  return {
    ...questionOf(expression.on, scope),
    [expression.name]: argument && word(scope.valueOf(argument, scope)),
  };
}

function mapped(
  { of, flat, variable, body }: Extract<Expression, { readonly kind: 'within' }>,
  scope: EvaluationScope,
): Value {
  const optional = scope.valueOf(of, scope);
  if (!(optional instanceof Optional)) return overload();
  if (optional.value === undefined) return none;
  const value = scope.valueOf(body, within(scope, variable, optional.value));
  if (!flat) return new Optional(value);
  return value instanceof Optional ? value : overload();
}

type Each = Extract<Expression, { readonly kind: 'each' }>;

/** An iteration of a macro: the key or index, the element, and the variables bound to them. */
type MacroIteration = {
  readonly key: Value;
  readonly value: Value;
  readonly scope: EvaluationScope;
};

const rounds = function* (
  { over, variables: [first, second] }: Each,
  scope: EvaluationScope,
): Generator<MacroIteration> {
  const range = scope.valueOf(over, scope);
  if (range instanceof List) {
    for (let index = 0; index < range.size; index += 1) {
      const [key, value] = [BigInt(index), range.at(index) ?? null];
      yield {
        key,
        value,
        scope:
          second === undefined
            ? within(scope, first, value)
            : within(within(scope, first, key), second, value),
      };
    }
    return;
  }
  const mapping = range instanceof Mapping ? range : overload();
  for (const key of mapping.keys()) {
    if (second === undefined) yield { key, value: key, scope: within(scope, first, key) };
    else {
      const value = mapping.get(key) ?? null;
      yield { key, value, scope: within(within(scope, first, key), second, value) };
    }
  }
};

function each(expression: Each, scope: EvaluationScope): Value {
  const { macro, body, filter } = expression;
  if (macro === 'all' || macro === 'exists') return decided(expression, scope);
  const mapping = new EntryMapping();
  const kept: Value[] = [];
  for (const round of rounds(expression, scope)) {
    scope.meter.charge(1);
    if (filter !== undefined && !truth(scope.valueOf(filter, round.scope))) continue;
    const value = scope.valueOf(body, round.scope);
    if (macro === 'transformMap') put(mapping, round.key, value);
    else if (macro === 'map' || macro === 'transformList') kept.push(value);
    else if (truth(value)) kept.push(round.value);
  }
  if (macro === 'exists_one') return kept.length === 1;
  return macro === 'transformMap' ? mapping : List.of(kept);
}

/**
 * Evaluates `all` or `exists`: like && and ||, one element that decides absorbs the errors of
 * others.
 */
function decided(expression: Each, scope: EvaluationScope): boolean {
  const decisive = expression.macro === 'exists';
  let failed: EvalError | undefined;
  for (const round of rounds(expression, scope)) {
    scope.meter.charge(1);
    const result = attempt(expression.body, round.scope);
    if (result === decisive) return decisive;
    if (result instanceof EvalError) failed ??= result;
    else if (typeof result !== 'boolean') failed ??= new EvalError('no such overload');
  }
  return failed === undefined ? !decisive : raised(failed);
}

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
