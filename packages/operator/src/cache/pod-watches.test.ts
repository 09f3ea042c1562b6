import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readPod } from '@drydock/core/pod';
import type { CachedObject, Collection, WatchHandler } from '@drydock/kube-client';
import { PanicHandler, silentLog, VirtualClock } from '@drydock/utils';
import { PodWatches } from './pod-watches.ts';

function raw(name: string, version = '5') {
  return {
    metadata: { namespace: 'shop', name, uid: `uid-${name}`, resourceVersion: version },
    spec: { nodeName: 'n1' },
  };
}

/** A node whose pods are listed as given, and whose watch tells what the test has it tell. */
function bench(listed: () => readonly object[]) {
  const clock = new VirtualClock();
  const handlers: WatchHandler<CachedObject>[] = [];
  const lists: number[] = [];
  const touched: string[] = [];
  const left: string[] = [];
  const collections: Collection[] = [];
  const watches = new PodWatches({
    api: {
      call: async () => {
        lists.push(clock.now().epochMilliseconds);
        return { status: 200, headers: {}, body: { items: listed(), metadata: {} } };
      },
    },
    watcher: {
      watch: async (collection, _project, handler) => {
        collections.push(collection);
        handlers.push(handler);
      },
    },
    clock,
    log: silentLog,
    defects: new PanicHandler({ log: silentLog }),
    events: {
      touched: nodeName => touched.push(nodeName),
      podChanged: ({ name }, _nodeName, isLeaving) => {
        if (isLeaving) left.push(name);
      },
    },
  });
  watches.start('n1');
  const [handler] = handlers;
  assert.ok(handler);
  const names = (): readonly string[] => watches.of('n1')?.map(({ name }) => name) ?? [];
  return { clock, watches, handler, names, lists, touched, left, collections };
}

test('a pod that was read, and has come and gone while the watch was behind, does not stay for ever', async () => {
  let present: readonly object[] = [raw('short')];
  const { clock, watches, handler, names } = bench(() => present);
  handler.synced();
  watches.confirm('n1');
  await clock.advance(10);
  assert.deepEqual([watches.isConfirmed('n1'), names()], [true, ['short']]);
  present = [];
  await clock.advance(29_000);
  assert.deepEqual(names(), ['short'], 'the watch may still tell of it');
  await clock.advance(2000);
  assert.deepEqual(names(), []);
});

test('a pod that the server calls gone is forgotten at once, and its successor of the same name is not', async () => {
  const { watches, handler, names } = bench(() => []);
  handler.synced();
  handler.changed({ type: 'added', object: readPod(raw('web')) });
  const before = watches.of('n1')?.[0];
  assert.ok(before);
  watches.forget('n1', { ...before, uid: 'another' });
  watches.forget('n2', before);
  assert.deepEqual(names(), ['web']);
  watches.forget('n1', before);
  assert.deepEqual(names(), []);
});

test('a pod of which the watch tells is left to the watch, and nothing more is read', async () => {
  const { clock, watches, handler, names, lists } = bench(() => [raw('web')]);
  handler.synced();
  watches.confirm('n1');
  await clock.advance(10);
  handler.changed({ type: 'added', object: readPod(raw('web')) });
  await clock.advance(120_000);
  assert.deepEqual([names(), lists.length], [['web'], 1]);
});

test('nobody is woken before the pods are known, nor by a watch that is over', () => {
  const { watches, handler, touched, collections } = bench(() => []);
  const [web, late] = [readPod(raw('web')), readPod(raw('late'))];
  handler.changed({ type: 'added', object: web });
  assert.deepEqual([touched.length, watches.of('n1')], [0, undefined]);
  handler.synced();
  assert.equal(touched.length, 1);
  handler.changed({ type: 'removed', object: web });
  assert.equal(touched.length, 2);
  watches.stop('n1');
  handler.changed({ type: 'added', object: late });
  assert.deepEqual([touched.length, watches.of('n1')], [2, undefined]);
  assert.equal(
    collections[0]?.beginWithCache,
    true,
    'it begins at once, and reads once more before a node is called empty',
  );
});

test('a pod leaves when it is being deleted, and when it is gone', () => {
  const { handler, left } = bench(() => []);
  handler.changed({ type: 'added', object: readPod(raw('web')) });
  assert.deepEqual(left, []);
  const [before, going] = [
    readPod(raw('web')),
    readPod({
      ...raw('web', '6'),
      metadata: { ...raw('web', '6').metadata, deletionTimestamp: '2026-01-01T00:00:30Z' },
    }),
  ];
  handler.changed({ type: 'changed', before, object: going });
  assert.deepEqual(left, ['web']);
  handler.changed({ type: 'removed', object: readPod(raw('other')) });
  assert.deepEqual(left, ['web', 'other']);
});

test('a look for pods that the watch has not told of wakes the node, as long as its watch goes on', async () => {
  const { clock, watches, handler, touched, lists } = bench(() => [raw('short')]);
  handler.synced();
  watches.confirm('n1');
  await clock.advance(10);
  const [woken, read] = [touched.length, lists.length];
  await clock.advance(30_000);
  assert.deepEqual([touched.length, lists.length], [woken + 1, read + 1]);
  watches.stop('n1');
  await clock.advance(60_000);
  assert.deepEqual([touched.length, lists.length], [woken + 1, read + 1]);
});

test('a reading that fails is tried again, and ends with the watch', async () => {
  const broken = { is: true };
  const { clock, watches, lists } = bench(() => {
    if (broken.is) throw new Error('no answer');
    return [];
  });
  watches.confirm('n1');
  await clock.advance(60_000);
  const tries = lists.length;
  assert.ok(tries > 1, String(tries));
  broken.is = false;
  await clock.advance(60_000);
  assert.deepEqual([watches.isConfirmed('n1'), lists.length], [true, tries + 1]);
});
