import { type CostMeter, overload } from '../failure.ts';
import { Quantity } from './quantity.ts';
import { Version } from './semver.ts';
import { Duration, List, Mapping, Optional, Type, Uint, type Value } from './values.ts';

/** Returns a number of any of the three types; undefined for other values. */
function numeric(value: Value): bigint | number | undefined {
  return typeof value === 'bigint' || typeof value === 'number'
    ? value
    : value instanceof Uint
      ? value.value
      : undefined;
}

function order<T extends bigint | number | string>(one: T, other: T): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

/**
 * Compares numbers; a whole number is converted to a double for comparison with one, as in cel-go.
 */
function numberOrder(one: bigint | number, other: bigint | number): number {
  return typeof one === 'bigint' && typeof other === 'bigint'
    ? order(one, other)
    : order(Number(one), Number(other));
}

/** Compares by code points, where JavaScript compares surrogates: those above U+FFFF come last. */
function textOrder(one: string, other: string): number {
  let at = 0;
  while (at < one.length && at < other.length && one.charCodeAt(at) === other.charCodeAt(at))
    at += 1;
  return order(one.slice(at).codePointAt(0) ?? -1, other.slice(at).codePointAt(0) ?? -1);
}

function bytesOrder(one: Uint8Array, other: Uint8Array): number {
  const at = one.findIndex((byte, index) => byte !== other[index]);
  return at === -1 ? order(one.length, other.length) : order(one[at] ?? 0, other[at] ?? -1);
}

/** Compares two values: negative where the first comes first, NaN where neither does. */
export function compared(one: Value, other: Value, meter: CostMeter): number {
  const [left, right] = [numeric(one), numeric(other)];
  if (left !== undefined && right !== undefined)
    return Number.isNaN(left) || Number.isNaN(right) ? Number.NaN : numberOrder(left, right);
  if (typeof one === 'string' && typeof other === 'string') {
    meter.chargeText(Math.min(one.length, other.length));
    return textOrder(one, other);
  }
  if (one instanceof Uint8Array && other instanceof Uint8Array) {
    meter.chargeText(Math.min(one.length, other.length));
    return bytesOrder(one, other);
  }
  if (typeof one === 'boolean' && typeof other === 'boolean') return Number(one) - Number(other);
  if (one instanceof Temporal.Instant && other instanceof Temporal.Instant)
    return Temporal.Instant.compare(one, other);
  if (one instanceof Duration && other instanceof Duration)
    return order(one.nanoseconds, other.nanoseconds);
  return overload();
}

function sameLists(one: List, other: List, meter: CostMeter): boolean {
  if (one.size !== other.size) return false;
  for (let at = 0; at < one.size; at += 1)
    if (!same(one.at(at) ?? null, other.at(at) ?? null, meter)) return false;
  return true;
}

function sameMappings(one: Mapping, other: Mapping, meter: CostMeter): boolean {
  meter.charge(1 + one.size / 5);
  if (one.size !== other.size) return false;
  for (const key of one.keys()) {
    const [left, right] = [one.get(key), other.get(key)];
    if (left === undefined || right === undefined || !same(left, right, meter)) return false;
  }
  return true;
}

function sameOptionals(one: Optional, other: Optional, meter: CostMeter): boolean {
  return one.value === undefined || other.value === undefined
    ? one.value === other.value
    : same(one.value, other.value, meter);
}

/**
 * Returns whether two values are equal. Values of different types are not; numbers are compared by
 * value, whatever their types.
 */
export function same(one: Value, other: Value, meter: CostMeter): boolean {
  meter.charge(1);
  const [left, right] = [numeric(one), numeric(other)];
  if (left !== undefined && right !== undefined)
    return !Number.isNaN(left) && !Number.isNaN(right) && numberOrder(left, right) === 0;
  if (typeof one === 'string' || typeof one === 'boolean' || one === null) {
    if (typeof one === 'string') meter.chargeText(one.length);
    return one === other;
  }
  if (one instanceof List) return other instanceof List && sameLists(one, other, meter);
  if (one instanceof Mapping) return other instanceof Mapping && sameMappings(one, other, meter);
  if (one instanceof Optional) return other instanceof Optional && sameOptionals(one, other, meter);
  if (one instanceof Type) return other instanceof Type && one.name === other.name;
  if (one instanceof Quantity) return other instanceof Quantity && one.compare(other) === 0;
  if (one instanceof Version) return other instanceof Version && one.compare(other) === 0;
  const isOrdered =
    (one instanceof Uint8Array && other instanceof Uint8Array) ||
    (one instanceof Temporal.Instant && other instanceof Temporal.Instant) ||
    (one instanceof Duration && other instanceof Duration);
  return isOrdered && compared(one, other, meter) === 0;
}
