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
export type Macro =
  | 'all'
  | 'exists'
  | 'exists_one'
  | 'filter'
  | 'map'
  | 'transformList'
  | 'transformMap';

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
