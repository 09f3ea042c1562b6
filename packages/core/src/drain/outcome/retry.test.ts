import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { secondsBetween } from '@drydock/apimachinery';
import { at } from '../../testing/make.ts';
import { type Attempt, type EvictionOutcome, retryAt } from './eviction-outcome.ts';

/** How long a pod is left alone after it was asked for. */
function pause(outcome: EvictionOutcome, tries: number, uid = 'u'): number {
  const attempt: Attempt = { method: 'evict', outcome, at: at(0), tries };
  return secondsBetween(at(0), retryAt(attempt, uid));
}
const going: EvictionOutcome = { kind: 'namespaceTerminating', message: '' };
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
      const pauses: readonly number[] = uids.map(uid => pause(going, tries, uid));
      const [shortest, longest] = [Math.min(...pauses) / seconds, Math.max(...pauses) / seconds];
      assert.ok(shortest >= 0.799 && shortest < 0.83, `try ${tries}: ${shortest}`);
      assert.ok(longest <= 1.201 && longest > 1.17, `try ${tries}: ${longest}`);
    }
  });

  test('is spread over the pods, so that they do not all come back at once', () => {
    assert.ok(new Set(uids.map(uid => pause(going, 3, uid))).size > 250);
  });

  test('is spread by FNV-1a of the uid and the try, the same in every replica and release', () => {
    // FNV-1a of 127.0.0.1 is 0x08a3d11e: 0.0337 of the way from 48 to 72 s.
    assert.equal(pause({ kind: 'notMigratable', message: '' }, 1, '127.0.0.'), 48.81);
  });

  test('is what is asked for when that is longer, by the server, a webhook, or whoever fails to answer', () => {
    for (const kind of ['throttled', 'denied', 'webhookFailed', 'failed'] as const) {
      const asked = (retryAfterSeconds: number): number =>
        pause({ kind, message: '', retryAfterSeconds }, 1);
      assert.equal(asked(7), 7, kind);
      assert.equal(asked(0.1), pause({ kind, message: '' }, 1), kind);
    }
  });

  test('is short for a pod whose eviction was to take nothing from its budget: no change of that would wake it', () => {
    const budget: EvictionOutcome = { kind: 'budget', message: '', retryAfterSeconds: 10 };
    const waits = (tries: number, more: Partial<Attempt> = {}): number =>
      secondsBetween(
        at(0),
        retryAt({ method: 'evict', outcome: budget, at: at(0), tries, ...more }, 'u'),
      );
    assert.equal(waits(1), 10);
    assert.ok(waits(100) <= 36);
    assert.ok(waits(100, { budgetSeen: 'shop/web@1' }) >= 240);
  });

  test('stays short where nothing tells that the answer would be another one: a lifted policy, a webhook that is repaired', () => {
    const longest = (kind: 'denied' | 'webhookFailed', tries: number): number =>
      Math.max(...uids.map(uid => pause({ kind, message: '' }, tries, uid)));
    for (const tries of [1, 2, 10, 1000]) {
      assert.ok(longest('denied', tries) <= 12, `denied, try ${tries}`);
      assert.ok(longest('webhookFailed', tries) < 5, `webhook, try ${tries}`);
    }
    assert.ok(Math.min(...uids.map(uid => pause({ kind: 'denied', message: '' }, 1, uid))) >= 4);
  });
});
