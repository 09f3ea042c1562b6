import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VirtualClock } from '@drydock/utils';
import { defaultLimits, otherClients, RequestQueue, schedulerClient } from './runner.ts';

const start = Temporal.Instant.from('2026-11-23T08:00:00Z');

/** Writes as soon as it may, until the time is over. */
async function writesIn(
  queue: RequestQueue,
  clock: VirtualClock,
  client: string,
  seconds: number,
): Promise<number> {
  let written = 0;
  const end = clock.now().epochMilliseconds + 1000 * seconds;
  for (;;) {
    const waitMs = queue.waitMs(client);
    if (clock.now().epochMilliseconds + waitMs >= end) return written;
    await clock.advance(waitMs);
    queue.write(client);
    written += 1;
  }
}

test('a controller has its burst and then so many requests a second, and its neighbour the same', async () => {
  const clock = new VirtualClock(start);
  const queue = new RequestQueue(defaultLimits, clock);
  const first = await writesIn(queue, clock, 'replicaset-controller', 10);
  assert.ok(first >= 225 && first <= 230, `30 at once and 20 a second for 10 s: ${first}`);
  const second = await writesIn(queue, clock, 'controllermanager', 1);
  assert.ok(second >= 48 && second <= 50, `a bucket of its own: ${second}`);
  const third = await writesIn(queue, clock, schedulerClient, 1);
  assert.ok(third >= 145 && third <= 150, `100 at once and 50 a second: ${third}`);
});

test('the bucket is full again after a rest, and never fuller', async () => {
  const clock = new VirtualClock(start);
  const queue = new RequestQueue({ controllers: { qps: 10, burst: 5 } }, clock);
  assert.equal(await writesIn(queue, clock, 'x', 0.05), 5);
  await clock.advance(60_000);
  assert.equal(await writesIn(queue, clock, 'x', 0.05), 5);
});

test('what is written without a token is paid back', () => {
  const clock = new VirtualClock(start);
  const queue = new RequestQueue({ controllers: { qps: 10, burst: 5 } }, clock);
  queue.write('x', 10);
  assert.equal(queue.waitMs('x'), 600);
});

test('all clients wait for one API server, each for its own answers', async () => {
  const clock = new VirtualClock(start);
  const queue = new RequestQueue({ writeMs: 10 }, clock);
  assert.equal(queue.write(otherClients, 3), 30);
  assert.equal(queue.waitMs('controllermanager'), 0, 'nothing of its own is under way');
  assert.equal(queue.write('controllermanager'), 40);
  assert.equal(queue.waitMs('controllermanager'), 40, 'it has one worker');
  queue.write('replicaset-controller');
  assert.equal(queue.waitMs('replicaset-controller'), 0, 'it has others');
  await clock.advance(100);
  assert.equal(queue.write(otherClients), 10, 'nothing is left in the queue');
});
