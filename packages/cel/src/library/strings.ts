import { type CostMeter, fail, overload } from '../failure.ts';
import { written } from '../values/compare.ts';
import { List, Mapping, Type, Uint, type Value } from '../values/values.ts';

/** `'%s is %d'.format([…])`. Upstream: cel-go, ext/formatting_v2.go. */

function special(value: number): string | undefined {
  return Number.isFinite(value)
    ? undefined
    : Number.isNaN(value)
      ? 'NaN'
      : value > 0
        ? 'Infinity'
        : '-Infinity';
}

/** Formats %s: every value has a text here; keys of maps are in the order of their texts. */
function spelled(value: Value, meter: CostMeter): string {
  meter.charge(4);
  if (value === null) return 'null';
  if (typeof value === 'number') return special(value) ?? written(value) ?? '';
  if (value instanceof Type) return value.name;
  if (value instanceof List)
    return `[${Array.from(value, item => spelled(item, meter)).join(', ')}]`;
  if (value instanceof Mapping) {
    const entries = Array.from(
      value.keys(),
      key => [spelled(key, meter), spelled(value.get(key) ?? null, meter)] as const,
    );
    entries.sort(([one], [other]) => (one < other ? -1 : Number(one > other)));
    return `{${entries.map(([key, member]) => `${key}: ${member}`).join(', ')}}`;
  }
  const text = written(value) ?? overload();
  meter.chargeText(text.length);
  return text;
}

function integer(value: Value): bigint | undefined {
  return typeof value === 'bigint' ? value : value instanceof Uint ? value.value : undefined;
}

function hex(value: Value, meter: CostMeter): string {
  const number = integer(value);
  if (number !== undefined) return number.toString(16);
  const bytes = typeof value === 'string' ? new TextEncoder().encode(value) : value;
  if (!(bytes instanceof Uint8Array))
    return fail(
      'error during formatting: only integers, byte buffers, and strings can be formatted as hex',
    );
  meter.chargeText(2 * bytes.length);
  return bytes.toHex();
}

function real(value: Value, clause: string): number {
  if (typeof value === 'number') return value;
  const number = integer(value);
  return number === undefined
    ? fail(`error during formatting: ${clause} clause can only be used on doubles`)
    : Number(number);
}

/** Rounds half to even, as Go does, where toFixed rounds half up. */
function fixed(value: number, precision: number): string {
  // From here on toFixed writes an exponent; there are no fractions any more.
  if (Math.abs(value) >= 1e21)
    return `${BigInt(value)}${precision === 0 ? '' : `.${'0'.repeat(precision)}`}`;
  const rounded = value.toFixed(precision);
  // oxlint-disable-next-line oxc/number-arg-out-of-range -- all the digits that a double has; JavaScript takes up to 100
  const exact = value.toFixed(100);
  const cut = exact.indexOf('.') + 1 + precision;
  const isHalf = /^50*$/.test(exact.slice(cut));
  const isOdd = /[13579]$/.test(rounded);
  return isHalf && isOdd ? exact.slice(0, cut).replace(/\.$/, '') : rounded;
}

function decimal(value: Value): string {
  const text = typeof value === 'number' ? special(value) : integer(value)?.toString();
  return text ?? fail('error during formatting: decimal clause can only be used on integers');
}

function binary(value: Value): string {
  return (
    (typeof value === 'boolean' ? BigInt(value) : integer(value))?.toString(2) ??
    fail('error during formatting: only integers and bools can be formatted as binary')
  );
}

function octal(value: Value): string {
  return (
    integer(value)?.toString(8) ??
    fail('error during formatting: octal clause can only be used on integers')
  );
}

function scientific(value: number, precision: number): string {
  return special(value) ?? value.toExponential(precision).replace(/e([+-])(\d)$/, 'e$10$2');
}

const clauses: Readonly<
  Record<string, (value: Value, precision: number, meter: CostMeter) => string>
> = {
  s: (value, _precision, meter) => spelled(value, meter),
  d: decimal,
  b: binary,
  o: octal,
  x: (value, _precision, meter) => hex(value, meter),
  X: (value, _precision, meter) => hex(value, meter).toUpperCase(),
  f: (value, precision) => {
    const number = real(value, 'fixed-point');
    return special(number) ?? fixed(number, precision);
  },
  e: (value, precision) => scientific(real(value, 'scientific'), precision),
};

/** Replaces the clauses of a text by the elements of a list. */
function format(text: string, args: Value | undefined, meter: CostMeter): string {
  if (!(args instanceof List)) return overload();
  let next = 0;
  return text.replaceAll(
    /%(%|(?:\.(\d+))?([^]?))/gu,
    (_whole, percent: string, precision: string | undefined, name: string) => {
      if (percent === '%') return '%';
      const clause = Object.hasOwn(clauses, name) ? clauses[name] : undefined;
      if (clause === undefined)
        return fail(`could not parse formatting clause: unrecognized formatting clause "${name}"`);
      const value = args.at(next);
      if (value === undefined) return fail(`index ${next} out of range`);
      next += 1;
      const digits = Number(precision ?? 6);
      meter.chargeText(digits);
      return clause(
        value,
        digits > 100 ? fail('precision of more than 100 digits') : digits,
        meter,
      );
    },
  );
}

/** Functions of strings. They count code points. Upstream: cel-go, ext/strings.go. */

/**
 * Returns the code points of a string: the string itself without surrogates, which is the usual
 * case.
 */
function characters(text: string): readonly string[] | string {
  return /[\ud800-\udfff]/.test(text) ? Array.from(text) : text;
}

export function stringSize(text: string): number {
  return characters(text).length;
}

function joined(part: readonly string[] | string): string {
  return typeof part === 'string' ? part : part.join('');
}

export function textOf(value: Value | undefined): string {
  return typeof value === 'string' ? value : overload();
}
function place(value: Value | undefined): number {
  return typeof value === 'bigint' ? Number(value) : overload();
}

function charAt(text: string, index: Value | undefined): string {
  const [all, at] = [characters(text), place(index)];
  return at < 0 || at > all.length ? fail(`index out of range: ${at}`) : (all[at] ?? '');
}

function indexOf(text: string, part: Value | undefined, from: Value | undefined): bigint {
  const [all, start] = [characters(text), from === undefined ? 0 : place(from)];
  if (start < 0 || start > all.length) return fail(`index out of range: ${start}`);
  const before = joined(all.slice(0, start));
  const found = text.indexOf(textOf(part), before.length);
  return found === -1 ? -1n : BigInt(stringSize(text.slice(0, found)));
}

function lastIndexOf(text: string, part: Value | undefined, from: Value | undefined): bigint {
  const [all, wanted] = [characters(text), textOf(part)];
  if (from === undefined && wanted === '') return BigInt(all.length);
  const start = from === undefined ? all.length : place(from);
  if (start < 0 || (from !== undefined && start > all.length))
    return fail(`index out of range: ${start}`);
  const found = text.lastIndexOf(wanted, joined(all.slice(0, start)).length);
  return found === -1 ? -1n : BigInt(stringSize(text.slice(0, found)));
}

function substring(text: string, from: Value | undefined, to: Value | undefined): string {
  const all = characters(text);
  const [start, end] = [place(from), to === undefined ? all.length : place(to)];
  if (start < 0 || start > all.length) return fail(`index out of range: ${start}`);
  if (end < 0 || end > all.length) return fail(`index out of range: ${end}`);
  if (start > end) return fail(`invalid substring range. start: ${start}, end: ${end}`);
  return joined(all.slice(start, end));
}

function limitOf(limit: Value | undefined): number {
  const given = limit === undefined ? -1 : place(limit);
  return given < 0 ? Infinity : given;
}

/** Splits into at most this many parts; the last one is the rest. */
function split(
  text: string,
  separator: string,
  limit: number,
  meter: CostMeter,
): readonly string[] {
  if (limit === 0) return [];
  const parts = separator === '' ? Array.from(text) : text.split(separator);
  meter.charge(parts.length);
  return parts.length <= limit
    ? parts
    : [...parts.slice(0, limit - 1), parts.slice(limit - 1).join(separator)];
}

function replace(
  text: string,
  from: Value | undefined,
  to: Value | undefined,
  limit: Value | undefined,
  meter: CostMeter,
): string {
  const parts = split(text, textOf(from), Infinity, meter);
  const isBetween = textOf(from) === '';
  // Go also replaces the empty text before the first and after the last character.
  const all = isBetween ? ['', ...parts, ''] : parts;
  const count = Math.min(limitOf(limit), all.length - 1);
  meter.chargeText(text.length + count * textOf(to).length);
  const rest = all.slice(count).join(textOf(from));
  return count === 0 ? text : [...all.slice(0, count), rest].join(textOf(to));
}

/** Changes ASCII letters only. */
function cased(text: string, pattern: RegExp, change: (letter: string) => string): string {
  return text.replaceAll(pattern, change);
}

/** Characters of Unicode's White_Space. */
const spaces = '[\\t-\\r \\u0085\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]';
const leading = new RegExp(`^${spaces}+`, 'u');
const space = new RegExp(spaces, 'u');

function trimmed(text: string): string {
  const rest = text.replace(leading, '');
  let end = rest.length;
  while (end > 0 && space.test(rest.charAt(end - 1))) end -= 1;
  return rest.slice(0, end);
}

function join(list: Value, separator: Value | undefined, meter: CostMeter): string {
  if (!(list instanceof List)) return overload();
  const [parts, between] = [
    Array.from(list, textOf),
    separator === undefined ? '' : textOf(separator),
  ];
  meter.chargeText(
    parts.reduce((sum, part) => sum + part.length + between.length, 10 * parts.length),
  );
  return parts.join(between);
}

const escapes: Readonly<Record<string, string>> = {
  '\x07': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
  '\\': '\\\\',
  '"': '\\"',
};

/** Implements `strings.quote`. */
export function quoted(text: string): string {
  let result = '"';
  for (const character of text.toWellFormed()) result += escapes[character] ?? character;
  return `${result}"`;
}

type Method = readonly [
  least: number,
  most: number,
  call: (text: string, args: readonly Value[], meter: CostMeter) => Value,
];

/** Functions with the range of their number of arguments. */
export const stringMethods: Readonly<Record<string, Method>> = {
  startsWith: [1, 1, (text, [part]) => text.startsWith(textOf(part))],
  endsWith: [1, 1, (text, [part]) => text.endsWith(textOf(part))],
  contains: [1, 1, (text, [part]) => text.includes(textOf(part))],
  charAt: [1, 1, (text, [at]) => charAt(text, at)],
  indexOf: [1, 2, (text, [part, from]) => indexOf(text, part, from)],
  lastIndexOf: [1, 2, (text, [part, from]) => lastIndexOf(text, part, from)],
  substring: [1, 2, (text, [from, to]) => substring(text, from, to)],
  replace: [2, 3, (text, [from, to, limit], meter) => replace(text, from, to, limit, meter)],
  split: [
    1,
    2,
    (text, [separator, limit], meter) =>
      List.of(split(text, textOf(separator), limitOf(limit), meter)),
  ],
  lowerAscii: [0, 0, text => cased(text, /[A-Z]+/g, letters => letters.toLowerCase())],
  upperAscii: [0, 0, text => cased(text, /[a-z]+/g, letters => letters.toUpperCase())],
  trim: [0, 0, trimmed],
  reverse: [0, 0, text => Array.from(text).reverse().join('')],
  format: [1, 1, (text, [args], meter) => format(text, args, meter)],
};

/** Implements `list.join(…)`. */
export function joinMethod(list: Value, [separator]: readonly Value[], meter: CostMeter): Value {
  return join(list, separator, meter);
}
