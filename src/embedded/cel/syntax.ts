import type { Json } from '../../core/json.ts';

/** An expression of the Common Expression Language, as far as it is understood here. `at` is where it stands in the text. */
export type Expression =
  | { readonly kind: 'literal'; readonly value: Json; readonly at: number }
  | { readonly kind: 'name'; readonly name: string; readonly at: number }
  /** Optional: `of.?name`. */
  | { readonly kind: 'member'; readonly of: Expression; readonly name: string; readonly optional?: true; readonly at: number }
  | { readonly kind: 'index'; readonly of: Expression; readonly index: Expression; readonly at: number }
  | { readonly kind: 'call'; readonly name: string; readonly on?: Expression; readonly args: readonly Expression[]; readonly at: number }
  | { readonly kind: 'not' | 'minus'; readonly of: Expression; readonly at: number }
  | { readonly kind: 'binary'; readonly operator: Operator; readonly left: Expression; readonly right: Expression; readonly at: number }
  | { readonly kind: 'choice'; readonly test: Expression; readonly yes: Expression; readonly no: Expression; readonly at: number }
  | { readonly kind: 'list'; readonly items: readonly Expression[]; readonly at: number }
  /** `list.all(x, …)` and its kin. */
  | {
      readonly kind: 'each';
      readonly macro: Macro;
      readonly over: Expression;
      readonly variable: string;
      readonly body: Expression;
      readonly at: number;
    };

export type Operator = '||' | '&&' | '==' | '!=' | '<' | '<=' | '>' | '>=' | 'in' | '+' | '-' | '*' | '/' | '%';
export type Macro = 'all' | 'exists' | 'exists_one' | 'filter' | 'map';

export type Parsed = { readonly kind: 'parsed'; readonly expression: Expression } | { readonly kind: 'wrong'; readonly message: string };

export type Token = { readonly kind: 'name' | 'number' | 'string' | 'sign' | 'end'; readonly text: string; readonly at: number };

/** Thrown inside of one call of `parse` or `check` only. */
export class Wrong extends Error {
  readonly at: number;

  constructor(at: number, message: string) {
    super(message);
    this.at = at;
  }
}

/** The message with the place in the text, as cel-go shows it. */
export const pointed = (source: string, { at, message }: Wrong): string =>
  `ERROR: <input>:1:${at + 1}: ${message}\n | ${source}\n | ${'.'.repeat(at)}^`;

const pattern =
  /\s*(?:(?<name>[A-Za-z_][A-Za-z0-9_]*)|(?<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?u?)|(?<string>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")|(?<sign>\|\||&&|==|!=|<=|>=|[-+*/%<>!?:.,()[\]]))/y;

/** The words of a text. */
export const tokensOf = (source: string): readonly Token[] => {
  const tokens: Token[] = [];
  let at = 0;
  while (source.slice(at).trim() !== '') {
    pattern.lastIndex = at;
    const groups = pattern.exec(source)?.groups;
    const found = groups && (['name', 'number', 'string', 'sign'] as const).find(kind => groups[kind] !== undefined);
    const begin = at + (/^\s*/.exec(source.slice(at))?.[0].length ?? 0);
    if (found === undefined) throw new Wrong(begin, `Syntax error: token recognition error at: '${source[begin] ?? ''}'`);
    tokens.push({ kind: found, text: groups?.[found] ?? '', at: begin });
    at = pattern.lastIndex;
  }
  return [...tokens, { kind: 'end', text: '<EOF>', at: source.length }];
};
