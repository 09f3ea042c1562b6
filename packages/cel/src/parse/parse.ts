import { stringSize } from '../library/strings.ts';
import { isInt, isUint } from '../values/times.ts';
import { Uint, type Value } from '../values/values.ts';
import {
  type Entry,
  type Expression,
  expanded,
  type Item,
  type Operator,
  ParseError,
  pointed,
  type Token,
  tokensOf,
} from './tokens.ts';

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
function numeral({ text, at }: Token, minus?: Token): Expression {
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
function wordOf({ text, at }: Token): Expression {
  const value = Object.hasOwn(words, text) ? words[text] : undefined;
  if (value !== undefined) return { kind: 'literal', value, at };
  if (reserved.has(text)) throw new ParseError(at, `reserved identifier: ${text}`);
  return { kind: 'name', name: text, at };
}

/**
 * Operators from the lowest to the highest precedence; all are left-associative. `&&` and `||` come
 * before them.
 */
const levels: readonly (readonly Operator[])[] = [
  ['==', '!=', '<', '<=', '>', '>=', 'in'],
  ['+', '-'],
  ['*', '/', '%'],
];

/** Modules of functions: `optional.of(…)` is a function of that name, not a call on a variable. */
const modules: ReadonlySet<string> = new Set(['optional', 'strings', 'sets']);

/** Limits of cel-go (parser.MaxRecursionDepth and parser.ExpressionSizeCodePointLimit). */
const deepest = 250;
const maxLength = 100_000;

class Parser {
  readonly #tokens: readonly Token[];
  /** Height of each expression. */
  readonly #heights = new WeakMap<Expression, number>();
  #next = 0;
  #depth = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  whole(): Expression {
    const expression = this.#choice();
    if (this.#token.kind !== 'end')
      throw new ParseError(
        this.#token.at,
        `Syntax error: extraneous input '${this.#token.text}' expecting <EOF>`,
      );
    return expression;
  }

  get #token(): Token {
    return this.#tokens[this.#next] ?? { kind: 'end', text: '<EOF>', at: 0 };
  }

  #take(): Token {
    const token = this.#token;
    this.#next += 1;
    return token;
  }

  #takes(...texts: readonly string[]): Token | undefined {
    const { kind, text } = this.#token;
    return (kind === 'sign' || (kind === 'name' && text === 'in')) && texts.includes(text)
      ? this.#take()
      : undefined;
  }

  #needs(text: string): void {
    if (this.#takes(text) === undefined)
      throw new ParseError(
        this.#token.at,
        `Syntax error: mismatched input '${this.#token.text}' expecting '${text}'`,
      );
  }

  /** Checks the height of an expression, because its evaluation takes as much of the stack. */
  #grown(expression: Expression, ...below: readonly Expression[]): Expression {
    const height = 1 + Math.max(0, ...below.map(one => this.#heights.get(one) ?? 0));
    if (height > deepest)
      throw new ParseError(expression.at, `expression recursion limit exceeded: ${deepest}`);
    this.#heights.set(expression, height);
    return expression;
  }

  #choice(): Expression {
    this.#depth += 1;
    if (this.#depth > deepest)
      throw new ParseError(this.#token.at, `expression recursion limit exceeded: ${deepest}`);
    const test = this.#logical('||');
    const mark = this.#takes('?');
    let all = test;
    if (mark !== undefined) {
      const yes = this.#logical('||');
      this.#needs(':');
      const no = this.#choice();
      all = this.#grown({ kind: 'choice', test, yes, no, at: mark.at }, test, yes, no);
    }
    this.#depth -= 1;
    return all;
  }

  /**
   * Parses `||` or `&&` to a balanced tree, as cel-go does: a thousand conditions are not unusual.
   */
  #logical(operator: '||' | '&&'): Expression {
    const part = (): Expression => (operator === '||' ? this.#logical('&&') : this.#binary(0));
    const parts = [part()];
    const places: number[] = [];
    for (let sign = this.#takes(operator); sign !== undefined; sign = this.#takes(operator)) {
      places.push(sign.at);
      parts.push(part());
    }
    const balanced = (from: number, to: number): Expression => {
      const middle = Math.floor((from + to + 1) / 2);
      const only = parts[from];
      if (from === to && only !== undefined) return only;
      const [left, right] = [balanced(from, middle - 1), balanced(middle, to)];
      return this.#grown(
        { kind: 'binary', operator, left, right, at: places[middle - 1] ?? left.at },
        left,
        right,
      );
    };
    return balanced(0, parts.length - 1);
  }

  #binary(level: number): Expression {
    const operators = levels[level];
    if (operators === undefined) return this.#unary();
    let left = this.#binary(level + 1);
    for (
      let sign = this.#takes(...operators);
      sign !== undefined;
      sign = this.#takes(...operators)
    ) {
      const right = this.#binary(level + 1);
      left = this.#grown(
        { kind: 'binary', operator: sign.text as Operator, left, right, at: sign.at },
        left,
        right,
      );
    }
    return left;
  }

  #unary(): Expression {
    const signs: Token[] = [];
    for (let sign = this.#takes('!', '-'); sign !== undefined; sign = this.#takes('!', '-'))
      signs.push(sign);
    const last = signs.at(-1);
    const minus = last?.text === '-' && this.#token.kind === 'number' ? signs.pop() : undefined;
    const base = minus === undefined ? this.#primary() : numeral(this.#take(), minus);
    let of = this.#postfix(base);
    for (const sign of signs.reverse())
      of = this.#grown({ kind: sign.text === '!' ? 'not' : 'minus', of, at: sign.at }, of);
    return of;
  }

  #postfix(base: Expression): Expression {
    let of = base;
    for (;;) {
      const sign = this.#takes('.', '[');
      if (sign === undefined) return of;
      if (sign.text === '[') {
        const optional = this.#takes('?') !== undefined;
        const index = this.#choice();
        this.#needs(']');
        of = this.#grown({ kind: 'index', of, index, optional, at: sign.at }, of, index);
      } else of = this.#member(of, sign.at);
    }
  }

  #member(of: Expression, at: number): Expression {
    const optional = this.#takes('?') !== undefined;
    const { kind, text } = this.#take();
    if (kind !== 'name' && kind !== 'quoted')
      throw new ParseError(at, `Syntax error: no viable alternative at input '.'`);
    const name = kind === 'quoted' ? text.slice(1, -1) : text;
    if (optional || kind === 'quoted' || this.#takes('(') === undefined)
      return this.#grown({ kind: 'member', of, name, optional, at }, of);
    const args = this.#list(')', () => this.#choice());
    if (of.kind === 'name' && modules.has(of.name))
      return this.#grown({ kind: 'call', name: `${of.name}.${name}`, args, at }, ...args);
    return this.#grown(
      expanded(name, of, args, at) ?? { kind: 'call', name, on: of, args, at },
      of,
      ...args,
    );
  }

  #list<T>(end: string, read: () => T): readonly T[] {
    const items: T[] = [];
    while (this.#takes(end) === undefined) {
      if (items.length > 0) {
        this.#needs(',');
        // A trailing comma is allowed in a list or a map.
        if (end !== ')' && this.#takes(end) !== undefined) break;
      }
      items.push(read());
    }
    return items;
  }

  #item(): Item {
    const optional = this.#takes('?') !== undefined;
    return { kind: 'item', optional, value: this.#choice() };
  }

  #entry(): Entry {
    const optional = this.#takes('?') !== undefined;
    const { at } = this.#token;
    const key = this.#choice();
    this.#needs(':');
    return { kind: 'entry', optional, key, value: this.#choice(), at };
  }

  #primary(): Expression {
    const token = this.#take();
    const { kind, text, at } = token;
    if (kind === 'number') return numeral(token);
    if (kind === 'string' || kind === 'bytes') return { kind: 'literal', value: token.value, at };
    if (kind === 'name') return this.#word(token);
    if (text === '.' && this.#token.kind === 'name') return this.#word(this.#take());
    if (text === '[') {
      const items = this.#list(']', () => this.#item());
      return this.#grown({ kind: 'list', items, at }, ...items.map(({ value }) => value));
    }
    if (text === '{') {
      const entries = this.#list('}', () => this.#entry());
      return this.#grown(
        { kind: 'map', entries, at },
        ...entries.flatMap(({ key, value }) => [key, value]),
      );
    }
    if (text !== '(') throw new ParseError(at, `Syntax error: mismatched input '${text}'`);
    const inner = this.#choice();
    this.#needs(')');
    return inner;
  }

  #word(token: Token): Expression {
    if (this.#takes('(') === undefined) return wordOf(token);
    const args = this.#list(')', () => this.#choice());
    const { text: name, at } = token;
    return this.#grown(
      expanded(name, undefined, args, at) ?? { kind: 'call', name, args, at },
      ...args,
    );
  }
}

export type Parsed =
  | { readonly kind: 'parsed'; readonly expression: Expression }
  | { readonly kind: 'wrong'; readonly message: string };

/** Parses an expression. */
export function parse(source: string): Parsed {
  try {
    // There are at most as many code points as UTF-16 units, which need not be counted.
    const size = source.length > maxLength ? stringSize(source) : source.length;
    if (size > maxLength)
      throw new ParseError(
        0,
        `expression code point size exceeds limit: size: ${size}, limit ${maxLength}`,
      );
    return { kind: 'parsed', expression: new Parser(tokensOf(source)).whole() };
  } catch (error) {
    if (error instanceof ParseError) return { kind: 'wrong', message: pointed(source, error) };
    throw error;
  }
}
