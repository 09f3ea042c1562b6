import assert from 'node:assert/strict';
import { test } from 'node:test';
import { apiWarnings } from './install-apply.ts';

test('warnings of an answer are read one by one, with quotes and commas in them', () => {
  assert.deepEqual(apiWarnings(undefined), []);
  assert.deepEqual(apiWarnings('299 - "unknown field \\"spec.x\\""'), ['unknown field "spec.x"']);
  assert.deepEqual(apiWarnings('299 - "one, two", 299 kube-apiserver "three"'), [
    'one, two',
    'three',
  ]);
});

test('what is no warning of an API server is left out', () => {
  for (const header of ['', '199 - "transformed"', '299 - unquoted', '299 - "open'])
    assert.deepEqual(apiWarnings(header), []);
});
