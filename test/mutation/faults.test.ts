import assert from 'node:assert/strict';
import { stripTypeScriptTypes } from 'node:module';
import { test } from 'node:test';
import { faultsIn } from './faults.ts';
import { type Mutant, mutantsOf, plant, titleOf } from './schemata.ts';

function shown(text: string): readonly string[] {
  return faultsIn(text).map(({ start, end, by }) => `${text.slice(start, end)} → ${by}`);
}

const table: readonly (readonly [string, readonly string[]])[] = [
  ['f(a < b);', ['a < b → a >= b', 'a < b → a <= b']],
  ['f(a === b);', ['a === b → a !== b']],
  ['f(a && b);', ['a && b → a || (b)', 'a → !(a)']],
  ['if (a) f();', ['a → !(a)']],
  ['if (!a) f();', ['!a → a']],
  ['if (!(a === b)) f();', ['a === b → a !== b']],
  ['f(a ? b : c);', ['a → !(a)']],
  ['f(a ?? b);', ['a ?? b → a']],
  ['f(xs.some(x => x.on));', ['xs.some(x => x.on) → xs.every(x => x.on)', 'x.on → !(x.on)']],
  ['f(xs.filter(x => x.on).length);', ['xs.filter(x => x.on) → xs', 'x.on → !(x.on)']],
  ['f(xs?.filter(g).length);', ['xs?.filter(g).length → xs?.length']],
  ['f(Math.min(1, 2));', ['Math.min(1, 2) → Math.max(1, 2)']],
  ['f(a + 1);', ['a + 1 → a - 1']],
  ['a += 1;', ['a += 1 → a -= 1']],
  ['f({ on: true });', ['true → false']],
  ['f({ ...(a !== undefined && { a }) });', ['a !== undefined → a === undefined']],
  // What is no fault: text that is put together, types, comments, and names that only look like
  // operators.
  ['f("a" + b + `c`);', []],
  ['type A = B extends true ? C : D; const a: A | undefined = f<true>();', []],
  ['// a < b\nf(1 as const);', []],
  ['f(x.toString(), x.constructor());', []],
];

for (const [text, faults] of table)
  test(`the faults of ${text}`, () => assert.deepEqual(shown(text), faults));

const source = `
const isOld = (age: number | undefined, limit = 18 + 3): boolean => age !== undefined && age > limit;
const names = (list?: readonly { name: string; old?: boolean }[]): readonly string[] =>
  list?.filter(one => !one.old && one.name !== '').map(({ name }) => name) ?? [];
export const all = (age: number | undefined) => [isOld(age), isOld(age, 30), names(), names([{ name: 'a' }, { name: '', old: true }])];
`;

/** What the planted source says with one fault awake. */
async function run(awake: string, age: number | undefined): Promise<unknown> {
  const asked = `const planted = id => id === ${JSON.stringify(awake)};`;
  const text = stripTypeScriptTypes(plant(source, mutantsOf('x', source)));
  const { all } = (await import(`data:text/javascript,${encodeURIComponent(asked + text)}`)) as {
    all: (age: number | undefined) => unknown;
  };
  return all(age);
}

test('with all faults asleep, the planted text does what the text does', async () => {
  assert.deepEqual(await run('', 25), [true, false, [], ['a']]);
  assert.deepEqual(await run('', undefined), [false, false, [], ['a']]);
});

test('each fault, awake, is that one and no other', async () => {
  const awake = (title: string): Mutant => {
    const found = mutantsOf('x', source).find(mutant => titleOf(mutant) === title);
    assert.ok(found, title);
    return found;
  };
  assert.deepEqual(await run(awake('age > limit → age <= limit').id, 25), [false, true, [], ['a']]);
  assert.deepEqual(await run(awake('18 + 3 → 18 - 3').id, 20), [true, false, [], ['a']]);
  assert.deepEqual(await run(awake('!one.old → one.old').id, 25), [true, false, [], []]);
  const dropped = mutantsOf('x', source).find(({ kind }) => kind === 'filter dropped');
  assert.deepEqual(await run(dropped?.id ?? '', 25), [true, false, [], ['a', '']]);
});

test('a fault keeps its title when lines have moved, and knows its line', () => {
  const lines = (text: string) =>
    mutantsOf('x', text).map(mutant => [mutant.line, titleOf(mutant)]);
  assert.deepEqual(lines('f(a <\n  b);'), [
    [1, 'a < b → a >= b'],
    [1, 'a < b → a <= b'],
  ]);
  assert.deepEqual(lines('\n\nf(a < b);')[0], [3, 'a < b → a >= b']);
});
