import { type CostMeter, fail, overload } from '../failure.ts';
import { matches } from '../regexp/regexp.ts';
import { compared } from '../values/compare.ts';
import { conversions } from '../values/convert.ts';
import { Quantity } from '../values/quantity.ts';
import { Version } from '../values/semver.ts';
import { durationParts, inZone, timestampParts } from '../values/times.ts';
import { Duration, List, Mapping, none, Optional, Uint, type Value } from '../values/values.ts';
import { listMethods, sets } from './lists.ts';
import { quoted, stringMethods, stringSize, textOf } from './strings.ts';

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
