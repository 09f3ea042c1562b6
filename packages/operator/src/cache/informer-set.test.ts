import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Change, WatchHandler } from '@drydock/kube-client';
import { PanicHandler, VirtualClock } from '@drydock/utils';
import { FakeLog, failure, response, ScriptedApi, settle } from '../testing/fakes.ts';
import { Cache } from './cache.ts';
import { InformerSet } from './informer-set.ts';

function bench() {
  const handlers = new Map<string, Pick<WatchHandler<never>, 'synced' | 'failing'>>();
  const told: string[] = [];
  const informers = new InformerSet({
    watcher: { watch: async ({ path }, _project, handler) => void handlers.set(path, handler) },
    log: new FakeLog(),
    defects: new PanicHandler({ log: new FakeLog() }),
    mayLack: () => true,
    complete: () => told.push('complete'),
  });
  const [api, clock, stop] = [new ScriptedApi(), new VirtualClock(), new AbortController()];
  const follow = (name: string): void =>
    void informers.followOnceServed(
      { api, clock },
      name,
      { path: `/apis/x/v1/${name}` },
      () => undefined,
      () => {},
      stop.signal,
    );
  return { informers, api, clock, stop, handlers, told, follow };
}

function serving(...names: readonly string[]) {
  return response(200, { resources: names.map(name => ({ name })) });
}

test('a kind is followed once it is served, and known to have no objects until then', async () => {
  for (const reply of [failure(404, 'no such group'), response(200), serving('others')]) {
    const { informers, api, clock, stop, handlers, told, follow } = bench();
    api.reply = () => reply;
    follow('vms');
    await settle();
    assert.deepEqual(
      [[...informers.missing], informers.unsynced, informers.isKnown('vms'), told],
      [['vms'], [], false, ['complete']],
    );
    assert.equal(handlers.size, 0, 'nothing is asked of it');
    api.reply = () => serving('others', 'vms');
    await clock.advance(10_000);
    await settle();
    handlers.get('/apis/x/v1/vms')?.synced();
    assert.deepEqual([[...informers.missing], informers.isKnown('vms')], [[], true]);
    stop.abort();
  }
});

test('whether a kind is served is asked again where that cannot be found out', async () => {
  for (const reply of [() => failure(503, 'busy'), () => Promise.reject(new Error('no answer'))]) {
    const { informers, api, clock, stop, handlers, follow } = bench();
    api.reply = reply;
    follow('vms');
    await settle();
    assert.deepEqual([[...informers.missing], informers.unsynced, handlers.size], [[], ['vms'], 0]);
    api.reply = () => serving('vms');
    await clock.advance(10_000);
    await settle();
    assert.equal(handlers.size, 1);
    stop.abort();
  }
});

test('kinds of one version are asked for together', async () => {
  const { informers, api, clock, stop, handlers, follow } = bench();
  api.reply = () => serving('vms');
  for (const name of ['vms', 'moves', 'hosts']) follow(name);
  await settle();
  assert.deepEqual(
    [api.calls.length, [...handlers.keys()], [...informers.missing]],
    [1, ['/apis/x/v1/vms'], ['moves', 'hosts']],
  );
  api.reply = async () => {
    await clock.sleep(1);
    return serving('vms', 'moves');
  };
  await clock.advance(10_001);
  await settle();
  assert.deepEqual([api.calls.length, handlers.size], [2, 2]);
  stop.abort();
});

test('that all has been read is told when the last has been, and not again when one is read once more', async () => {
  const { informers, api, stop, handlers, told, follow } = bench();
  api.reply = () => serving('vms', 'moves');
  for (const name of ['vms', 'moves']) follow(name);
  await settle();
  handlers.get('/apis/x/v1/vms')?.synced();
  assert.deepEqual([told, informers.unsynced], [[], ['moves']]);
  handlers.get('/apis/x/v1/moves')?.synced();
  handlers.get('/apis/x/v1/vms')?.synced();
  assert.deepEqual(told, ['complete']);
  stop.abort();
});

test('what was read and may not be read for a while is known again when it is listed again, and that is told', async () => {
  const handlers: Pick<WatchHandler<never>, 'synced' | 'listed' | 'failing'>[] = [];
  const told: string[] = [];
  const informers = new InformerSet({
    watcher: { watch: async (_collection, _project, handler) => void handlers.push(handler) },
    log: new FakeLog(),
    defects: new PanicHandler({ log: new FakeLog() }),
    mayLack: () => true,
    complete: () => told.push('complete'),
  });
  await informers.follow(
    'things',
    { path: '/x' },
    () => undefined,
    () => {},
    new AbortController().signal,
  );
  const [handler] = handlers;
  assert.ok(handler);
  const listed = (): void => handler.listed?.({ keys: new Set(), version: '1' });
  listed();
  handler.synced();
  assert.deepEqual([informers.isKnown('things'), told], [true, ['complete']]);
  for (const status of [403, 404]) {
    told.length = 0;
    handler.failing?.({ message: 'it is refused', status, retryInMs: 1 });
    handler.failing?.({ message: 'it is refused', status, retryInMs: 1 });
    assert.deepEqual([informers.isKnown('things'), told], [false, ['complete']], 'told once');
    listed();
    assert.deepEqual([informers.isKnown('things'), told], [true, ['complete', 'complete']]);
    listed();
    assert.equal(told.length, 2, 'nothing new');
  }
});

test('what only answers to our own writes have told of is removed when a complete list does not hold it', async () => {
  type Thing = { readonly key: string; readonly uid: string; readonly resourceVersion: string };
  const handlers: WatchHandler<Thing>[] = [];
  const informers = new InformerSet({
    watcher: { watch: async (_collection, _project, handler) => void handlers.push(handler) },
    log: new FakeLog(),
    defects: new PanicHandler({ log: new FakeLog() }),
    mayLack: () => false,
    complete: () => {},
  });
  const cache = new Cache<Thing>();
  const told: string[] = [];
  const changed = ({ type, object }: Change<Thing>): void =>
    void told.push(`${type} ${object.key}`);
  await informers.followInto(
    cache,
    'things',
    { path: '/x' },
    () => undefined,
    changed,
    new AbortController().signal,
  );
  cache.observe({ key: 'a', uid: 'uid-a', resourceVersion: '7' });
  handlers[0]?.listed?.({ keys: new Set(), version: '6' });
  assert.deepEqual([told, cache.size], [[], 1]);
  handlers[0]?.listed?.({ keys: new Set(), version: '8' });
  assert.deepEqual([told, cache.size], [['removed a'], 0]);
});

test('what may not be read is withheld at once when it was never known, at the second refusal when it was, and missing once it is not served', async () => {
  const handlers: Pick<WatchHandler<never>, 'synced' | 'failing'>[] = [];
  const informers = new InformerSet({
    watcher: { watch: async (_collection, _project, handler) => void handlers.push(handler) },
    log: new FakeLog(),
    defects: new PanicHandler({ log: new FakeLog() }),
    mayLack: () => true,
    complete: () => {},
  });
  const found = (): readonly unknown[] => [
    [...informers.forbidden],
    [...informers.missing],
    informers.unsynced,
  ];
  const { signal } = new AbortController();
  void informers.follow(
    'kinds',
    { path: '/kinds' },
    () => undefined,
    () => {},
    signal,
  );
  const [handler] = handlers;
  const refused = (status: number): void =>
    handler?.failing?.({ message: 'no', status, retryInMs: 1 });
  refused(403);
  assert.deepEqual(found(), [['kinds'], [], []]);
  handler?.synced();
  refused(403);
  assert.deepEqual(
    found(),
    [[], [], []],
    'a server that has just begun refuses what it allows a second later',
  );
  refused(403);
  assert.deepEqual(found(), [['kinds'], [], []]);
  refused(404);
  assert.deepEqual(found(), [[], ['kinds'], []]);
});
