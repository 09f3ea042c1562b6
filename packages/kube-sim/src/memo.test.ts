import assert from 'node:assert/strict';
import { test } from 'node:test';
import { freeze, memoizeOnObject, withFacts } from './object.ts';

type Thing = { readonly name: string };

function counting() {
  const asked: string[] = [];
  const find = memoizeOnObject(({ name }: Thing) => {
    asked.push(name);
    return name.length;
  });
  return { asked, find };
}

test('of something stored it is found once, of each version of it anew', () => {
  const { asked, find } = counting();
  const stored = freeze(withFacts({ name: 'one' }));
  assert.deepEqual([find(stored), find(stored), asked], [3, 3, ['one']]);
  const next = freeze(withFacts({ ...stored, name: 'other' }));
  assert.deepEqual([find(next), find(stored), find(next), asked], [5, 3, 5, ['one', 'other']]);
});

test('a copy that is changed has none of it, and a draft is asked each time', () => {
  const { asked, find } = counting();
  const stored = freeze(withFacts({ name: 'one' }));
  find(stored);
  const draft: { name: string } = { ...stored };
  assert.equal(find(draft), 3);
  draft.name = 'three';
  assert.deepEqual([find(draft), asked.length], [5, 3]);
});

test('parts that are frozen have no place for facts, and are asked once all the same', () => {
  const { asked, find } = counting();
  const part = Object.freeze({ name: 'part' });
  assert.deepEqual([find(part), find(part), asked], [4, 4, ['part']]);
});

test('what two ask is kept apart, and nobody sees it', () => {
  const [one, other] = [
    memoizeOnObject(({ name }: Thing) => name.length),
    memoizeOnObject(({ name }: Thing) => `${name}!`),
  ];
  const stored = freeze(withFacts({ name: 'x' }));
  assert.deepEqual([one(stored), other(stored), one(stored), other(stored)], [1, 'x!', 1, 'x!']);
  assert.deepEqual(
    [stored, Reflect.ownKeys(stored), JSON.stringify(stored)],
    [{ name: 'x' }, ['name'], '{"name":"x"}'],
  );
});
