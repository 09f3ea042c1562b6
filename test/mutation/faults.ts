import { bare, isSyntax, parse, part, partsOf, type Syntax } from './syntax.ts';

/** A single fault: the expression from `start` to `end` becomes `by`. */
export type Fault = {
  readonly kind: string;
  readonly start: number;
  readonly end: number;
  readonly by: string;
};

/**
 * Where a node stands: what says whether it is a condition, and the optional chain that it is a
 * link of.
 */
type Place = { readonly condition: boolean; readonly chain?: Syntax; readonly spread: boolean };

type Swaps = ReadonlyMap<string, string>;
function swaps(pairs: Readonly<Record<string, string>>): Swaps {
  return new Map(Object.entries(pairs));
}
const turned = swaps({ '===': '!==', '!==': '===', '<': '>=', '<=': '>', '>': '<=', '>=': '<' });
const shifted = swaps({ '<': '<=', '<=': '<', '>': '>=', '>=': '>' });
const reckoned = swaps({
  '+': '-',
  '-': '+',
  '*': '/',
  '/': '*',
  '%': '*',
  '+=': '-=',
  '-=': '+=',
});
const combined = swaps({ '&&': '||', '||': '&&' });
const asked = swaps({ some: 'every', every: 'some', min: 'max', max: 'min' });
/** Their argument says yes or no. */
const predicates = new Set(['filter', 'some', 'every', 'find', 'findIndex', 'findLast']);

function isComparison(node: Syntax): boolean {
  return node.type === 'BinaryExpression' && turned.has(String(node['operator']));
}

/**
 * Text is put together, not numbers. What it says is for people, and no fault of the kinds that are
 * looked for here.
 */
function isText(node: Syntax): boolean {
  return (
    node.type === 'TemplateLiteral' ||
    (node.type === 'Literal' && typeof node['value'] === 'string') ||
    (node.type === 'BinaryExpression' &&
      (isText(bare(part(node, 'left'))) || isText(bare(part(node, 'right')))))
  );
}

class Search {
  readonly found: Fault[] = [];
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  look(node: Syntax, place: Place): void {
    this.#faultsAt(node, place);
    for (const [name, inner] of partsOf(node)) this.look(inner, placeOf(node, name, inner, place));
  }

  #faultsAt(node: Syntax, place: Place): void {
    if (place.condition && isLeaf(node))
      this.#put('condition negated', node, `!(${this.#of(node)})`, place);
    if (node.type === 'BinaryExpression') this.#compare(node, place);
    else if (node.type === 'LogicalExpression') this.#combine(node, place);
    else if (node.type === 'UnaryExpression') this.#unary(node, place);
    else if (node.type === 'AssignmentExpression') this.#swap('reckoned', node, reckoned, place);
    else if (node.type === 'CallExpression') this.#call(node, place);
    else if (node.type === 'Literal' && typeof node['value'] === 'boolean')
      this.#put('literal', node, String(!node['value']), place);
  }

  #compare(node: Syntax, place: Place): void {
    this.#swap('comparison turned', node, turned, place);
    this.#swap('boundary', node, shifted, place);
    if (!isText(node)) this.#swap('reckoned', node, reckoned, place);
  }

  /**
   * In a spread, `a === b || {…}` and `a !== b && {…}` are the same: the second is found at the
   * condition.
   */
  #combine(node: Syntax, place: Place): void {
    if (node['operator'] === '??')
      this.#put('fallback dropped', node, this.#of(part(node, 'left')), place);
    else if (!place.spread) this.#swap('&& for ||', node, combined, place);
  }

  #unary(node: Syntax, place: Place): void {
    const argument = part(node, 'argument');
    if (node['operator'] === '!' && !isComparison(bare(argument)))
      this.#put('condition negated', node, this.#of(argument), place);
  }

  #call(node: Syntax, place: Place): void {
    const callee = part(node, 'callee');
    if (callee.type !== 'MemberExpression' || callee['computed'] === true) return;
    const object = part(callee, 'object');
    const property = part(callee, 'property');
    const name = String(property['name']);
    const other = asked.get(name);
    const before = this.#text.slice(node.start, property.start);
    if (other !== undefined)
      this.#put(
        'some for every',
        node,
        `${before}${other}${this.#text.slice(property.end, node.end)}`,
        place,
      );
    else if (name === 'filter') {
      // `a?.filter(f).b` becomes `a?.b`.
      const goesOn = callee['optional'] === true && this.#text[node.end] === '.';
      this.#put('filter dropped', node, this.#of(object) + (goesOn ? '?' : ''), place);
    }
  }

  #swap(kind: string, node: Syntax, by: Swaps, place: Place): void {
    const other = by.get(String(node['operator']));
    if (other === undefined) return;
    const [left, right] = [this.#of(part(node, 'left')), this.#of(part(node, 'right'))];
    this.#put(kind, node, `${left} ${other} ${kind === '&& for ||' ? `(${right})` : right}`, place);
  }

  /**
   * A link of an optional chain cannot be cut out of it: the whole chain is replaced by one with
   * the fault in it.
   */
  #put(kind: string, { start, end }: Syntax, by: string, { chain }: Place): void {
    if (chain === undefined) this.found.push({ kind, start, end, by });
    else {
      const text = `${this.#text.slice(chain.start, start)}${by}${this.#text.slice(end, chain.end)}`;
      this.found.push({ kind, start: chain.start, end: chain.end, by: text });
    }
  }

  #of({ start, end }: Syntax): string {
    return this.#text.slice(start, end);
  }
}

const covered = new Set([
  'ParenthesizedExpression',
  'LogicalExpression',
  'ChainExpression',
  'ConditionalExpression',
  'AwaitExpression',
  'ArrowFunctionExpression',
]);

/** A condition that has no operator of its own that another fault would turn. */
function isLeaf(node: Syntax): boolean {
  return (
    !covered.has(node.type) &&
    !isComparison(node) &&
    !(node.type === 'UnaryExpression' && node['operator'] === '!') &&
    !(node.type === 'Literal' && typeof node['value'] === 'boolean')
  );
}

const tested = new Set([
  'IfStatement',
  'ConditionalExpression',
  'WhileStatement',
  'DoWhileStatement',
  'ForStatement',
]);

function isPredicate(node: Syntax): boolean {
  const callee = node['callee'];
  return (
    isSyntax(callee) &&
    isSyntax(callee['property']) &&
    predicates.has(String(callee['property']['name']))
  );
}

function isCondition(node: Syntax, name: string, inner: Syntax, place: Place): boolean {
  if (tested.has(node.type))
    return name === 'test' || (node.type === 'ConditionalExpression' && place.condition);
  if (node.type === 'LogicalExpression')
    return node['operator'] !== '??' && (name === 'left' || place.condition);
  if (node.type === 'CallExpression')
    return name === 'arguments' && isPredicate(node) && inner.type === 'ArrowFunctionExpression';
  if (node.type === 'ArrowFunctionExpression')
    return name === 'body' && place.condition && inner.type !== 'BlockStatement';
  return (
    place.condition &&
    (node.type === 'ParenthesizedExpression' ||
      node.type === 'ChainExpression' ||
      node.type === 'AwaitExpression')
  );
}

const links = new Set(['object', 'callee', 'expression']);

function placeOf(node: Syntax, name: string, inner: Syntax, place: Place): Place {
  const chain = node.type === 'ChainExpression' ? node : links.has(name) ? place.chain : undefined;
  const condition = isCondition(node, name, inner, place) && inner.type !== 'BlockStatement';
  return {
    condition,
    spread:
      node.type === 'SpreadElement' || (place.spread && node.type === 'ParenthesizedExpression'),
    ...(chain && { chain }),
  };
}

/** Every single fault of the kinds that are planted, in the order of the text. */
export function faultsIn(text: string): readonly Fault[] {
  const search = new Search(text);
  search.look(parse(text), { condition: false, spread: false });
  return search.found.toSorted((a, b) => a.start - b.start || b.end - a.end);
}
