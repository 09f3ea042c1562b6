import { type CostMeter, fail, overload } from '../failure.ts';
import { written } from '../values/convert.ts';
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
export function format(text: string, args: Value | undefined, meter: CostMeter): string {
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
