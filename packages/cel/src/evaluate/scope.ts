import type { Json, JsonObject } from '@drydock/apimachinery';
import { type CostMeter, EvalError, fail, overload } from '../failure.ts';
import type { Expression } from '../parse/tokens.ts';
import { written } from '../values/compare.ts';
import { fromJson } from '../values/times.ts';
import { EntryMapping, List, Mapping, Optional, Type, Uint, type Value } from '../values/values.ts';

/** An object whose members are expressions, evaluated on access, with the same bindings. */
export class Lazy {
  readonly members: ReadonlyMap<string, Expression>;

  constructor(members: ReadonlyMap<string, Expression>) {
    this.members = members;
  }
}

/**
 * JSON with its schema; undefined JSON is an absent value. Optional: whether it is an optional
 * value, as `oldSelf` can be.
 */
export class Typed {
  readonly json: Json | undefined;
  readonly schema: JsonObject;
  readonly isOptional: boolean;

  constructor(json: Json | undefined, schema: JsonObject, isOptional = false) {
    this.json = json;
    this.schema = schema;
    this.isOptional = isOptional;
  }
}

/** Value of a variable. An instant is a `timestamp`. */
type Bound = Json | Temporal.Instant | Typed | Lazy;

export function valueOfBound(bound: Exclude<Bound, Lazy>): Value | undefined {
  if (bound instanceof Temporal.Instant) return bound;
  if (!(bound instanceof Typed)) return fromJson(bound);
  const value = bound.json === undefined ? undefined : fromJson(bound.json, bound.schema);
  return bound.isOptional ? new Optional(value) : value;
}

function whole(value: bigint): Json {
  return BigInt.asIntN(54, value) === value ? Number(value) : String(value);
}

function members(mapping: Mapping, meter: CostMeter): JsonObject {
  const object: Record<string, Json> = {};
  for (const key of mapping.keys()) {
    const name = typeof key === 'string' ? key : (written(key) ?? '');
    meter.chargeText(name.length);
    Object.defineProperty(object, name, {
      value: plainOf(mapping.get(key) ?? null, meter),
      enumerable: true,
    });
  }
  return object;
}

/**
 * Returns a value as JSON, as protobuf does: timestamps, durations, bytes and numbers beyond
 * JavaScript's range are text. An empty optional is null. A small value can be a huge text, because
 * its parts can be the same one a thousand times: each is charged.
 */
export function plainOf(value: Value, meter: CostMeter): Json {
  meter.charge(4);
  if (value === null || typeof value === 'boolean') return value;
  if (typeof value === 'string') {
    meter.chargeText(value.length);
    return value;
  }
  if (typeof value === 'bigint') return whole(value);
  if (value instanceof Uint) return whole(value.value);
  if (typeof value === 'number') return Number.isFinite(value) ? value : (written(value) ?? null);
  if (value instanceof List) return Array.from(value, item => plainOf(item, meter));
  if (value instanceof Mapping) return members(value, meter);
  if (value instanceof Optional)
    return value.value === undefined ? null : plainOf(value.value, meter);
  if (value instanceof Type) return value.name;
  if (value instanceof Uint8Array) {
    meter.chargeText(2 * value.length);
    return value.toBase64();
  }
  return written(value) ?? fail('a result of this type cannot be used');
}

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

/** Returns a list, without empty optional items. */
export function listOf(
  { items }: Extract<Expression, { readonly kind: 'list' }>,
  scope: EvaluationScope,
): List {
  return List.of(
    items.flatMap(({ optional, value: item }): readonly Value[] => {
      const value = scope.valueOf(item, scope);
      if (!optional) return [value];
      if (!(value instanceof Optional)) return overload();
      return value.value === undefined ? [] : [value.value];
    }),
  );
}

/** Returns a map, without empty optional entries. */
export function mapOf(
  { entries }: Extract<Expression, { readonly kind: 'map' }>,
  scope: EvaluationScope,
): Mapping {
  const mapping = new EntryMapping();
  for (const { optional, key: keyed, value: valued } of entries) {
    const [key, given] = [scope.valueOf(keyed, scope), scope.valueOf(valued, scope)];
    if (optional && !(given instanceof Optional)) return overload();
    const value = optional && given instanceof Optional ? given.value : given;
    if (value !== undefined) put(mapping, key, value);
  }
  return mapping;
}

/** Adds an entry; fails for an invalid or repeated key. */
export function put(mapping: EntryMapping, key: Value, value: Value): void {
  if (mapping.add(key, value)) return;
  fail(
    mapping.has(key) && typeof key !== 'number'
      ? 'Failed with repeated key'
      : 'unsupported key type',
  );
}
