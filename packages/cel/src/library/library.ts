import { type CostMeter, fail, overload } from '../failure.ts';
import { matches } from '../regexp/regexp.ts';
import { compared, conversions, same } from '../values/compare.ts';
import {
  durationOf,
  durationParts,
  instantOf,
  inZone,
  isInt,
  isUint,
  timestampParts,
} from '../values/times.ts';
import {
  Duration,
  List,
  Mapping,
  none,
  Optional,
  Quantity,
  Uint,
  type Value,
  Version,
} from '../values/values.ts';
import { joinMethod, quoted, stringMethods, stringSize, textOf } from './strings.ts';

export type Arithmetic = '+' | '-' | '*' | '/' | '%';

function whole(operator: Arithmetic, left: bigint, right: bigint): bigint {
  switch (operator) {
    case '+':
      return left + right;
    case '-':
      return left - right;
    case '*':
      return left * right;
    case '/':
      return right === 0n ? fail('division by zero') : left / right;
    case '%':
      return right === 0n ? fail('modulus by zero') : left % right;
    default:
      return operator satisfies never;
  }
}

function double(operator: Arithmetic, left: number, right: number): number {
  switch (operator) {
    case '+':
      return left + right;
    case '-':
      return left - right;
    case '*':
      return left * right;
    case '/':
      return left / right;
    default:
      return overload();
  }
}

function joined(left: Value, right: Value, meter: CostMeter): Value {
  if (typeof left === 'string' && typeof right === 'string') {
    meter.chargeText(left.length + right.length);
    return left + right;
  }
  if (left instanceof Uint8Array && right instanceof Uint8Array) {
    meter.chargeText(left.length + right.length);
    return Uint8Array.from([...left, ...right]);
  }
  if (!(left instanceof List && right instanceof List)) return overload();
  meter.charge(left.size + right.size);
  return List.of([...left, ...right]);
}

/** Returns sums and differences of timestamps and durations; undefined for other values. */
function timed(operator: Arithmetic, left: Value, right: Value): Value | undefined {
  if (operator !== '+' && operator !== '-') return undefined;
  const moment = (value: Value): bigint | undefined =>
    value instanceof Temporal.Instant ? value.epochNanoseconds : undefined;
  const span = (value: Value): bigint | undefined =>
    value instanceof Duration ? value.nanoseconds : undefined;
  const [from, length, until, more] = [moment(left), span(left), moment(right), span(right)];
  if (length !== undefined && more !== undefined) return durationOf(whole(operator, length, more));
  if (from !== undefined && more !== undefined) return instantOf(whole(operator, from, more));
  if (operator === '-')
    return from !== undefined && until !== undefined ? durationOf(from - until) : undefined;
  return length !== undefined && until !== undefined ? instantOf(length + until) : undefined;
}

/**
 * Returns the result of an operator on two values. Both must have the same type: nothing is
 * converted.
 */
export function computed(operator: Arithmetic, left: Value, right: Value, meter: CostMeter): Value {
  if (typeof left === 'bigint' && typeof right === 'bigint') {
    const result = whole(operator, left, right);
    return isInt(result) ? result : fail('integer overflow');
  }
  if (typeof left === 'number' && typeof right === 'number') return double(operator, left, right);
  if (left instanceof Uint && right instanceof Uint) {
    const result = whole(operator, left.value, right.value);
    return isUint(result) ? new Uint(result) : fail('unsigned integer overflow');
  }
  return (
    timed(operator, left, right) ?? (operator === '+' ? joined(left, right, meter) : overload())
  );
}

export function negated(value: Value): Value {
  if (typeof value === 'number') return -value;
  if (typeof value !== 'bigint') return overload();
  return isInt(-value) ? -value : fail('integer overflow');
}

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
const listMethods: Readonly<Record<string, Method>> = {
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

const sets: Readonly<Record<string, (args: readonly Value[], meter: CostMeter) => boolean>> = {
  'sets.contains': ([outer, inner], meter) => within(listOf(inner), listOf(outer), meter),
  'sets.equivalent': ([one, other], meter) =>
    within(listOf(one), listOf(other), meter) && within(listOf(other), listOf(one), meter),
  'sets.intersects': ([one, other], meter) => intersects(listOf(one), listOf(other), meter),
};

/**
 * A function: the range of its number of arguments, without the receiver, and its implementation.
 */
export type Fn = {
  readonly least: number;
  readonly most: number;
  /** Implementation; a receiver is the first argument. */
  readonly call: (args: readonly Value[], meter: CostMeter) => Value;
};

function fn(least: number, most: number, call: Fn['call']): Fn {
  return { least, most, call };
}

function sizeOf(value: Value | undefined, meter: CostMeter): bigint {
  if (typeof value === 'string') {
    meter.chargeText(value.length);
    return BigInt(stringSize(value));
  }
  if (value instanceof Uint8Array) return BigInt(value.length);
  if (value instanceof List) return BigInt(value.size);
  if (!(value instanceof Mapping)) return overload();
  const { size } = value;
  // The keys of JSON are counted.
  meter.charge(size / 2);
  return BigInt(size);
}

function isZero(value: Value): boolean {
  if (value === null || value === false || value === '' || value === 0 || value === 0n) return true;
  if (value instanceof Uint) return value.value === 0n;
  if (value instanceof Duration) return value.nanoseconds === 0n;
  if (value instanceof Uint8Array) return value.length === 0;
  if (value instanceof Mapping) return Iterator.from(value.keys()).next().done === true;
  return value instanceof List && value.size === 0;
}

function optionalOf(value: Value | undefined): Optional {
  return value instanceof Optional ? value : overload();
}

function quantityOf(value: Value | undefined): Quantity {
  const read = typeof value === 'string' ? Quantity.parse(value) : overload();
  return (
    read ??
    fail(
      `quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'`,
    )
  );
}

function versionOf(value: Value | undefined, normalize: Value | undefined): Version {
  return (
    Version.parse(textOf(value), normalize === true) ??
    fail(
      textOf(value).split('.').length < 3
        ? 'No Major.Minor.Patch elements found'
        : `invalid semantic version: ${textOf(value)}`,
    )
  );
}

/** Functions without a receiver. */
export const globals: ReadonlyMap<string, Fn> = new Map<string, Fn>([
  ...Object.entries(conversions).map(
    ([name, convert]) =>
      [name, fn(1, 1, ([value = null], meter) => convert(value, meter))] as const,
  ),
  ...Object.entries(sets).map(([name, call]) => [name, fn(2, 2, call)] as const),
  ['size', fn(1, 1, ([value], meter) => sizeOf(value, meter))],
  ['matches', fn(2, 2, ([text, pattern], meter) => matches(textOf(text), textOf(pattern), meter))],
  ['strings.quote', fn(1, 1, ([text]) => quoted(textOf(text)))],
  ['optional.none', fn(0, 0, () => none)],
  ['optional.of', fn(1, 1, ([value]) => new Optional(value))],
  [
    'optional.ofNonZeroValue',
    fn(1, 1, ([value = null]) => (isZero(value) ? none : new Optional(value))),
  ],
  ['quantity', fn(1, 1, ([text]) => quantityOf(text))],
  ['isQuantity', fn(1, 1, ([text]) => Quantity.parse(textOf(text)) !== undefined)],
  ['semver', fn(1, 2, ([text, normalize]) => versionOf(text, normalize))],
  [
    'isSemver',
    fn(1, 2, ([text, normalize]) => Version.parse(textOf(text), normalize === true) !== undefined),
  ],
]);

/** Compares quantities or versions, which share functions. */
function order([one, other]: readonly Value[]): number {
  if (one instanceof Quantity && other instanceof Quantity) return one.compare(other);
  return one instanceof Version && other instanceof Version ? one.compare(other) : overload();
}

function asQuantity(value: Value | undefined): Quantity {
  return value instanceof Quantity ? value : overload();
}
function asVersion(value: Value | undefined): Version {
  return value instanceof Version ? value : overload();
}

function addend(value: Value | undefined): bigint {
  return typeof value === 'bigint' ? value * 10n ** 9n : asQuantity(value).nano;
}

const objects: readonly (readonly [string, Fn])[] = [
  ['isLessThan', fn(1, 1, args => order(args) < 0)],
  ['isGreaterThan', fn(1, 1, args => order(args) > 0)],
  ['compareTo', fn(1, 1, args => BigInt(order(args)))],
  ['sign', fn(0, 0, ([value]) => BigInt(asQuantity(value).compare(new Quantity(0n))))],
  ['isInteger', fn(0, 0, ([value]) => asQuantity(value).isInteger)],
  ['asInteger', fn(0, 0, ([value]) => asQuantity(value).toInteger())],
  ['asApproximateFloat', fn(0, 0, ([value]) => asQuantity(value).toNumber())],
  ['add', fn(1, 1, ([value, other]) => new Quantity(asQuantity(value).nano + addend(other)))],
  ['sub', fn(1, 1, ([value, other]) => new Quantity(asQuantity(value).nano - addend(other)))],
  ['major', fn(0, 0, ([value]) => asVersion(value).numbers[0])],
  ['minor', fn(0, 0, ([value]) => asVersion(value).numbers[1])],
  ['patch', fn(0, 0, ([value]) => asVersion(value).numbers[2])],
];

function timePart(name: string): Fn {
  return fn(0, 1, ([value, zone]) => {
    if (value instanceof Duration && zone === undefined)
      return (durationParts[name] ?? overload)(value);
    if (!(value instanceof Temporal.Instant)) return overload();
    return BigInt(
      (timestampParts[name] ?? overload)(inZone(value, zone === undefined ? 'UTC' : textOf(zone))),
    );
  });
}

const optionals: readonly (readonly [string, Fn])[] = [
  ['hasValue', fn(0, 0, ([value]) => optionalOf(value).value !== undefined)],
  ['value', fn(0, 0, ([value]) => optionalOf(value).value ?? fail('optional.none() dereference'))],
];

/** Returns `indexOf` and similar functions, which strings and lists have. */
function sequence(name: string): readonly [string, Fn] {
  const [text, list] = [stringMethods[name], listMethods[name]];
  const call: Fn['call'] = ([on = null, ...args], meter) => {
    const takes = (method: typeof text | typeof list): boolean =>
      method !== undefined && args.length >= method[0] && args.length <= method[1];
    if (on instanceof List && list !== undefined && takes(list)) return list[2](on, args, meter);
    if (typeof on !== 'string' || text === undefined || !takes(text)) return overload();
    const [part] = args;
    // As in cel-go: a search may compare every character of the one with each of the other.
    meter.charge((on.length / 10) * (1 + (typeof part === 'string' ? part.length : 0) / 10));
    return text[2](on, args, meter);
  };
  const arities = [text, list].flatMap(method =>
    method === undefined ? [] : [method[0], method[1]],
  );
  return [name, fn(Math.min(...arities), Math.max(...arities), call)];
}

/** Functions with a receiver. */
export const methods: ReadonlyMap<string, Fn> = new Map<string, Fn>([
  ...[...new Set([...Object.keys(stringMethods), ...Object.keys(listMethods)])].map(sequence),
  ...Object.keys(timestampParts).map(name => [name, timePart(name)] as const),
  ...objects,
  ...optionals,
  ['size', fn(0, 0, ([value], meter) => sizeOf(value, meter))],
  ['matches', fn(1, 1, ([text, pattern], meter) => matches(textOf(text), textOf(pattern), meter))],
]);

/** Returns the result of `<`, `<=`, `>` or `>=`; always false for NaN. */
export function isInOrder(
  operator: '<' | '<=' | '>' | '>=',
  left: Value,
  right: Value,
  meter: CostMeter,
): boolean {
  const order = compared(left, right, meter);
  if (operator === '<') return order < 0;
  if (operator === '<=') return order <= 0;
  return operator === '>' ? order > 0 : order >= 0;
}
