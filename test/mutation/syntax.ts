import { parseSync } from 'oxc-parser';

/**
 * A node of the syntax tree: what kind it is, where it stands in the text, and its parts under
 * their names (ESTree, with TypeScript's own).
 */
export type Syntax = {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [part: string]: unknown;
};

export function isSyntax(part: unknown): part is Syntax {
  return (
    typeof part === 'object' &&
    part !== null &&
    'type' in part &&
    typeof part.type === 'string' &&
    'start' in part &&
    'end' in part
  );
}

export function parse(text: string): Syntax {
  const { program, errors } = parseSync('source.ts', text);
  if (errors.length > 0) throw new Error(`cannot be parsed: ${errors[0]?.message}`);
  return program as unknown as Syntax;
}

/** A part that has to be there, by the kind of its node. */
export function part(node: Syntax, name: string): Syntax {
  const found = node[name];
  if (!isSyntax(found)) throw new Error(`${node.type} has no ${name}`);
  return found;
}

/**
 * Wrappers that are TypeScript's and hold an expression; everything else that begins with TS is a
 * type, and is not run.
 */
const holdsExpression = new Set([
  'TSAsExpression',
  'TSSatisfiesExpression',
  'TSNonNullExpression',
  'TSInstantiationExpression',
]);

function isRun({ type }: Syntax): boolean {
  return (!type.startsWith('TS') || holdsExpression.has(type)) && !type.startsWith('Import');
}

/** The parts of a node that are run, with their names. */
export function partsOf(node: Syntax): readonly (readonly [string, Syntax])[] {
  return Object.entries(node)
    .flatMap(([name, value]) =>
      Array.isArray(value) ? value.map(one => [name, one] as const) : [[name, value] as const],
    )
    .filter((pair): pair is readonly [string, Syntax] => isSyntax(pair[1]) && isRun(pair[1]));
}

/** What is in the parentheses. */
export function bare(node: Syntax): Syntax {
  return node.type === 'ParenthesizedExpression' ? bare(part(node, 'expression')) : node;
}
