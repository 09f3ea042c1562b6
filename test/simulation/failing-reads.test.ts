import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { FailingReads } from './audit/failing-reads.ts';

/** Fails at these seconds. */
function failing(...seconds: readonly number[]): FailingReads {
  const reads = new FailingReads();
  for (const at of seconds) reads.failed('pods', at * 1000);
  return reads;
}

describe('how late the operator may know of something because its reads fail', () => {
  test('not at all while none fails, or one alone', () => {
    assert.equal(failing().lateMs, 0);
    assert.equal(failing(5).lateMs, 0);
  });

  test('from the first that fails to the one after the last', () =>
    assert.equal(failing(5, 20, 50).lateMs, 45_000 + 31_000));

  test('what was not tried again in time was not wanted any more', () =>
    assert.equal(failing(5, 20, 60, 70).lateMs, 15_000 + 31_000));

  test('one that succeeds begins anew, for its collection alone', () => {
    const reads = failing(0, 30);
    reads.succeeded('nodes');
    reads.failed('pods', 60_000);
    reads.succeeded('pods');
    reads.failed('pods', 80_000);
    assert.equal(reads.lateMs, 60_000 + 31_000);
  });
});
