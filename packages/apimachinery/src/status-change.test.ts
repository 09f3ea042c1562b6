import assert from 'node:assert/strict';
import { test } from 'node:test';
import { statusChange } from './status.ts';

test('nothing in a status acts on a terminal, lines stay, and what is stored is not written again', () => {
  const wanted = {
    message: 'denied: \u001b[2J\u202e\nline two',
    conditions: [{ type: 'Ready', message: '\u0007' }],
    drained: 3,
  };
  const stored = {
    message: 'denied: ^[[2J\\u202e\nline two',
    conditions: [{ type: 'Ready', message: '^G' }],
    drained: 3,
  };
  assert.deepEqual(statusChange({}, wanted), stored);
  assert.equal(statusChange(stored, wanted), undefined);
  assert.deepEqual(statusChange({ ...stored, gone: 1 }, wanted), { gone: null });
});
