import assert from 'node:assert/strict';
import { test } from 'node:test';
import { joinLimited, truncate } from './text.ts';

test('of many only a few are named, and how many more there are', () => {
  assert.equal(joinLimited(['a', 'b'], 2), 'a, b');
  assert.equal(joinLimited(['a', 'b', 'c'], 2), 'a, b and 1 more');
});

test('a text that is too long is cut, and says so', () => {
  assert.equal(truncate('abcd', 4), 'abcd');
  assert.equal(truncate('abcde', 4), 'abc…');
  assert.equal(truncate('a'.repeat(2000)).length, 1000);
});
