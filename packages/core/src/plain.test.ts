import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  amount,
  compareVersions,
  type Json,
  type JsonObject,
  mergePatch,
  readTime,
  sameJson,
} from '@drydock/apimachinery';
import fc from 'fast-check';
import { applyMerge } from './testing/apply.ts';
import { at } from './testing/make.ts';

/** The small tools that everything stands on. */

const objects = fc.letrec<{ json: Json; object: JsonObject }>(tie => ({
  json: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom<Json>(0, 1, 'a', true, false),
    fc.array(tie('json'), { maxLength: 2 }),
    tie('object'),
  ),
  object: fc.dictionary(fc.constantFrom('a', 'b', 'c'), tie('json'), { maxKeys: 3 }),
})).object;

test('law: the merge patch of two objects turns the one into the other, and there is none where they are the same', () => {
  const holds = (one: JsonObject, other: JsonObject): void => {
    const patch = mergePatch(one, other);
    assert.equal(patch === undefined, sameJson(one, other));
    assert.ok(sameJson(applyMerge(one, patch ?? {}), other));
  };
  fc.assert(fc.property(objects, objects, holds), { numRuns: 1000 });
});

test('a patch removes what is to be null or missing', () => {
  assert.deepEqual(mergePatch({ a: 1, b: 2, c: 3 }, { a: 1, b: null, c: undefined }), {
    b: null,
    c: null,
  });
});

test('a key without a value is a missing key; arrays are compared one by one, and are no objects', () => {
  const rows: readonly (readonly [Json, Json, boolean])[] = [
    [{ a: 1 }, { a: 1, b: undefined }, true],
    [{ a: 1, b: undefined }, { a: 1 }, true],
    [{ a: 1 }, { a: 1, b: 2 }, false],
    [{ a: 1, b: 2 }, { a: 1 }, false],
    [[1, 2], [1, 2], true],
    [[1, 2], [1, 3], false],
    [[1], [1, 2], false],
    [[], {}, false],
    [null, {}, false],
  ];
  for (const [one, other, same] of rows)
    assert.equal(sameJson(one, other), same, JSON.stringify([one, other]));
});

test('quantities are numbers with or without a suffix', () => {
  const rows = [
    ['1', 1],
    ['1500m', 1.5],
    ['2k', 2000],
    ['2Ki', 2048],
    ['1.5Gi', 1.5 * 2 ** 30],
    ['1e3', 1000],
    [7, 7],
    ['x', 0],
    ['', 0],
    [undefined, 0],
    [null, 0],
    [true, 0],
  ] as const;
  for (const [text, value] of rows) assert.equal(amount(text), value, String(text));
});

test('resourceVersions are compared as numbers of any length; what is none tells nothing', () => {
  const order = (one: string, other: string) => Math.sign(compareVersions(one, other));
  assert.deepEqual(
    [order('9', '10'), order('10', '9'), order('10', '10'), order('10', '11'), order('11', '10')],
    [-1, 1, 0, -1, 1],
  );
  assert.deepEqual([order('x', '1'), order('1', 'x'), order('', '')], [0, 0, 0]);
  assert.equal(order('99999999999999999999998', '99999999999999999999999'), -1);
});

test('a time is an instant, and nothing else is', () => {
  assert.equal(readTime('2026-11-21T08:00:00Z')?.toString(), at(0).toString());
  for (const text of ['', 'x', 5, null, undefined]) assert.equal(readTime(text), undefined);
});
