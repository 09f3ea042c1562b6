import type { JsonObject } from '../../core/json.ts';
import { isObject } from '../../core/json.ts';
import { at, part } from '../object.ts';
import { type Expression, pointed, Wrong } from './syntax.ts';

/** Functions that `evaluate` knows, with how many arguments they take beside what they are called on. */
const onValues: Readonly<Record<string, number>> = {
  size: 0,
  startsWith: 1,
  endsWith: 1,
  contains: 1,
  matches: 1,
  lowerAscii: 0,
  upperAscii: 0,
  trim: 0,
  orValue: 1,
};
const alone: Readonly<Record<string, number>> = { size: 1, has: 1, string: 1, int: 1, double: 1, bool: 1, dyn: 1 };

/** What a name stands for: a schema, where that is known. */
type Scope = ReadonlyMap<string, JsonObject | undefined>;

/**
 * Whether every part of an expression can be evaluated here: its functions are known, its names are declared, and its fields stand in the
 * schema. Undefined when all is well.
 */
export const check = (expression: Expression, source: string, schema: JsonObject): string | undefined => {
  try {
    typeOf(
      expression,
      new Map([
        ['self', schema],
        ['oldSelf', schema],
      ]),
    );
    return undefined;
  } catch (error) {
    if (error instanceof Wrong) return pointed(source, error);
    throw error;
  }
};

/** Schemas of what has no fields to look at: scalars, and whatever nobody knows. */
const unknown = undefined;

const memberOf = (schema: JsonObject | undefined, name: string, place: number): JsonObject | undefined => {
  if (schema === undefined || schema['x-kubernetes-preserve-unknown-fields'] === true) return unknown;
  const found = at(schema, 'properties', name);
  if (isObject(found)) return found;
  const additional = schema['additionalProperties'];
  if (isObject(additional)) return additional;
  throw new Wrong(place, `undefined field '${name}'`);
};

const elementOf = (schema: JsonObject | undefined): JsonObject | undefined => {
  if (schema === undefined) return unknown;
  if (isObject(schema['items'])) return schema['items'];
  return isObject(schema['additionalProperties']) ? schema['additionalProperties'] : unknown;
};

const typeOf = (expression: Expression, scope: Scope): JsonObject | undefined => {
  switch (expression.kind) {
    case 'literal':
      return unknown;
    case 'name':
      if (!scope.has(expression.name)) throw new Wrong(expression.at, `undeclared reference to '${expression.name}' (in container '')`);
      return scope.get(expression.name);
    case 'member':
      return memberOf(typeOf(expression.of, scope), expression.name, expression.at);
    case 'index':
      typeOf(expression.index, scope);
      return elementOf(typeOf(expression.of, scope));
    case 'call':
      return called(expression, scope);
    case 'not':
    case 'minus':
      typeOf(expression.of, scope);
      return unknown;
    case 'binary':
      typeOf(expression.left, scope);
      typeOf(expression.right, scope);
      return unknown;
    case 'choice':
      typeOf(expression.test, scope);
      typeOf(expression.no, scope);
      return typeOf(expression.yes, scope);
    case 'list':
      for (const item of expression.items) typeOf(item, scope);
      return unknown;
    case 'each':
      return each(expression, scope);
    default:
      return expression satisfies never;
  }
};

const each = (expression: Extract<Expression, { readonly kind: 'each' }>, scope: Scope): JsonObject | undefined => {
  const over = typeOf(expression.over, scope);
  // Of a map the variable is the key, which has no fields.
  const variable = over !== undefined && isObject(over['items']) ? part(over, 'items') : unknown;
  typeOf(expression.body, new Map([...scope, [expression.variable, variable]]));
  return expression.macro === 'filter' ? over : unknown;
};

const called = ({ name, on, args, at: place }: Extract<Expression, { readonly kind: 'call' }>, scope: Scope): JsonObject | undefined => {
  const wanted = on === undefined ? alone[name] : onValues[name];
  if (wanted === undefined)
    throw new Wrong(place, `undeclared reference to '${name}' (in container ''), or a function that this server cannot evaluate`);
  if (args.length !== wanted) throw new Wrong(place, `found no matching overload for '${name}' applied to ${args.length} arguments`);
  if (on !== undefined) typeOf(on, scope);
  for (const argument of args) typeOf(argument, scope);
  if (name === 'has' && args[0]?.kind !== 'member') throw new Wrong(place, 'invalid argument to has() macro');
  return unknown;
};
