import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fewOf, shortened } from './text.ts';

test('of many only a few are named, and how many more there are', () => {
  assert.equal(fewOf(['a', 'b'], 2), 'a, b');
  assert.equal(fewOf(['a', 'b', 'c'], 2), 'a, b and 1 more');
});

test('a text that is too long is cut, and says so', () => {
  assert.equal(shortened('abcd', 4), 'abcd');
  assert.equal(shortened('abcde', 4), 'abc…');
  assert.equal(shortened('a'.repeat(2000)).length, 1000);
});
