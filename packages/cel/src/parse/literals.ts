import { isInt, isUint } from '../values/times.ts';
import { Uint, type Value } from '../values/values.ts';
import { type Expression, ParseError } from './syntax.ts';
import type { Token } from './tokens.ts';

function numberOf(text: string, isNegative: boolean, at: number): Value {
  const digits = text.replace(/[uU]$/, '');
  const isHex = digits.startsWith('0x');
  if (!isHex && /[.eE]/.test(digits)) return isNegative ? -Number(digits) : Number(digits);
  const value = isNegative ? -BigInt(digits) : BigInt(digits);
  if (digits !== text) {
    if (isNegative || !isUint(value)) throw new ParseError(at, 'invalid uint literal');
    return new Uint(value);
  }
  if (!isInt(value)) throw new ParseError(at, 'invalid int literal');
  return value;
}

/** Returns a number, including its sign: -9223372036854775808 is one literal. */
export function numeral({ text, at }: Token, minus?: Token): Expression {
  return {
    kind: 'literal',
    value: numberOf(text, minus !== undefined, minus?.at ?? at),
    at: minus?.at ?? at,
  };
}

const words: Readonly<Record<string, Value>> = { true: true, false: false, null: null };
const reserved: ReadonlySet<string> = new Set(
  'as break const continue else for function if import let loop package namespace return var void while in'.split(
    ' ',
  ),
);

/** Returns a word: a name, or true, false or null. */
export function wordOf({ text, at }: Token): Expression {
  const value = Object.hasOwn(words, text) ? words[text] : undefined;
  if (value !== undefined) return { kind: 'literal', value, at };
  if (reserved.has(text)) throw new ParseError(at, `reserved identifier: ${text}`);
  return { kind: 'name', name: text, at };
}
