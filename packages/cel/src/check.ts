import { isObject, type JsonObject } from '@drydock/apimachinery';
import { globals, methods } from './library/library.ts';
import { parse } from './parse/parse.ts';
import { type Expression, ParseError, pointed } from './parse/tokens.ts';
import { typeNames } from './values/compare.ts';
import { Duration, Uint, type Value } from './values/values.ts';

/**
 * Result types of expressions, as far as their text shows them: those of variables and of some
 * functions are known at evaluation only.
 */

type ResultType =
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
function resultTypeOf(expression: Expression): ResultType | undefined {
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

/** Schemas of variables by name: those of Kubernetes, where known. */
export type Schemas = ReadonlyMap<string, JsonObject | undefined>;

export type Compiled =
  | { readonly kind: 'program'; readonly program: Expression }
  | { readonly kind: 'wrong'; readonly message: string };

/** Allowed types of a result, and their name. */
export type Wanted = { readonly types: readonly ResultType[]; readonly name: string };

function typeProblem(
  expression: Expression,
  source: string,
  { types, name }: Wanted,
): string | undefined {
  const type = resultTypeOf(expression);
  if (type === undefined || types.includes(type)) return undefined;
  return pointed(
    source,
    new ParseError(expression.at, `must evaluate to ${name}, and evaluates to ${type}`),
  );
}

/**
 * Parses an expression and checks it: its names, its fields as far as the schemas of its variables
 * contain them, and its result as far as the text shows it. The message contains the position, as
 * in cel-go.
 */
export function compile(source: string, variables: Schemas, wanted?: Wanted): Compiled {
  const parsed = parse(source);
  if (parsed.kind === 'wrong') return parsed;
  const { expression } = parsed;
  const message =
    problemOf(expression, source, variables) ?? (wanted && typeProblem(expression, source, wanted));
  return message === undefined
    ? { kind: 'program', program: expression }
    : { kind: 'wrong', message };
}

/** Returns variables without known schemas. */
export function anyVariables(names: readonly string[]): Schemas {
  return new Map(names.map(name => [name, undefined]));
}

/**
 * Checks that every part of a rule can be evaluated: its functions are known, its names are
 * declared, and its fields are in the schema. Returns the error, or undefined.
 */
export function check(
  expression: Expression,
  source: string,
  schema: JsonObject,
): string | undefined {
  return problemOf(
    expression,
    source,
    new Map([
      ['self', schema],
      ['oldSelf', schema],
    ]),
  );
}

function problemOf(expression: Expression, source: string, schemas: Schemas): string | undefined {
  try {
    typeOf(expression, schemas);
    return undefined;
  } catch (error) {
    if (error instanceof ParseError) return pointed(source, error);
    throw error;
  }
}

/** Schema of values without fields to check: scalars, and unknown ones. */
const unknown = undefined;

function memberOf(
  schema: JsonObject | undefined,
  name: string,
  place: number,
): JsonObject | undefined {
  if (schema === undefined || schema['x-kubernetes-preserve-unknown-fields'] === true)
    return unknown;
  const properties = schema['properties'];
  const found =
    isObject(properties) && Object.hasOwn(properties, name) ? properties[name] : undefined;
  if (isObject(found)) return found;
  const additional = schema['additionalProperties'];
  if (isObject(additional)) return additional;
  throw new ParseError(place, `undefined field '${name}'`);
}

function elementOf(schema: JsonObject | undefined): JsonObject | undefined {
  if (schema === undefined) return unknown;
  if (isObject(schema['items'])) return schema['items'];
  return isObject(schema['additionalProperties']) ? schema['additionalProperties'] : unknown;
}

function undeclared(name: string, place: number): never {
  throw new ParseError(place, `undeclared reference to '${name}' (in container '')`);
}

function named(name: string, place: number, schemas: Schemas): JsonObject | undefined {
  if (!schemas.has(name) && !typeNames.has(name)) return undeclared(name, place);
  return schemas.get(name);
}

function typeOf(expression: Expression, schemas: Schemas): JsonObject | undefined {
  switch (expression.kind) {
    case 'literal':
      return unknown;
    case 'name':
      return named(expression.name, expression.at, schemas);
    case 'member':
    case 'has':
      return isTypeName(expression)
        ? unknown
        : memberOf(typeOf(expression.of, schemas), expression.name, expression.at);
    case 'index':
      typeOf(expression.index, schemas);
      return elementOf(typeOf(expression.of, schemas));
    case 'call':
      return called(expression, schemas);
    case 'choice':
      typeOf(expression.test, schemas);
      typeOf(expression.no, schemas);
      return typeOf(expression.yes, schemas);
    case 'each':
      return each(expression, schemas);
    case 'within':
      typeOf(
        expression.body,
        new Map([...schemas, [expression.variable, typeOf(expression.of, schemas)]]),
      );
      return unknown;
    default:
      for (const part of partsOf(expression)) typeOf(part, schemas);
      return unknown;
  }
}

type Plain = Extract<Expression, { readonly kind: 'not' | 'minus' | 'binary' | 'list' | 'map' }>;

/** Returns the parts of an expression that has no fields itself. */
function partsOf(expression: Plain): readonly Expression[] {
  switch (expression.kind) {
    case 'not':
    case 'minus':
      return [expression.of];
    case 'binary':
      return [expression.left, expression.right];
    case 'list':
      return expression.items.map(({ value }) => value);
    case 'map':
      return expression.entries.flatMap(({ key, value }) => [key, value]);
    default:
      return expression satisfies never;
  }
}

/** Returns whether it is google.protobuf.Timestamp or google.protobuf.Duration. */
function isTypeName({
  of,
  name,
}: Extract<Expression, { readonly kind: 'member' | 'has' }>): boolean {
  return (
    of.kind === 'member' &&
    of.of.kind === 'name' &&
    typeNames.has(`${of.of.name}.${of.name}.${name}`)
  );
}

function each(
  expression: Extract<Expression, { readonly kind: 'each' }>,
  schemas: Schemas,
): JsonObject | undefined {
  const over = typeOf(expression.over, schemas);
  const [first, second] = expression.variables;
  // For a map the variable is the key, which has no fields; of two variables, the second one is the
  // value.
  const element =
    second !== undefined || (over !== undefined && isObject(over['items']))
      ? elementOf(over)
      : unknown;
  const inner: Schemas = new Map([
    ...schemas,
    ...(second === undefined
      ? [[first, element] as const]
      : [[first, unknown] as const, [second, element] as const]),
  ]);
  if (expression.filter !== undefined) typeOf(expression.filter, inner);
  typeOf(expression.body, inner);
  return expression.macro === 'filter' ? over : unknown;
}

/**
 * Methods of optional values, which evaluate their argument on demand: they are not functions of
 * the library.
 */
const ofOptionals: ReadonlySet<string> = new Set(['or', 'orValue']);

function called(
  { name, on, args, at: place }: Extract<Expression, { readonly kind: 'call' }>,
  schemas: Schemas,
): JsonObject | undefined {
  if (on !== undefined) typeOf(on, schemas);
  const [least, most] = arityOf(name, on !== undefined) ?? undeclared(name, place);
  if (args.length < least || args.length > most)
    throw new ParseError(
      place,
      `found no matching overload for '${name}' applied to ${args.length} arguments`,
    );
  for (const argument of args) typeOf(argument, schemas);
  return unknown;
}

function arityOf(
  name: string,
  isMethod: boolean,
): readonly [least: number, most: number] | undefined {
  if (isMethod && ofOptionals.has(name)) return [1, 1];
  const found = (isMethod ? methods : globals).get(name);
  return found && [found.least, found.most];
}

/** Returns whether a name is read anywhere: rules that read `oldSelf` are transition rules. */
export function mentions(expression: Expression, name: string): boolean {
  if (expression.kind === 'name') return expression.name === name;
  return Object.values(expression).some((part: unknown) => {
    if (Array.isArray(part))
      return part.some(
        one => typeof one === 'object' && one !== null && mentions(one as Expression, name),
      );
    return (
      typeof part === 'object' &&
      part !== null &&
      'kind' in part &&
      mentions(part as Expression, name)
    );
  });
}
