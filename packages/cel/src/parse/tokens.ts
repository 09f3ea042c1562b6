import type { Value } from '../values/values.ts';

/** An expression of the Common Expression Language. `at` is its position in the text. */
export type Expression =
  | { readonly kind: 'literal'; readonly value: Value; readonly at: number }
  | { readonly kind: 'name'; readonly name: string; readonly at: number }
  /** A member; optional: `of.?name`. */
  | {
      readonly kind: 'member';
      readonly of: Expression;
      readonly name: string;
      readonly optional?: boolean;
      readonly at: number;
    }
  /** An index; optional: `of[?index]`. */
  | {
      readonly kind: 'index';
      readonly of: Expression;
      readonly index: Expression;
      readonly optional?: boolean;
      readonly at: number;
    }
  | {
      readonly kind: 'has';
      readonly of: Expression;
      readonly name: string;
      readonly optional?: boolean;
      readonly at: number;
    }
  | {
      readonly kind: 'call';
      readonly name: string;
      readonly on?: Expression;
      readonly args: readonly Expression[];
      readonly at: number;
    }
  | { readonly kind: 'not' | 'minus'; readonly of: Expression; readonly at: number }
  | {
      readonly kind: 'binary';
      readonly operator: Operator;
      readonly left: Expression;
      readonly right: Expression;
      readonly at: number;
    }
  | {
      readonly kind: 'choice';
      readonly test: Expression;
      readonly yes: Expression;
      readonly no: Expression;
      readonly at: number;
    }
  | { readonly kind: 'list'; readonly items: readonly Item[]; readonly at: number }
  | { readonly kind: 'map'; readonly entries: readonly Entry[]; readonly at: number }
  /** A macro: `list.all(x, …)`, `list.all(i, x, …)` and the like. */
  | {
      readonly kind: 'each';
      readonly macro: Macro;
      readonly over: Expression;
      readonly variables: readonly [string] | readonly [string, string];
      /** Condition of `map(x, condition, …)` and of `transformList` and `transformMap`. */
      readonly filter?: Expression;
      readonly body: Expression;
      readonly at: number;
    }
  /** `optional.optMap(x, …)`; flat: `optFlatMap`. */
  | {
      readonly kind: 'within';
      readonly of: Expression;
      readonly flat: boolean;
      readonly variable: string;
      readonly body: Expression;
      readonly at: number;
    };

/** An item; optional: `[?item]` omits an empty one. */
export type Item = {
  readonly kind: 'item';
  readonly optional: boolean;
  readonly value: Expression;
};
export type Entry = {
  readonly kind: 'entry';
  readonly optional: boolean;
  readonly key: Expression;
  readonly value: Expression;
  readonly at: number;
};

export type Operator =
  | '||'
  | '&&'
  | '=='
  | '!='
  | '<'
  | '<='
  | '>'
  | '>='
  | 'in'
  | '+'
  | '-'
  | '*'
  | '/'
  | '%';
type Macro = 'all' | 'exists' | 'exists_one' | 'filter' | 'map' | 'transformList' | 'transformMap';

/** Thrown within one call of `parse`, `check` or `compile` only. */
export class ParseError extends Error {
  readonly at: number;

  constructor(at: number, message: string) {
    super(message);
    this.at = at;
  }
}

/** Returns the message with the position in the text, as cel-go formats it. */
export function pointed(source: string, { at, message }: ParseError): string {
  const before = source.slice(0, at).split('\n');
  const line = source.split('\n')[before.length - 1] ?? '';
  const column = Array.from(before.at(-1) ?? '').length;
  return `ERROR: <input>:${before.length}:${column + 1}: ${message}\n | ${line}\n | ${'.'.repeat(column)}^`;
}

/** A token; `value` of a string is its unescaped text. */
export type Token =
  | {
      readonly kind: 'name' | 'quoted' | 'number' | 'sign' | 'end';
      readonly text: string;
      readonly at: number;
    }
  | { readonly kind: 'string'; readonly text: string; readonly value: string; readonly at: number }
  | {
      readonly kind: 'bytes';
      readonly text: string;
      readonly value: Uint8Array;
      readonly at: number;
    };

const space = /(?:[\t\n\f\r ]|\/\/[^\n]*)*/y;
const patterns = {
  string:
    /(?<prefix>[bB]?[rR]|[rR][bB])(?<raw>"""[^]*?"""|'''[^]*?'''|"[^"\r\n]*"|'[^'\r\n]*')|[bB]?(?<cooked>"""(?:[^\\]|\\[^])*?"""|'''(?:[^\\]|\\[^])*?'''|"(?:[^"\\\r\n]|\\[^\r\n])*"|'(?:[^'\\\r\n]|\\[^\r\n])*')/y,
  name: /[A-Za-z_][A-Za-z0-9_]*/y,
  quoted: /`[A-Za-z0-9_.\-/ ]+`/y,
  number: /0x[0-9a-fA-F]+[uU]?|(?:\d+\.\d+|\.\d+)(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\d+[uU]?/y,
  sign: /\|\||&&|==|!=|<=|>=|[-+*/%<>!?:.,()[\]{}]/y,
};
const kinds = ['string', 'name', 'quoted', 'number', 'sign'] as const;

const plain: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
};
const escape =
  /\\(?:(?<simple>[abfnrtv\\?"'`])|[xX](?<hex>[0-9a-fA-F]{2})|(?<octal>[0-3][0-7]{2})|u(?<short>[0-9a-fA-F]{4})|U(?<long>[0-9a-fA-F]{8})|(?<bad>[^]?))|[^\\]+/g;

type Escape = Readonly<Record<string, string | undefined>>;

/** Returns the value of an escape, as text or as the number of a code point or a byte. */
function meaning({ simple, hex, octal, short, long }: Escape): string | number | undefined {
  if (simple !== undefined) return plain[simple] ?? simple;
  const code = short ?? long ?? hex;
  if (code !== undefined) return Number.parseInt(code, 16);
  return octal === undefined ? undefined : Number.parseInt(octal, 8);
}

function isCharacter(code: number): boolean {
  return code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff);
}

function stringOf(body: string, at: number): string {
  return body.replaceAll(escape, (whole, ...rest) => {
    if (!whole.startsWith('\\')) return whole;
    const meant = meaning(rest.at(-1) as Escape);
    if (meant === undefined || (typeof meant === 'number' && !isCharacter(meant)))
      throw new ParseError(at, `Syntax error: invalid escape sequence`);
    return typeof meant === 'number' ? String.fromCodePoint(meant) : meant;
  });
}

const utf8 = new TextEncoder();

function bytesOf(body: string, at: number): Uint8Array {
  const bytes: number[] = [];
  for (const { 0: whole, groups = {} } of body.matchAll(escape)) {
    const meant = whole.startsWith('\\') ? meaning(groups) : whole;
    if (meant === undefined || groups['short'] !== undefined || groups['long'] !== undefined)
      throw new ParseError(at, 'Syntax error: invalid escape sequence');
    if (typeof meant === 'number') bytes.push(meant);
    else for (const byte of utf8.encode(meant)) bytes.push(byte);
  }
  return Uint8Array.from(bytes);
}

function literal(text: string, groups: Escape, at: number): Token {
  const quoted = groups['raw'] ?? groups['cooked'] ?? '';
  const width = quoted.startsWith('"""') || quoted.startsWith("'''") ? 3 : 1;
  const body = quoted.slice(width, -width);
  const isRaw = groups['raw'] !== undefined;
  const isBytes = /^[rR]?[bB]/.test(text);
  if (isBytes)
    return { kind: 'bytes', text, value: isRaw ? utf8.encode(body) : bytesOf(body, at), at };
  return { kind: 'string', text, value: isRaw ? body : stringOf(body, at), at };
}

/** Returns the end of the white space and comments at a position. */
function afterSpace(source: string, at: number): number {
  space.lastIndex = at;
  return at + (space.exec(source)?.[0].length ?? 0);
}

function tokenAt(source: string, at: number): Token {
  for (const kind of kinds) {
    const pattern = patterns[kind];
    pattern.lastIndex = at;
    const found = pattern.exec(source);
    if (found === null) continue;
    return kind === 'string'
      ? literal(found[0], found.groups ?? {}, at)
      : { kind, text: found[0], at };
  }
  throw new ParseError(
    at,
    `Syntax error: token recognition error at: '${source.slice(at, at + 1)}'`,
  );
}

/** Returns the tokens of a text. */
export function tokensOf(source: string): readonly Token[] {
  const tokens: Token[] = [];
  let at = afterSpace(source, 0);
  while (at < source.length) {
    const token = tokenAt(source, at);
    tokens.push(token);
    at = afterSpace(source, at + token.text.length);
  }
  return [...tokens, { kind: 'end', text: '<EOF>', at: source.length }];
}

/**
 * Macros, which look like functions and bind variables. Upstream: cel-go, parser/macro.go and
 * ext/comprehensions.go.
 */

/**
 * Macros with their number of variables. One: an element of a list or a key of a map. Two: an index
 * and an element, or a key and a value.
 */
const loops: Readonly<
  Record<
    string,
    { readonly macro: Macro; readonly arity: readonly (1 | 2)[]; readonly filters: boolean }
  >
> = {
  all: { macro: 'all', arity: [1, 2], filters: false },
  exists: { macro: 'exists', arity: [1, 2], filters: false },
  exists_one: { macro: 'exists_one', arity: [1, 2], filters: false },
  existsOne: { macro: 'exists_one', arity: [1, 2], filters: false },
  filter: { macro: 'filter', arity: [1], filters: false },
  map: { macro: 'map', arity: [1], filters: true },
  transformList: { macro: 'transformList', arity: [2], filters: true },
  transformMap: { macro: 'transformMap', arity: [2], filters: true },
};

function variableOf(expression: Expression, macro: string): string {
  if (expression.kind === 'name') return expression.name;
  throw new ParseError(expression.at, `${macro}() variable name must be a simple identifier`);
}

/** Returns the expression of `has(a.b)`. */
function selected([argument, ...more]: readonly Expression[], at: number): Expression {
  if (argument?.kind !== 'member' || more.length > 0)
    throw new ParseError(at, 'invalid argument to has() macro');
  return { ...argument, kind: 'has', at };
}

function within(
  flat: boolean,
  name: string,
  of: Expression,
  args: readonly Expression[],
  at: number,
): Expression | undefined {
  const [variable, body, ...more] = args;
  if (variable === undefined || body === undefined || more.length > 0) return undefined;
  return { kind: 'within', of, flat, variable: variableOf(variable, name), body, at };
}

function loop(
  name: string,
  over: Expression,
  args: readonly Expression[],
  at: number,
): Expression | undefined {
  const form = loops[name];
  const [first, second] = args;
  const count = form?.arity.find(
    arity => args.length === arity + 1 || (form.filters && args.length === arity + 2),
  );
  const body = args.at(-1);
  if (form === undefined || count === undefined || first === undefined || body === undefined)
    return undefined;
  const filter = args.length === count + 2 ? args[count] : undefined;
  const variables =
    count === 2 && second !== undefined
      ? ([variableOf(first, name), variableOf(second, name)] as const)
      : undefined;
  if (variables !== undefined && variables[0] === variables[1])
    throw new ParseError(at, 'duplicate variable name');
  return {
    kind: 'each',
    macro: form.macro,
    over,
    variables: variables ?? [variableOf(first, name)],
    ...(filter !== undefined && { filter }),
    body,
    at,
  };
}

/**
 * Returns the expression of a macro's call: with another number of arguments it is a function's
 * call, which `check` rejects.
 */
export function expanded(
  name: string,
  on: Expression | undefined,
  args: readonly Expression[],
  at: number,
): Expression | undefined {
  if (on === undefined) return name === 'has' ? selected(args, at) : undefined;
  if (name === 'optMap' || name === 'optFlatMap')
    return within(name === 'optFlatMap', name, on, args, at);
  return Object.hasOwn(loops, name) ? loop(name, on, args, at) : undefined;
}
