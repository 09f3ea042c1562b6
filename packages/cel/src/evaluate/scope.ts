import { type CostMeter, EvalError, overload } from '../failure.ts';
import type { Expression } from '../parse/syntax.ts';
import type { Value } from '../values/values.ts';
import type { Bound } from './plain.ts';

/**
 * A query to `authorizer`, by the names of the functions: group, resource, subresource, namespace,
 * name, check.
 */
export type AuthorizerQuery = Readonly<Record<string, string | undefined>>;

/** Key of the authorizer in bindings: no expression can name it. */
export const authorizer = Symbol('authorizer');

/** Values of variables. */
export type Bindings = Readonly<Record<string, Bound | undefined>> & {
  readonly [authorizer]?: (question: AuthorizerQuery) => boolean;
};

/** Bindings, variables of the enclosing macros, and the budget. */
export type EvaluationScope = {
  readonly bindings: Bindings;
  readonly meter: CostMeter;
  readonly locals: Local | undefined;
  /** Evaluates a part of the expression. */
  readonly valueOf: (expression: Expression, scope: EvaluationScope) => Value;
};

type Local = { readonly name: string; readonly value: Value; readonly outer: Local | undefined };

export function within(scope: EvaluationScope, name: string, value: Value): EvaluationScope {
  return {
    ...scope,
    locals: { name, value, outer: scope.locals },
  };
}

export function truth(value: Value): boolean {
  return typeof value === 'boolean' ? value : overload();
}

/** Returns the value of an expression, or its error. */
export function attempt(expression: Expression, scope: EvaluationScope): Value | EvalError {
  try {
    return scope.valueOf(expression, scope);
  } catch (error) {
    if (!(error instanceof EvalError)) throw error;
    // Throwing takes as long as some forty steps.
    scope.meter.charge(40);
    return error;
  }
}

export function raised(error: EvalError): never {
  throw error;
}
