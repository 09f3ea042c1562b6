import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PanicHandler, VirtualClock } from '@drydock/utils';
import { FakeLog, FakeMeter, settle } from './testing/fakes.ts';
import { WorkQueue } from './work-queue.ts';

/** Knows how many timers are open. */
class CountingClock extends VirtualClock {
  readonly open = new Set<object>();

  override after(milliseconds: number, task: () => void): () => void {
    const timer = {};
    this.open.add(timer);
    const cancel = super.after(milliseconds, () => {
      this.open.delete(timer);
      task();
    });
    return () => {
      this.open.delete(timer);
      cancel();
    };
  }
}

/** A queue whose work ends when the test says so. */
function bench(
  options: { readonly atOnce?: number; readonly ranks?: Readonly<Record<string, number>> } = {},
) {
  const clock = new CountingClock();
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const queue = new WorkQueue({
    clock,
    defects: new PanicHandler({ log: new FakeLog(), meter: new FakeMeter() }),
    controller: 'Node',
    atOnce: options.atOnce ?? 10,
    rank: key => options.ranks?.[key] ?? 0,
    work: key => {
      begun.push(key);
      return new Promise(resolve => ends.set(key, resolve));
    },
  });
  const end = async (key: string): Promise<void> => {
    ends.get(key)?.();
    await settle();
  };
  const inSeconds = (seconds: number): Temporal.Instant =>
    clock.now().add({ milliseconds: seconds * 1000 });
  return { clock, queue, begun, end, inSeconds };
}

test('work begins when it is told to: what comes until then is one run', async () => {
  const { clock, begun } = bench();
  const begin: (() => void)[] = [];
  const soon = (one: () => void): void => void begin.push(one);
  const defects = new PanicHandler({ log: new FakeLog(), meter: new FakeMeter() });
  const queue = new WorkQueue({
    clock,
    defects,
    controller: 'Node',
    atOnce: 10,
    rank: () => 0,
    work: async key => void begun.push(key),
    soon,
  });
  queue.add('a');
  await settle();
  queue.add('a');
  assert.deepEqual(begun, []);
  begin.shift()?.();
  assert.deepEqual([begun, begin.length], [['a'], 0]);
});

test('many additions of one key before its turn are one run', async () => {
  const { queue, begun } = bench();
  for (let n = 0; n < 5; n += 1) queue.add('a');
  assert.deepEqual(begun, [], 'work begins in a later turn');
  assert.equal(queue.depth, 1);
  await settle();
  assert.deepEqual(begun, ['a']);
});

test('a key is never worked on twice at the same time; what was wished meanwhile comes after', async () => {
  const { queue, begun, end } = bench();
  queue.add('a');
  await settle();
  queue.add('a');
  queue.add('a');
  await settle();
  assert.deepEqual(begun, ['a']);
  assert.equal(queue.isWaiting('a'), true);
  await end('a');
  assert.deepEqual(begun, ['a', 'a']);
  await end('a');
  assert.deepEqual(begun, ['a', 'a']);
});

test('so many keys at once and no more; of those that wait the lowest rank goes first', async () => {
  const { queue, begun, end } = bench({ atOnce: 2, ranks: { a: 9, b: 3, c: 5, d: 1 } });
  for (const key of ['a', 'b', 'c', 'd']) queue.add(key);
  await settle();
  assert.deepEqual(begun, ['d', 'b']);
  await end('b');
  assert.deepEqual(begun, ['d', 'b', 'c']);
  await end('d');
  assert.deepEqual(begun, ['d', 'b', 'c', 'a']);
});

test('a key that runs does not keep the others waiting', async () => {
  const { queue, begun } = bench({ ranks: { a: 0, b: 1 } });
  queue.add('a');
  await settle();
  queue.add('a');
  queue.add('b');
  await settle();
  assert.deepEqual(begun, ['a', 'b']);
});

test('of several appointments the earliest is kept', async () => {
  const { clock, queue, begun, end, inSeconds } = bench();
  queue.addAt('a', inSeconds(10));
  queue.addAt('a', inSeconds(5));
  queue.addAt('a', inSeconds(7));
  await clock.advance(4999);
  assert.deepEqual(begun, []);
  await clock.advance(1);
  assert.deepEqual(begun, ['a']);
  await end('a');
  await clock.advance(60_000);
  assert.deepEqual(begun, ['a'], 'the later ones are off');
});

test('an appointment in the past is for now', async () => {
  const { clock, queue, begun, inSeconds } = bench();
  queue.addAt('a', inSeconds(-5));
  await clock.advance(1);
  assert.deepEqual(begun, ['a']);
});

test('appointments can be called off, and made anew, also later ones', async () => {
  const { clock, queue, begun, inSeconds } = bench();
  queue.addAt('a', inSeconds(1));
  queue.clearAppointment('a');
  queue.addAt('a', inSeconds(3));
  await clock.advance(2999);
  assert.deepEqual(begun, []);
  await clock.advance(1);
  assert.deepEqual(begun, ['a']);
});

test('closing begins nothing new, calls off appointments and waits for what runs', async () => {
  const { clock, queue, begun, end, inSeconds } = bench({ atOnce: 1 });
  queue.add('a');
  await settle();
  queue.add('b');
  queue.addAt('c', inSeconds(1));
  let closed = false;
  void queue.close().then(() => (closed = true));
  queue.add('d');
  queue.addAt('e', inSeconds(1));
  await clock.advance(5000);
  assert.equal(closed, false);
  await end('a');
  await clock.advance(5000);
  assert.equal(closed, true);
  assert.deepEqual(begun, ['a']);
});

test('a closed queue leaves no timer behind that would keep the process alive', async () => {
  const { clock, queue, inSeconds } = bench();
  queue.addAt('a', inSeconds(1));
  queue.addAt('b', inSeconds(3600));
  assert.equal(clock.open.size, 2);
  await queue.close();
  assert.equal(clock.open.size, 0);
});

/** A queue in which work on `odd` throws, and so does whatever the case wants. */
function troubled(over: Partial<ConstructorParameters<typeof WorkQueue>[0]> = {}) {
  const [clock, log, meter] = [new CountingClock(), new FakeLog(), new FakeMeter()];
  const [begun, told]: [string[], string[]] = [[], []];
  const queue = new WorkQueue({
    clock,
    defects: new PanicHandler({ log, meter }),
    controller: 'MaintenanceWindow',
    atOnce: 1,
    rank: () => 0,
    work: async key => {
      begun.push(key);
      if (key === 'odd') throw new RangeError('out of range');
    },
    broken: async (key, message) => void told.push(`${key}: ${message}`),
    ...over,
  });
  return { clock, log, meter, begun, told, queue };
}

test('work that throws is told once, counted each time, tried again ever more slowly, and stops nobody else', async () => {
  const { clock, log, meter, begun, told, queue } = troubled();
  for (const key of ['odd', 'a', 'b']) queue.add(key);
  await clock.advance(0);
  assert.deepEqual(begun, ['odd', 'a', 'b']);
  assert.deepEqual(told, ['odd: Drydock hit a bug; please report it: out of range']);
  await clock.advance(1000);
  await clock.advance(2000);
  assert.deepEqual(begun, ['odd', 'a', 'b', 'odd', 'odd']);
  assert.deepEqual(meter.panics, ['MaintenanceWindow', 'MaintenanceWindow', 'MaintenanceWindow']);
  assert.equal(log.of('error').length, 1);
});

test('a throw before the first await, in the rank, and in the telling itself do not leave the queue either', async () => {
  const throwing = (): never => {
    throw new Error('no');
  };
  for (const over of [{ work: throwing }, { rank: throwing }, { broken: throwing }]) {
    const { clock, begun, meter, queue } = troubled(over);
    queue.add('odd');
    queue.add('a');
    await clock.advance(0);
    assert.ok(meter.panics.length > 0);
    assert.ok('work' in over || begun.includes('a'));
    await queue.close();
  }
});

test('a defect that was mended begins with the shortest pause again', async () => {
  let broken = true;
  const { clock, queue } = troubled({
    work: async () => {
      if (broken) throw new Error('no');
    },
  });
  queue.add('odd');
  for (const seconds of [0, 1, 2]) await clock.advance(seconds * 1000);
  broken = false;
  await clock.advance(4000);
  broken = true;
  queue.add('odd');
  await clock.advance(0);
  assert.equal(clock.open.size, 1);
  await clock.advance(999);
  broken = false;
  await clock.advance(1);
  assert.equal(clock.open.size, 0);
});

/**
 * Adds so many keys, works all of them off, and returns how often a rank was asked for, and the
 * order.
 */
async function workOff(
  keys: number,
  rank: (key: string) => number,
): Promise<{ readonly calls: number; readonly order: readonly string[] }> {
  let calls = 0;
  const order: string[] = [];
  const queue = new WorkQueue({
    clock: new VirtualClock(),
    defects: new PanicHandler({ log: new FakeLog(), meter: new FakeMeter() }),
    controller: 'Node',
    atOnce: 4,
    rank: key => {
      calls += 1;
      return rank(key);
    },
    work: async key => void order.push(key),
  });
  for (let at = 0; at < keys; at += 1) queue.add(`n${at}`);
  while (order.length < keys) await settle();
  return { calls, order };
}

test('what a pick costs does not grow with the number of keys that wait', async () => {
  const few = await workOff(1000, () => 0);
  const many = await workOff(20_000, () => 0);
  assert.ok(many.calls <= 20 * 20_000, `${many.calls} calls of rank for 20,000 keys`);
  assert.ok(
    many.calls <= 25 * few.calls,
    `${many.calls} calls for 20,000 keys, ${few.calls} for 1,000`,
  );
  assert.deepEqual(
    many.order.slice(0, 3),
    ['n0', 'n1', 'n2'],
    'of the same rank the first one comes first',
  );
});

test('thousands of keys are worked off by their rank', async () => {
  const rankOf = (key: string): number => (Number(key.slice(1)) * 7919) % 5003;
  const { order } = await workOff(5000, rankOf);
  const ranks = order.map(rankOf);
  assert.deepEqual(
    ranks,
    ranks.toSorted((one, other) => one - other),
  );
});

test('a rank that changes while a key waits counts: at once where the key is added again, and soon where it is not', async () => {
  const ranks: Record<string, number> = { blocker: 0, a: 5, b: 3, c: 4 };
  const { queue, begun, end } = bench({ atOnce: 1, ranks });
  queue.add('blocker');
  await settle();
  for (const key of ['a', 'b', 'c']) queue.add(key);
  ranks['a'] = 1;
  ranks['b'] = 9;
  for (const key of ['blocker', 'a', 'c', 'b']) await end(key);
  assert.deepEqual(begun, ['blocker', 'a', 'c', 'b']);
});
