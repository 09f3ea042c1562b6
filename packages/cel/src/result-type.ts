import type { Expression } from './parse/syntax.ts';
import { Duration, Uint, type Value } from './values/values.ts';

/**
 * Result types of expressions, as far as their text shows them: those of variables and of some
 * functions are known at evaluation only.
 */

export type ResultType =
  | 'bool'
  | 'int'
  | 'uint'
  | 'double'
  | 'string'
  | 'bytes'
  | 'list'
  | 'map'
  | 'null'
  | 'timestamp'
  | 'duration'
  | 'type';

function ofValue(value: Value): ResultType | undefined {
  if (value === null) return 'null';
  if (typeof value === 'boolean') return 'bool';
  if (typeof value === 'bigint') return 'int';
  if (typeof value === 'number') return 'double';
  if (typeof value === 'string') return 'string';
  if (value instanceof Uint) return 'uint';
  if (value instanceof Duration) return 'duration';
  return value instanceof Uint8Array ? 'bytes' : undefined;
}

/** Functions with a single result type, whatever their arguments. */
const calls: Readonly<Record<string, ResultType>> = {
  size: 'int',
  int: 'int',
  uint: 'uint',
  double: 'double',
  string: 'string',
  bytes: 'bytes',
  bool: 'bool',
  timestamp: 'timestamp',
  duration: 'duration',
  type: 'type',
  startsWith: 'bool',
  endsWith: 'bool',
  contains: 'bool',
  matches: 'bool',
};

const arithmetic: ReadonlySet<string> = new Set(['+', '-', '*', '/', '%']);

/** Numeric types: both sides of their operations have the same type; those of times may differ. */
const numbers: ReadonlySet<ResultType | undefined> = new Set<ResultType>(['int', 'uint', 'double']);

function ofBinary({
  operator,
  left,
  right,
}: Extract<Expression, { readonly kind: 'binary' }>): ResultType | undefined {
  if (!arithmetic.has(operator)) return 'bool';
  const [one, other] = [resultTypeOf(left), resultTypeOf(right)];
  if (numbers.has(one) || one === 'string' || one === 'list') return one;
  return numbers.has(other) || other === 'string' || other === 'list' ? other : undefined;
}

function ofEach({ macro }: Extract<Expression, { readonly kind: 'each' }>): ResultType {
  if (macro === 'all' || macro === 'exists' || macro === 'exists_one') return 'bool';
  return macro === 'transformMap' ? 'map' : 'list';
}

/** Returns the type; undefined where it may vary. */
export function resultTypeOf(expression: Expression): ResultType | undefined {
  switch (expression.kind) {
    case 'literal':
      return ofValue(expression.value);
    case 'not':
    case 'has':
      return 'bool';
    case 'minus':
      return resultTypeOf(expression.of);
    case 'binary':
      return ofBinary(expression);
    case 'choice': {
      const yes = resultTypeOf(expression.yes);
      return yes === resultTypeOf(expression.no) ? yes : undefined;
    }
    case 'list':
    case 'map':
      return expression.kind;
    case 'each':
      return ofEach(expression);
    case 'call':
      return Object.hasOwn(calls, expression.name) ? calls[expression.name] : undefined;
    default:
      return undefined;
  }
}
