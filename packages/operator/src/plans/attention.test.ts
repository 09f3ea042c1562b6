import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VirtualClock } from '@drydock/utils';
import { Attention } from './status-throttle.ts';

test('time is watched as long as the process runs, acts, and has the same clock', async () => {
  const clock = new VirtualClock();
  const acts = { is: true };
  let marks = 0;
  const attention = new Attention(
    clock,
    () => acts.is,
    () => `m${(marks += 1)}`,
  );
  attention.begin();
  const first = attention.mark();
  await clock.advance(3_600_000);
  assert.equal(attention.mark(), first, 'nothing has happened, and it was there');
  acts.is = false;
  await clock.advance(60_000);
  acts.is = true;
  const second = attention.mark();
  assert.notEqual(second, first, 'another one may have acted');
  attention.end();
  await clock.advance(60_000);
  const third = attention.mark();
  assert.notEqual(third, second, 'it did not run, as far as it can tell');
  assert.equal(attention.mark(), third);
});
