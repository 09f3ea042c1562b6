import { fail, overload } from '../failure.ts';
import { globals, methods } from '../library/library.ts';
import type { Expression } from '../parse/syntax.ts';
import { Optional, type Value } from '../values/values.ts';
import { type AuthorizerQuery, authorizer, type EvaluationScope } from './scope.ts';

function word(value: Value): string {
  return typeof value === 'string' ? value : overload();
}

type Call = Extract<Expression, { readonly kind: 'call' }>;

/** Calls a function. */
export function called({ name, on, args }: Call, scope: EvaluationScope): Value {
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
