import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VirtualClock } from '@drydock/utils';
import { CpuThrottle } from './cpu-throttle.ts';

/** Begins after work of so many milliseconds, and says after how many more it has. */
async function restAfter(spans: readonly number[]): Promise<number> {
  const clock = new VirtualClock();
  let nowMs = clock.now().epochMilliseconds;
  const busy = {
    now: () => Temporal.Instant.fromEpochMilliseconds(nowMs),
    sleep: clock.sleep.bind(clock),
    after: clock.after.bind(clock),
  };
  const duty = new CpuThrottle(busy);
  for (const span of spans) {
    assert.equal(
      duty.measured(() => {
        nowMs += span;
        return span;
      }),
      span,
    );
  }
  let begun = false;
  duty.soon(() => {
    begun = true;
  });
  for (let ms = 0; ms < 5000; ms += 1) {
    await Promise.resolve();
    if (begun) return ms;
    await clock.advance(1);
  }
  return Number.POSITIVE_INFINITY;
}

test('work rests for three times as long as it took, a second at most; what took no time goes on at once', async () => {
  assert.deepEqual(
    await Promise.all([[], [0, 0], [2], [2, 3], [900], [-5]].map(restAfter)),
    [0, 0, 6, 15, 1000, 0],
  );
});

test('work that throws took its time too', async () => {
  const clock = new VirtualClock();
  let calls = 0;
  const duty = new CpuThrottle({
    now: () => Temporal.Instant.fromEpochMilliseconds(10 * calls++),
    sleep: clock.sleep.bind(clock),
    after: clock.after.bind(clock),
  });
  assert.throws(() =>
    duty.measured(() => {
      throw new Error('broken');
    }),
  );
  let begun = false;
  duty.soon(() => {
    begun = true;
  });
  await clock.advance(29);
  assert.equal(begun, false);
  await clock.advance(1);
  assert.equal(begun, true);
});
