import type { Json, JsonObject } from '@drydock/apimachinery';
import { type CostMeter, fail } from '../failure.ts';
import type { Expression } from '../parse/syntax.ts';
import { written } from '../values/convert.ts';
import { fromJson } from '../values/json.ts';
import { List, Mapping, Optional, Type, Uint, type Value } from '../values/values.ts';

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
export type Bound = Json | Temporal.Instant | Typed | Lazy;

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
