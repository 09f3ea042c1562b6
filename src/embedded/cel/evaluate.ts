import { isObject, type Json, type JsonObject, sameJson } from '../../core/json.ts';
import type { Expression, Operator } from './syntax.ts';

/** What is asked of `authorizer`, by the names of the functions that say it: group, resource, subresource, namespace, name, check. */
type Question = Readonly<Record<string, string | undefined>>;

/** Under this key bindings have whoever answers for `authorizer`: no expression can name it. */
export const authorizer = Symbol('authorizer');

/** What names stand for. */
export type Bindings = Readonly<Record<string, Json | undefined>> & { readonly [authorizer]?: (question: Question) => boolean };

export type Result = { readonly kind: 'value'; readonly value: Json } | { readonly kind: 'error'; readonly message: string };

/** Thrown inside of one call of `evaluate` only. */
class Failed extends Error {}

/** Computes an expression that `check` has found to be good. What fails at run time, as a missing key does, is a value. */
export const evaluate = (expression: Expression, bindings: Bindings): Result => {
  try {
    return { kind: 'value', value: valueOf(expression, bindings) };
  } catch (error) {
    if (error instanceof Failed) return { kind: 'error', message: error.message };
    throw error;
  }
};

/** The bindings with one more name: an object whose members are computed when they are looked at. One that fails does so where it is used. */
export const lazily = (
  name: string,
  members: readonly (readonly [name: string, expression: Expression])[],
  bindings: Bindings,
): Bindings => {
  const object: JsonObject = {};
  const all: Bindings = { ...bindings, [name]: object };
  for (const [key, expression] of members) Object.defineProperty(object, key, { enumerable: true, get: () => valueOf(expression, all) });
  return all;
};

const valueOf = (expression: Expression, bindings: Bindings): Json => {
  switch (expression.kind) {
    case 'literal':
      return expression.value;
    case 'name':
      return present(bindings[expression.name], expression.name);
    case 'member':
      return expression.optional ? overload() : member(valueOf(expression.of, bindings), expression.name);
    case 'index':
      return indexed(valueOf(expression.of, bindings), valueOf(expression.index, bindings));
    case 'call':
      return called(expression, bindings);
    case 'not':
      return !truth(valueOf(expression.of, bindings));
    case 'minus':
      return -number(valueOf(expression.of, bindings));
    case 'binary':
      return binary(expression, bindings);
    case 'choice':
      return valueOf(truth(valueOf(expression.test, bindings)) ? expression.yes : expression.no, bindings);
    case 'list':
      return expression.items.map(item => valueOf(item, bindings));
    case 'each':
      return each(expression, bindings);
    default:
      return expression satisfies never;
  }
};

const present = (value: Json | undefined, name: string): Json => {
  if (value === undefined) throw new Failed(`no such key: ${name}`);
  return value;
};

const member = (of: Json, name: string): Json => present(isObject(of) ? of[name] : undefined, name);

const indexed = (of: Json, index: Json): Json => {
  if (typeof index === 'string') return member(of, index);
  const list = Array.isArray(of) ? (of as readonly Json[]) : [];
  const found = typeof index === 'number' ? list[index] : undefined;
  if (found === undefined) throw new Failed(`index out of bounds: ${JSON.stringify(index)}`);
  return found;
};

const overload = (): never => {
  throw new Failed('no such overload');
};
const truth = (value: Json): boolean => (typeof value === 'boolean' ? value : overload());
const number = (value: Json): number => (typeof value === 'number' ? value : overload());
const word = (value: Json | undefined): string => (typeof value === 'string' ? value : overload());

/** `&&` and `||` forgive the failure of one side when the other decides. */
const logical = (operator: '&&' | '||', left: Expression, right: Expression, bindings: Bindings): boolean => {
  const decisive = operator === '||';
  const first = evaluate(left, bindings);
  if (first.kind === 'value' && truth(first.value) === decisive) return decisive;
  const second = truth(valueOf(right, bindings));
  if (second === decisive || first.kind === 'value') return second;
  throw new Failed(first.message);
};

const binary = ({ operator, left, right }: Extract<Expression, { readonly kind: 'binary' }>, bindings: Bindings): Json => {
  if (operator === '&&' || operator === '||') return logical(operator, left, right, bindings);
  return combined(operator, valueOf(left, bindings), valueOf(right, bindings));
};

const combined = (operator: Exclude<Operator, '&&' | '||'>, left: Json, right: Json): Json => {
  switch (operator) {
    case '==':
      return sameJson(left, right);
    case '!=':
      return !sameJson(left, right);
    case 'in':
      return isObject(right)
        ? right[word(left)] !== undefined
        : Array.isArray(right) && (right as readonly Json[]).some(one => sameJson(one, left));
    case '<':
      return compared(left, right) < 0;
    case '<=':
      return compared(left, right) <= 0;
    case '>':
      return compared(left, right) > 0;
    case '>=':
      return compared(left, right) >= 0;
    case '+':
      return added(left, right);
    default:
      return computed(operator, number(left), number(right));
  }
};

const compared = (left: Json, right: Json): number => {
  if (typeof left === 'string' && typeof right === 'string') return left < right ? -1 : left > right ? 1 : 0;
  return number(left) - number(right);
};

const added = (left: Json, right: Json): Json => {
  if (typeof left === 'string' && typeof right === 'string') return left + right;
  if (Array.isArray(left) && Array.isArray(right)) return [...(left as readonly Json[]), ...(right as readonly Json[])];
  return number(left) + number(right);
};

const computed = (operator: '-' | '*' | '/' | '%', left: number, right: number): number => {
  if (operator === '-') return left - right;
  if (operator === '*') return left * right;
  if (right === 0) throw new Failed(operator === '/' ? 'division by zero' : 'modulus by zero');
  if (operator === '%') return left % right;
  const whole = Number.isInteger(left) && Number.isInteger(right);
  return whole ? Math.trunc(left / right) : left / right;
};

const sizeOf = (value: Json): number => {
  if (typeof value === 'string') return Array.from(value).length;
  if (Array.isArray(value)) return (value as readonly Json[]).length;
  return isObject(value) ? Object.keys(value).length : overload();
};

type Call = Extract<Expression, { readonly kind: 'call' }>;

const called = ({ name, on, args }: Call, bindings: Bindings): Json => {
  const [first] = args;
  if (name === 'has' && first?.kind === 'member') {
    const of = valueOf(first.of, bindings);
    return isObject(of) && of[first.name] !== undefined && of[first.name] !== null;
  }
  if (name === 'allowed' && on !== undefined) return bindings[authorizer]?.(questionOf(on, bindings)) ?? overload();
  if (name === 'orValue' && on !== undefined && first !== undefined) return optionally(on, bindings) ?? valueOf(first, bindings);
  const values = args.map(argument => valueOf(argument, bindings));
  return on === undefined ? converted(name, values[0] ?? null) : ofText(name, valueOf(on, bindings), values[0]);
};

/** `authorizer.group(…).resource(…).check(…)`. Upstream: apiserver/pkg/cel/library/authz.go. */
const questionOf = (expression: Expression, bindings: Bindings): Question => {
  if (expression.kind === 'name' && expression.name === 'authorizer') return {};
  if (expression.kind !== 'call' || expression.on === undefined) return overload();
  const [argument] = expression.args;
  return { ...questionOf(expression.on, bindings), [expression.name]: argument && word(valueOf(argument, bindings)) };
};

/** What `a.?b.c['d']` comes to: undefined where something on the way is missing. */
const optionally = (expression: Expression, bindings: Bindings): Json | undefined => {
  if (!isOptional(expression)) return valueOf(expression, bindings);
  const of = optionally(expression.of, bindings);
  const key = expression.kind === 'member' ? expression.name : valueOf(expression.index, bindings);
  if (typeof key === 'number') return Array.isArray(of) ? (of as readonly Json[])[key] : undefined;
  return isObject(of) ? of[word(key)] : undefined;
};

type Selection = Extract<Expression, { readonly kind: 'member' | 'index' }>;

/** What follows an optional one is optional too. */
const isOptional = (expression: Expression): expression is Selection =>
  (expression.kind === 'member' && expression.optional === true) ||
  ((expression.kind === 'member' || expression.kind === 'index') && isOptional(expression.of));

const converted = (name: string, value: Json): Json => {
  if (name === 'dyn') return value;
  if (name === 'size') return sizeOf(value);
  if (name === 'string') return typeof value === 'string' ? value : JSON.stringify(value);
  if (name === 'bool') return value === true || value === 'true';
  const result = name === 'int' ? Math.trunc(Number(value)) : Number(value);
  return Number.isNaN(result) ? overload() : result;
};

const ofText = (name: string, on: Json, argument: Json | undefined): Json => {
  if (name === 'size') return sizeOf(on);
  const text = word(on);
  if (name === 'lowerAscii') return text.toLowerCase();
  if (name === 'upperAscii') return text.toUpperCase();
  if (name === 'trim') return text.trim();
  if (name === 'startsWith') return text.startsWith(word(argument));
  if (name === 'endsWith') return text.endsWith(word(argument));
  return name === 'contains' ? text.includes(word(argument)) : new RegExp(word(argument), 'u').test(text);
};

const each = ({ macro, over, variable, body }: Extract<Expression, { readonly kind: 'each' }>, bindings: Bindings): Json => {
  const value = valueOf(over, bindings);
  const elements: readonly Json[] = Array.isArray(value) ? (value as readonly Json[]) : Object.keys(value as JsonObject);
  const run = (element: Json): Json => valueOf(body, { ...bindings, [variable]: element });
  if (macro === 'map') return elements.map(run);
  if (macro === 'filter') return elements.filter(element => truth(run(element)));
  if (macro === 'exists_one') return elements.filter(element => truth(run(element))).length === 1;
  // Like && and ||: one element that decides makes up for others that fail.
  const decisive = macro === 'exists';
  const results = elements.map(element => evaluate(body, { ...bindings, [variable]: element }));
  if (results.some(result => result.kind === 'value' && truth(result.value) === decisive)) return decisive;
  const failed = results.find(result => result.kind === 'error');
  if (failed?.kind === 'error') throw new Failed(failed.message);
  return !decisive;
};

/** Whether a name is looked at anywhere: rules that look at `oldSelf` are about changes. */
export const mentions = (expression: Expression, name: string): boolean => {
  if (expression.kind === 'name') return expression.name === name;
  return Object.values(expression).some((part: unknown) => {
    if (Array.isArray(part)) return part.some(one => mentions(one as Expression, name));
    return typeof part === 'object' && part !== null && 'kind' in part && mentions(part as Expression, name);
  });
};
