import type { Json } from '../../core/json.ts';
import { type Expression, type Macro, type Operator, type Parsed, pointed, type Token, tokensOf, Wrong } from './syntax.ts';

/** Operators from the weakest to the strongest; all are left-associative. */
const levels: readonly (readonly Operator[])[] = [['||'], ['&&'], ['==', '!=', '<', '<=', '>', '>=', 'in'], ['+', '-'], ['*', '/', '%']];
const macros: readonly string[] = ['all', 'exists', 'exists_one', 'filter', 'map'] satisfies readonly Macro[];
const words: Readonly<Record<string, Json>> = { true: true, false: false, null: null };

const escapes: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r' };
const unquoted = (text: string): string => text.slice(1, -1).replace(/\\(.)/g, (_, char: string) => escapes[char] ?? char);

class Parser {
  readonly #tokens: readonly Token[];
  #next = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  whole(): Expression {
    const expression = this.#choice();
    if (this.#token.kind !== 'end') throw new Wrong(this.#token.at, `Syntax error: extraneous input '${this.#token.text}' expecting <EOF>`);
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
    return (kind === 'sign' || text === 'in') && texts.includes(text) ? this.#take() : undefined;
  }

  #needs(text: string): void {
    if (this.#takes(text) === undefined)
      throw new Wrong(this.#token.at, `Syntax error: mismatched input '${this.#token.text}' expecting '${text}'`);
  }

  #choice(): Expression {
    const test = this.#binary(0);
    const mark = this.#takes('?');
    if (mark === undefined) return test;
    const yes = this.#binary(0);
    this.#needs(':');
    return { kind: 'choice', test, yes, no: this.#choice(), at: mark.at };
  }

  #binary(level: number): Expression {
    const operators = levels[level];
    if (operators === undefined) return this.#unary();
    let left = this.#binary(level + 1);
    for (let sign = this.#takes(...operators); sign !== undefined; sign = this.#takes(...operators)) {
      left = { kind: 'binary', operator: sign.text as Operator, left, right: this.#binary(level + 1), at: sign.at };
    }
    return left;
  }

  #unary(): Expression {
    const sign = this.#takes('!', '-');
    if (sign === undefined) return this.#postfix(this.#primary());
    return { kind: sign.text === '!' ? 'not' : 'minus', of: this.#unary(), at: sign.at };
  }

  #postfix(base: Expression): Expression {
    let of = base;
    for (;;) {
      const sign = this.#takes('.', '[');
      if (sign === undefined) return of;
      if (sign.text === '[') {
        const index = this.#choice();
        this.#needs(']');
        of = { kind: 'index', of, index, at: sign.at };
      } else of = this.#member(of, sign.at);
    }
  }

  #member(of: Expression, at: number): Expression {
    const optional = this.#takes('?') !== undefined;
    const { kind, text } = this.#take();
    if (kind !== 'name') throw new Wrong(at, `Syntax error: no viable alternative at input '.'`);
    if (optional) return { kind: 'member', of, name: text, optional, at };
    if (this.#takes('(') === undefined) return { kind: 'member', of, name: text, at };
    const args = this.#list(')');
    const [variable, body] = args;
    if (!macros.includes(text)) return { kind: 'call', name: text, on: of, args, at };
    if (variable?.kind !== 'name' || body === undefined || args.length !== 2)
      throw new Wrong(at, `${text}() takes a variable and an expression here`);
    return { kind: 'each', macro: text as Macro, over: of, variable: variable.name, body, at };
  }

  #list(end: string): readonly Expression[] {
    const items: Expression[] = [];
    if (this.#takes(end) !== undefined) return items;
    for (;;) {
      items.push(this.#choice());
      if (this.#takes(',') === undefined) break;
    }
    this.#needs(end);
    return items;
  }

  #primary(): Expression {
    const { kind, text, at } = this.#take();
    if (kind === 'number') return { kind: 'literal', value: Number(text.replace(/u$/, '')), at };
    if (kind === 'string') return { kind: 'literal', value: unquoted(text), at };
    if (kind === 'name') {
      const word = words[text];
      if (word !== undefined) return { kind: 'literal', value: word, at };
      return this.#takes('(') === undefined ? { kind: 'name', name: text, at } : { kind: 'call', name: text, args: this.#list(')'), at };
    }
    if (text === '[') return { kind: 'list', items: this.#list(']'), at };
    if (text !== '(') throw new Wrong(at, `Syntax error: mismatched input '${text}'`);
    const inner = this.#choice();
    this.#needs(')');
    return inner;
  }
}

/** Reads an expression. */
export const parse = (source: string): Parsed => {
  try {
    return { kind: 'parsed', expression: new Parser(tokensOf(source)).whole() };
  } catch (error) {
    if (error instanceof Wrong) return { kind: 'wrong', message: pointed(source, error) };
    throw error;
  }
};
