import assert from 'node:assert/strict';
import { test } from 'node:test';
import { matches } from './selector.ts';

test('an empty selector matches everything, a missing one nothing', () => {
  for (const labels of [{}, { app: 'web' }])
    assert.deepEqual([matches({}, labels), matches(undefined, labels)], [true, false]);
});
