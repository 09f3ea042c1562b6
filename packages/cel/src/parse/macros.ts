import { type Expression, type Macro, ParseError } from './syntax.ts';

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
