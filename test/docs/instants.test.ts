import assert from 'node:assert/strict';
import { test } from 'node:test';

test('two times that differ are not equal, wherever they stand (test/instants.ts is loaded)', () => {
  const [one, other] = ['2026-01-01T00:00:00Z', '2026-01-01T00:00:01Z'].map(text =>
    Temporal.Instant.from(text),
  );
  const pairs = [
    [one, other],
    [{ a: [one] }, { a: [other] }],
    [new Map([['a', { at: one }]]), new Map([['a', { at: other }]])],
  ];
  for (const [a, b] of pairs) {
    assert.throws(() => assert.deepEqual(a, b), assert.AssertionError);
    assert.deepEqual(a, a);
  }
  assert.throws(
    () => assert.partialDeepStrictEqual({ a: one, b: 1 }, { a: other }),
    assert.AssertionError,
  );
  assert.deepEqual({ a: one }, { a: Temporal.Instant.from(String(one)) });
});
