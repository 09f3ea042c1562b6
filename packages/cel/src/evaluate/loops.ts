import { EvalError, overload } from '../failure.ts';
import type { Expression } from '../parse/syntax.ts';
import { EntryMapping, List, Mapping, none, Optional, type Value } from '../values/values.ts';
import { put } from './build.ts';
import { attempt, type EvaluationScope, raised, truth, within } from './scope.ts';

export function mapped(
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

export function each(expression: Each, scope: EvaluationScope): Value {
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
