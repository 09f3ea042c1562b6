import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { VirtualClock } from '@drydock/utils';
import { ServerClock } from './connect.ts';

const start = Temporal.Instant.from('2026-11-27T08:00:00Z');

/**
 * A base clock at 08:00:00, and answers of a server that is ahead of it by so many milliseconds.
 */
function workplace() {
  const base = new VirtualClock(start);
  const clock = new ServerClock(base);
  const answer = (aheadMs: number, tookMs = 20): void => {
    const sentAt = base.now();
    const answeredAt = sentAt.add({ milliseconds: tookMs });
    const told = sentAt.add({ milliseconds: aheadMs + Math.floor(tookMs / 2) });
    clock.observe(new Date(told.epochMilliseconds).toUTCString(), sentAt, answeredAt);
  };
  return {
    base,
    clock,
    answer,
    aheadMs: () => clock.now().epochMilliseconds - base.now().epochMilliseconds,
  };
}

describe('timestamps of objects are compared with the API server’s time', () => {
  for (const aheadMs of [-86_400_000, -60_000, -5000, 5000, 60_000, 86_400_000])
    test(`a server that is ahead by ${aheadMs} ms: to the second after one answer, and better after some`, async () => {
      const { base, answer, aheadMs: seen } = workplace();
      answer(aheadMs);
      assert.ok(Math.abs(seen() - aheadMs) <= 1020, `${seen()}`);
      for (let round = 0; round < 20; round += 1) {
        await base.advance(170);
        answer(aheadMs);
      }
      assert.ok(Math.abs(seen() - aheadMs) <= 200, `${seen()}`);
    });

  test('clocks that agree are left as they are, whatever an answer takes', async () => {
    const { base, answer, aheadMs } = workplace();
    for (const tookMs of [1, 50, 999, 30_000, 10]) {
      answer(0, tookMs);
      await base.advance(37);
      assert.equal(aheadMs(), 0);
    }
  });

  test('before the first answer, and without a Date that can be read, it is the base clock', () => {
    const { base, clock, aheadMs } = workplace();
    for (const date of [
      undefined,
      '',
      'yesterday',
      '2020-01-01T00:00:00Z',
      'Fri, 27 Nov 2026 07:00:00',
      '1',
    ])
      clock.observe(date, base.now(), base.now());
    assert.equal(aheadMs(), 0);
  });

  test('a clock that is set meanwhile, and another server, are followed', () => {
    const { answer, aheadMs } = workplace();
    answer(60_000);
    answer(0);
    assert.ok(Math.abs(aheadMs()) <= 1020);
    answer(-60_000);
    assert.ok(Math.abs(aheadMs() + 60_000) <= 1020);
  });

  test('a slow answer says little, and takes nothing back of what is known', () => {
    const { answer, aheadMs } = workplace();
    answer(60_000);
    const before = aheadMs();
    answer(60_000, 20_000);
    assert.equal(aheadMs(), before);
  });
});

test('durations are those of the base clock', async () => {
  const { base, clock, answer } = workplace();
  answer(60_000);
  const ran: string[] = [];
  clock.after(500, () => ran.push('later'));
  const slept = clock.sleep(300).then(() => ran.push('slept'));
  await base.advance(400);
  await slept;
  assert.deepEqual(ran, ['slept']);
  await base.advance(200);
  assert.deepEqual(ran, ['slept', 'later']);
});
