import { type CostMeter, fail, overload } from '../failure.ts';
import { compared, same } from '../values/compare.ts';
import { Duration, List, Optional, type Value } from '../values/values.ts';
import { computed } from './arithmetic.ts';
import { joinMethod } from './strings.ts';

/** Kubernetes' functions of lists. Upstream: apiserver/pkg/cel/library/lists.go. */

function listOf(value: Value | undefined): List {
  return value instanceof List ? value : overload();
}

function extreme(list: List, sign: 1 | -1, meter: CostMeter): Value {
  meter.charge(list.size);
  let found: Value | undefined;
  for (const item of list)
    if (found === undefined || sign * compared(item, found, meter) > 0) found = item;
  return found ?? fail(`${sign === 1 ? 'max' : 'min'} called on empty list`);
}

function sum(list: List, meter: CostMeter): Value {
  meter.charge(list.size);
  let total: Value | undefined;
  for (const item of list) {
    const isNumber =
      typeof item === 'bigint' || typeof item === 'number' || item instanceof Duration;
    total =
      total === undefined ? (isNumber ? item : overload()) : computed('+', total, item, meter);
  }
  return total ?? 0n;
}

function isSorted(list: List, meter: CostMeter): boolean {
  meter.charge(list.size);
  let before: Value | undefined;
  for (const item of list) {
    if (before !== undefined && compared(before, item, meter) > 0) return false;
    before = item;
  }
  return true;
}

function indexOf(list: List, wanted: Value, meter: CostMeter): bigint {
  for (let at = 0; at < list.size; at += 1)
    if (same(list.at(at) ?? null, wanted, meter)) return BigInt(at);
  return -1n;
}

function lastIndexOf(list: List, wanted: Value, meter: CostMeter): bigint {
  for (let at = list.size - 1; at >= 0; at -= 1)
    if (same(list.at(at) ?? null, wanted, meter)) return BigInt(at);
  return -1n;
}

type Method = readonly [
  least: number,
  most: number,
  call: (list: List, args: readonly Value[], meter: CostMeter) => Value,
];

/** Functions with the range of their number of arguments. */
export const listMethods: Readonly<Record<string, Method>> = {
  isSorted: [0, 0, (list, _args, meter) => isSorted(list, meter)],
  sum: [0, 0, (list, _args, meter) => sum(list, meter)],
  min: [0, 0, (list, _args, meter) => extreme(list, -1, meter)],
  max: [0, 0, (list, _args, meter) => extreme(list, 1, meter)],
  indexOf: [1, 1, (list, [wanted = null], meter) => indexOf(list, wanted, meter)],
  lastIndexOf: [1, 1, (list, [wanted = null], meter) => lastIndexOf(list, wanted, meter)],
  join: [0, 1, joinMethod],
  first: [0, 0, list => new Optional(list.at(0))],
  last: [0, 0, list => new Optional(list.at(list.size - 1))],
};

/**
 * Returns whether a set contains another: sets are lists whose order and repetitions do not matter.
 * Upstream: cel-go, ext/sets.go.
 */
function within(inner: List, outer: List, meter: CostMeter): boolean {
  for (const item of inner) if (indexOf(outer, item, meter) === -1n) return false;
  return true;
}

function intersects(one: List, other: List, meter: CostMeter): boolean {
  for (const item of one) if (indexOf(other, item, meter) !== -1n) return true;
  return false;
}

export const sets: Readonly<Record<string, (args: readonly Value[], meter: CostMeter) => boolean>> =
  {
    'sets.contains': ([outer, inner], meter) => within(listOf(inner), listOf(outer), meter),
    'sets.equivalent': ([one, other], meter) =>
      within(listOf(one), listOf(other), meter) && within(listOf(other), listOf(one), meter),
    'sets.intersects': ([one, other], meter) => intersects(listOf(one), listOf(other), meter),
  };
