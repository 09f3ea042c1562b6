import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Json } from '@drydock/apimachinery';
import fc from 'fast-check';
import { anyVariables, compile } from './check.ts';
import { evaluate } from './evaluate/evaluate.ts';

/**
 * Expressions of an author who means harm: each ends as an error, after a bounded number of steps,
 * and is never thrown.
 */

function outcome(
  source: string,
  bindings: Readonly<Record<string, Json | Temporal.Instant>> = {},
  steps?: number,
): unknown {
  const compiled = compile(source, anyVariables(Object.keys(bindings)));
  if (compiled.kind === 'wrong') return compiled.message.split('\n')[0];
  const result = evaluate(compiled.program, bindings, steps === undefined ? undefined : { steps });
  return result.kind === 'value' ? result.value : new Error(result.message);
}

const exceeded = new Error('operation cancelled: actual cost limit exceeded');
const tooDeep = /^ERROR: <input>:1:\d+: expression recursion limit exceeded: 250$/;
const numbers = `[${Array.from({ length: 30 }, (_, index) => index).join(', ')}]`;
const many: Json = Array.from({ length: 100_000 }, (_, index) => index);
const map: Json = Object.fromEntries(
  Array.from({ length: 10_000 }, (_, index) => [`key${index}`, index]),
);
const long = 'a'.repeat(20_000);

test('expressions that nest too deeply are refused', () => {
  assert.match(String(outcome('('.repeat(20_000) + '1' + ')'.repeat(20_000))), tooDeep);
  assert.match(String(outcome(`${'!'.repeat(90_000)}true`)), tooDeep);
  assert.match(String(outcome(`${'['.repeat(300)}${']'.repeat(300)}`)), tooDeep);
  assert.match(String(outcome(Array.from({ length: 300 }, () => '1').join(' + '))), tooDeep);
  assert.match(String(outcome(`node${'.a'.repeat(300)}`, { node: {} })), tooDeep);
  assert.match(String(outcome(`true${' ? true : true'.repeat(300)}`)), tooDeep);
});

test('as many conditions as anybody writes are one expression', () =>
  assert.equal(outcome(Array.from({ length: 10_000 }, () => 'true').join(' && ')), true));

test('a source that is too long is refused; what counts are its code points', () => {
  const smiles = (count: number): string => `'${'\u{1f600}'.repeat(count)}' != ''`;
  const around = smiles(0).length;
  for (const source of [' '.repeat(100_001), smiles(100_001 - around)])
    assert.match(
      String(outcome(source)),
      /expression code point size exceeds limit: size: 100001, limit 100000/,
    );
  assert.equal(outcome(smiles(100_000 - around)), true);
});

for (const [name, source] of [
  [
    'macros in macros',
    `${numbers}.all(a, ${numbers}.all(b, ${numbers}.all(c, ${numbers}.all(d, ${numbers}.all(e, a + b + c + d + e >= 0)))))`,
  ],
  [
    'strings that double',
    Array.from({ length: 28 }).reduce<string>(
      inner => `[${inner}].map(x, x + x)[0]`,
      "'aaaaaaaaaa'",
    ),
  ],
  ['lists that double', `[[1]]${'.map(x, x + x)'.repeat(30)}.size() > 0`],
  [
    'comparisons of such',
    `[[1]]${'.map(x, [x, x])'.repeat(30)} == [[1]]${'.map(x, [x, x])'.repeat(30)}`,
  ],
  ['texts of such', `'%s'.format([[[1]]${'.map(x, [x, x])'.repeat(30)}])`],
  ['replacements that grow', `['${'a'.repeat(100)}'].map(a, a${'.replace("a", a)'.repeat(6)})`],
  [
    'searches',
    `[1, 2, 3, 4, 5, 6, 7, 8].all(x, !long.contains(long + 'b') && long.lastIndexOf(long + 'b') == -1)`,
  ],
  ['failures that are forgiven', 'many.all(x, 1 / 0 > 0)'],
  ['large lists', 'many.all(x, many.all(y, y >= 0))'],
  ['sets', 'sets.contains(many, many)'],
  ['elements', 'many.all(x, x in many)'],
  ['sizes of maps', 'many.all(x, map.size() > 0)'],
  ['sums', 'many.all(x, many.sum() > 0)'],
  ['regular expressions', 'many.all(x, long.matches("(x?){900}y{0,3}z"))'],
] as const)
  test(`a budget ends ${name}`, () => {
    const bindings: Readonly<Record<string, Json>> = { many, map, long };
    assert.deepEqual(outcome(source, bindings), exceeded);
    // Nothing forgives that the budget is used up.
    assert.deepEqual(outcome(`true || (${source}) == 1`, bindings), true);
    assert.deepEqual(outcome(`(${source}) == 1 || true`, bindings), exceeded);
    assert.deepEqual(outcome(`[1].exists(x, (${source}) == 1 || true)`, bindings), exceeded);
  });

test('a budget ends results that are small and print large', () => {
  assert.deepEqual(outcome(`[[1]]${'.map(x, [x, x])'.repeat(30)}`), exceeded);
  assert.deepEqual(outcome('many.map(x, long)', { many, long }), exceeded);
  assert.deepEqual(outcome("{'a': many}.transformMap(k, v, long)", { many, long }), { a: long });
});

test('regular expressions follow all ways at once', () => {
  assert.equal(outcome(`'${'a'.repeat(1000)}!'.matches('(a+)+$')`), false);
  assert.equal(outcome(`'${'x'.repeat(1000)}'.matches('(x+x+)+y')`), false);
  assert.equal(outcome(`'${'a'.repeat(100)}'.matches('(a|aa)+$')`), true);
  assert.equal(outcome(`'${'a'.repeat(30)}'.matches('(a?){30}a{30}')`), true);
});

test('the budget can be another one', () => {
  assert.deepEqual(outcome('[1, 2, 3].all(x, x > 0)', {}, 5), exceeded);
  assert.equal(outcome('[1, 2, 3].all(x, x > 0)', {}, 50), true);
});

test('a value that is deeper than any stack is an error', () => {
  let deep: Json = 1;
  for (let level = 0; level < 100_000; level += 1) deep = [deep];
  assert.deepEqual(outcome('deep == deep', { deep }), new Error('evaluation nests too deeply'));
});

test('an expression about a node that is due', () => {
  const node = {
    metadata: { creationTimestamp: '2026-01-02T03:04:05Z', labels: { 'drydock.dev/pool': 'a' } },
    status: { conditions: [{ type: 'Ready', status: 'True' }] },
  };
  const now = Temporal.Instant.from('2026-02-02T03:04:06Z');
  const due =
    "now - timestamp(node.metadata.creationTimestamp) > duration('744h') && node.status.conditions.exists(c, c.type == 'Ready' && c.status == 'True')";
  assert.equal(outcome(due, { node, now }), true);
  assert.equal(outcome(due, { node, now: now.subtract({ seconds: 1 }) }), false);
  // It costs a few dozens of steps.
  assert.equal(outcome(due, { node, now }, 60), true);
});

test('a result is JSON', () => {
  assert.deepEqual(outcome("{'a': [1, 2u, 1.5, true, null, 'x'], 'b': b'ab'}"), {
    a: [1, 2, 1.5, true, null, 'x'],
    b: 'YWI=',
  });
  assert.deepEqual(
    outcome(
      "[duration('90m'), timestamp('2026-01-01T00:00:00Z'), type(1), optional.none(), optional.of(1), {1: 2}]",
    ),
    ['5400s', '2026-01-01T00:00:00Z', 'int', null, 1, { 1: 2 }],
  );
  assert.deepEqual(outcome('[9223372036854775807, 9007199254740991]'), [
    '9223372036854775807',
    9007199254740991,
  ]);
  assert.deepEqual(
    outcome('now', { now: Temporal.Instant.from('2026-01-01T00:00:00Z') }),
    '2026-01-01T00:00:00Z',
  );
  assert.deepEqual(outcome("quantity('1Gi')"), new Error('a result of this type cannot be used'));
  assert.deepEqual(Object.getPrototypeOf(outcome("{'__proto__': 1}")), Object.prototype);
});

test('what cannot be evaluated is refused before it is, with its place', () => {
  assert.equal(
    outcome('nodes.a', { node: {} }),
    "ERROR: <input>:1:1: undeclared reference to 'nodes' (in container '')",
  );
  assert.equal(
    outcome('true &&\n  node.a.dance()', { node: {} }),
    "ERROR: <input>:2:9: undeclared reference to 'dance' (in container '')",
  );
  assert.equal(
    outcome("'a'.contains()"),
    "ERROR: <input>:1:4: found no matching overload for 'contains' applied to 0 arguments",
  );
  assert.equal(
    outcome('[1].all(x.y, true)'),
    'ERROR: <input>:1:10: all() variable name must be a simple identifier',
  );
  assert.equal(outcome('9223372036854775808'), 'ERROR: <input>:1:1: invalid int literal');
  assert.equal(
    outcome('node.a == 1 &&', { node: {} }),
    "ERROR: <input>:1:15: Syntax error: mismatched input '<EOF>'",
  );
});

/** Expressions that are nearly always wrong in one way or another. */
const { expression } = fc.letrec<{ expression: string }>(tie => {
  const inner = tie('expression');
  const names =
    `size startsWith indexOf substring split replace join format matches charAt lastIndexOf sum min max isSorted getHours getMonth hasValue value
    orValue or isLessThan compareTo add asInteger major first reverse lowerAscii trim`.split(/\s+/);
  const globals =
    'int uint double string bytes bool timestamp duration type dyn size quantity semver isSemver optional.of optional.ofNonZeroValue strings.quote'.split(
      ' ',
    );
  return {
    expression: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      fc.constantFrom(
        ...`1 0 -1 9223372036854775807 -9223372036854775808 2u 18446744073709551615u 1.5 -0.0 1e308 true false null '' 'a' 'ä😀' '%s %d %f %e %x' '(a+)+$' '1h' '1.2.3' '1Gi' '+01:00'
        b'\\xff' [] {} node now x int optional.none() double('NaN') timestamp('2026-01-01T00:00:00Z') duration('-1h')`.split(
          /\s+(?=[^%]|$)/,
        ),
      ),
      fc
        .tuple(
          inner,
          fc.constantFrom('+', '-', '*', '/', '%', '==', '!=', '<', '<=', 'in', '&&', '||'),
          inner,
        )
        .map(([a, operator, b]) => `(${a} ${operator} ${b})`),
      fc
        .tuple(inner, fc.constantFrom(...names), fc.array(inner, { maxLength: 3 }))
        .map(([on, name, args]) => `${on}.${name}(${args.join(', ')})`),
      fc
        .tuple(fc.constantFrom(...globals), inner)
        .map(([name, argument]) => `${name}(${argument})`),
      fc
        .tuple(
          inner,
          fc.constantFrom('all', 'exists', 'exists_one', 'filter', 'map', 'optMap', 'optFlatMap'),
          inner,
        )
        .map(([on, name, body]) => `${on}.${name}(x, ${body})`),
      fc
        .tuple(inner, fc.constantFrom('transformList', 'transformMap', 'all'), inner)
        .map(([on, name, body]) => `${on}.${name}(k, x, ${body})`),
      fc
        .tuple(inner, fc.constantFrom('.a', '.?a', '[0]', '[?0]', "['a']", '.a.b'))
        .map(([on, selection]) => on + selection),
      fc.array(inner, { maxLength: 3 }).map(items => `[${items.join(', ')}]`),
      fc.tuple(inner, inner).map(([key, value]) => `{${key}: ${value}}`),
      fc.tuple(inner, inner, inner).map(([test, yes, no]) => `(${test} ? ${yes} : ${no})`),
      fc.tuple(fc.constantFrom('!', '-'), inner).map(([sign, of]) => sign + of),
    ),
  };
});

test('whatever an expression is, it has an outcome, and always the same one', () =>
  fc.assert(
    fc.property(expression, source => {
      const now = Temporal.Instant.from('2026-01-01T00:00:00Z');
      const bindings = { node: { a: { b: [1, 2.5, 'a', null, { c: true }] } }, now, x: [1, 'a'] };
      const [first, second] = [outcome(source, bindings, 5000), outcome(source, bindings, 5000)];
      assert.deepEqual(first, second);
      if (!(first instanceof Error)) assert.equal(typeof JSON.stringify(first), 'string');
    }),
    { numRuns: 3000 },
  ));
