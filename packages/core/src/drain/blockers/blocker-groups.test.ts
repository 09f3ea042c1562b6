import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type BlockerSummary, groupBlockers } from './blocker.ts';

function blocked(what: string, over: Partial<BlockerSummary> = {}): BlockerSummary {
  return {
    reason: 'DisruptionBudget',
    what,
    message: 'no',
    ...over,
  };
}

test('blockers with the same message and remedy are one matter, in the order in which they come, sorted within', () => {
  assert.deepEqual(
    groupBlockers([
      blocked('shop/c'),
      blocked('shop/b', { remedy: 'scale up' }),
      blocked('shop/a', { since: '2026-11-21T08:00:00Z' }),
      blocked('shop/d', { message: 'never' }),
    ]),
    [
      { reason: 'DisruptionBudget', message: 'no', whats: ['shop/a', 'shop/c'] },
      { reason: 'DisruptionBudget', message: 'no', remedy: 'scale up', whats: ['shop/b'] },
      { reason: 'DisruptionBudget', message: 'never', whats: ['shop/d'] },
    ],
  );
  assert.deepEqual(groupBlockers([]), []);
});

test('an empty remedy is no remedy', () => {
  assert.deepEqual(groupBlockers([blocked('shop/a'), blocked('shop/b', { remedy: '' })]), [
    { reason: 'DisruptionBudget', message: 'no', whats: ['shop/a', 'shop/b'] },
  ]);
});
