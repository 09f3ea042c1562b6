import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Json, JsonObject } from '@drydock/apimachinery';
import { check, mentions } from './check.ts';
import { evaluate } from './evaluate/evaluate.ts';
import { authorizer } from './evaluate/scope.ts';
import { parse } from './parse/parse.ts';

function computed(source: string, self: Json = {}, oldSelf?: Json): unknown {
  const parsed = parse(source);
  if (parsed.kind === 'wrong') return parsed.message;
  const result = evaluate(parsed.expression, { self, oldSelf });
  return result.kind === 'value' ? result.value : new Error(result.message);
}

const truths: readonly (readonly [source: string, self: Json])[] = [
  ['1 + 2 * 3 == 7 && 7 / 2 == 3 && -7 % 4 == -3', {}],
  ["self.a == 'x' || self.b == 'y'", { b: 'y', a: 'z' }],
  ['has(self.a) && !has(self.b)', { a: 0 }],
  [
    'self.list.all(x, x > 0) && self.list.exists(x, x == 2) && !self.list.exists_one(x, x > 0)',
    { list: [1, 2] },
  ],
  [
    "self.list.filter(x, x.n == 1).size() == 1 && self.list.map(x, x.id) == ['a', 'b']",
    {
      list: [
        { n: 1, id: 'a' },
        { n: 2, id: 'b' },
      ],
    },
  ],
  [
    "'a' in self.map && self.map['a'] == 1 && size(self.map) == 1 && self.map.all(k, k == 'a')",
    { map: { a: 1 } },
  ],
  [
    "self.s.startsWith('ab') && self.s.matches('^[a-c]+$') && self.s.contains('b') && self.s.endsWith(\"c\")",
    { s: 'abc' },
  ],
  ["(self.n > 1 ? 'many' : 'one') == 'many' && 2 in [1, 2]", { n: 2 }],
  ["self.s < 'b' && self.s + 'z' == 'az'", { s: 'a' }],
  ['self.missing == 1 || true', {}],
  [
    "self.?a.b['c'].orValue(7) == 7 && self.?x.y['z'].orValue('none') == 'z'",
    { x: { y: { z: 'z' } } },
  ],
  [
    'self.?list[1].orValue(0) == 5 && self.?list[2].orValue(0) == 0 && dyn(self.list) == [4, 5]',
    { list: [4, 5] },
  ],
];

for (const [source, self] of truths)
  test(`true: ${source}`, () => assert.equal(computed(source, self), true));

test('what is missing, or of another type, is an error and no answer', () => {
  assert.deepEqual(computed('self.a == 1'), new Error('no such key: a'));
  assert.deepEqual(computed('self.a && true', { a: 1 }), new Error('no such overload'));
  assert.deepEqual(computed('1 / self.a', { a: 0 }), new Error('division by zero'));
});

test('an optional value is no value before it is said what is there in its place', () => {
  assert.deepEqual(computed('self.?a == 1', { a: 1 }), new Error('no such overload'));
  assert.deepEqual(
    computed('self.?a[self.b].orValue(1)', { a: { b: 2 } }),
    new Error('no such key: b'),
  );
});

test('the authorizer is asked what is said, and only where there is one', () => {
  const source = "authorizer.group('g').resource('r').namespace('').check('may').allowed()";
  const parsed = parse(source);
  assert.ok(parsed.kind === 'parsed');
  const asked: unknown[] = [];
  const answer = evaluate(parsed.expression, {
    [authorizer]: question => asked.push(question) > 1,
  });
  assert.deepEqual(asked, [{ group: 'g', resource: 'r', namespace: '', check: 'may' }]);
  assert.deepEqual(answer, { kind: 'value', value: false });
  assert.deepEqual(evaluate(parsed.expression, { [authorizer]: () => true }), {
    kind: 'value',
    value: true,
  });
  assert.deepEqual(evaluate(parsed.expression, {}), { kind: 'error', message: 'no such overload' });
  assert.match(problemOf(source) ?? '', /undeclared reference to 'authorizer'|cannot evaluate/);
});

test('a rule about changes is known by its oldSelf', () => {
  const parsed = parse('self.list.all(x, x == oldSelf.a)');
  assert.equal(parsed.kind === 'parsed' && mentions(parsed.expression, 'oldSelf'), true);
  assert.equal(computed('self == oldSelf', 'a', 'a'), true);
});

const schema: JsonObject = {
  type: 'object',
  properties: {
    a: { type: 'string' },
    list: { type: 'array', items: { type: 'object', properties: { n: { type: 'integer' } } } },
  },
};
function problemOf(source: string): string | undefined {
  const parsed = parse(source);
  return parsed.kind === 'wrong' ? parsed.message : check(parsed.expression, source, schema);
}

test('whatever cannot be evaluated is refused, with its place', () => {
  assert.equal(problemOf("self.list.all(x, x.n > 1) && self.a != ''"), undefined);
  assert.equal(
    problemOf('self.zzz == 1'),
    "ERROR: <input>:1:5: undefined field 'zzz'\n | self.zzz == 1\n | ....^",
  );
  assert.match(problemOf('self.list.all(x, x.m > 1)') ?? '', /undefined field 'm'/);
  assert.match(problemOf("url(self.a).getHost() == ''") ?? '', /undeclared reference to '\w+'/);
  assert.match(problemOf('other == 1') ?? '', /undeclared reference to 'other'/);
  assert.match(problemOf('self.a ==') ?? '', /Syntax error/);
  assert.match(problemOf('self.a == 1)') ?? '', /Syntax error/);
  assert.match(problemOf('has(self)') ?? '', /has\(\)/);
});
