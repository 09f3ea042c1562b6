import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Backoff } from './backoff.ts';
import { Deadline, orAborted, VirtualClock } from './clock.ts';
import { errorText } from './panic-handler.ts';

test('back-off doubles to its limit, half of it by chance, and starts anew', () => {
  const waits = (random: number): number[] => {
    const backoff = new Backoff({ firstMs: 1000, longestMs: 30_000, random: () => random });
    return Array.from({ length: 7 }, () => backoff.next());
  };
  assert.deepEqual(waits(0), [500, 1000, 2000, 4000, 8000, 15_000, 15_000]);
  assert.deepEqual(waits(1), [1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
  const backoff = new Backoff({ firstMs: 1000, longestMs: 30_000, random: () => 1 });
  for (let n = 0; n < 9; n += 1) backoff.next();
  assert.equal(backoff.next(10_000), 10_000);
  backoff.reset();
  assert.equal(backoff.next(), 1000);
});

test('a deadline aborts in time, or with the reason of another signal; lifted or disposed of it does not', async () => {
  const clock = new VirtualClock();
  const other = new AbortController();
  const [timed, lifted, disposed] = [1, 2, 3].map(
    () => new Deadline(clock, 1000, [undefined, other.signal]),
  ) as [Deadline, Deadline, Deadline];
  lifted.lift();
  disposed[Symbol.dispose]();
  await clock.advance(1000);
  assert.deepEqual(
    [timed.expired, timed.signal.aborted, lifted.signal.aborted, disposed.signal.aborted],
    [true, true, false, false],
  );
  const reason = new Error('other');
  other.abort(reason);
  assert.deepEqual(
    [lifted.signal.reason, lifted.expired, disposed.signal.aborted],
    [reason, false, false],
  );
  assert.equal(new Deadline(clock, 1000, [other.signal]).signal.reason, reason);
});

test('an error says its message; several tries of one connect say each of theirs; what is no error says itself', () => {
  const tries = new AggregateError([
    new Error('connect ECONNREFUSED ::1'),
    new Error('connect ECONNREFUSED 127.0.0.1'),
  ]);
  assert.equal(errorText(tries), 'connect ECONNREFUSED ::1; connect ECONNREFUSED 127.0.0.1');
  assert.deepEqual(
    [errorText(new Error('no')), errorText(new AggregateError([], 'all')), errorText('text')],
    ['no', 'all', 'text'],
  );
});

test('waiting for a promise ends with the signal', async () => {
  const stop = new AbortController();
  assert.equal(await orAborted(Promise.resolve(1), stop.signal), 1);
  const waiting = assert.rejects(orAborted(new Promise(() => {}), stop.signal), /enough/);
  stop.abort(new Error('enough'));
  await waiting;
});

test('a hand-turned clock runs timers at their own times and in their order', async () => {
  const clock = new VirtualClock();
  const seen: string[] = [];
  const at = (): number => clock.now().epochMilliseconds - Date.parse('2026-01-01T00:00:00Z');
  clock.after(20, () => seen.push(`b ${at()}`));
  clock.after(10, () => {
    seen.push(`a ${at()}`);
    clock.after(5, () => seen.push(`nested ${at()}`));
  });
  clock.after(12, () => seen.push('never'))();
  void clock.sleep(1000).then(() => seen.push('too late'));
  await clock.advance(100);
  assert.deepEqual([seen, at()], [['a 10', 'nested 15', 'b 20'], 100]);
});
