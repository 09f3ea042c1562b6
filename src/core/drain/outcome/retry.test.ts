import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { at } from '../../testing/make.ts';
import { secondsBetween } from '../../time.ts';
import type { EvictionOutcome } from './eviction-outcome.ts';
import { type Attempt, retryAt } from './retry.ts';

/** How long a pod is left alone after it was asked for. */
const pause = (outcome: EvictionOutcome, tries: number, uid = 'u'): number => {
  const attempt: Attempt = { method: 'evict', outcome, at: at(0), tries };
  return secondsBetween(at(0), retryAt(attempt, uid));
};
const denied: EvictionOutcome = { kind: 'denied', message: '' };
const uids = Array.from({ length: 300 }, (_, index) => `uid-${index}`);

describe('the pause after a try', () => {
  test('doubles from try to try up to the longest, and is up to a fifth shorter or longer', () => {
    for (const [tries, seconds] of [
      [1, 5],
      [2, 10],
      [3, 20],
      [6, 160],
      [7, 300],
      [1000, 300],
    ] as const) {
      const pauses: readonly number[] = uids.map(uid => pause(denied, tries, uid));
      const [shortest, longest] = [Math.min(...pauses) / seconds, Math.max(...pauses) / seconds];
      assert.ok(shortest >= 0.799 && shortest < 0.83, `try ${tries}: ${shortest}`);
      assert.ok(longest <= 1.201 && longest > 1.17, `try ${tries}: ${longest}`);
    }
  });

  test('is spread over the pods, so that they do not all come back at once', () => {
    assert.ok(new Set(uids.map(uid => pause(denied, 3, uid))).size > 250);
  });

  test('is spread by FNV-1a of the uid and the try, the same in every replica and release', () => {
    // FNV-1a of 127.0.0.1 is 0x08a3d11e: 0.0337 of the way from 48 to 72 s.
    assert.equal(pause({ kind: 'notMigratable', message: '' }, 1, '127.0.0.'), 48.81);
  });

  test('is what the server asks for when that is longer', () => {
    const throttled = (retryAfterSeconds: number): number => pause({ kind: 'throttled', message: '', retryAfterSeconds }, 1);
    assert.equal(throttled(7), 7);
    assert.equal(throttled(0.1), pause({ kind: 'throttled', message: '' }, 1));
  });
});
