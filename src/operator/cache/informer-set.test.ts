import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HandClock } from '../../support/virtual-clock.ts';
import type { Sink } from '../ports.ts';
import { answer, failure, Lines, ScriptedApi, settle } from '../testing/fakes.ts';
import { Following } from './informer-set.ts';

const bench = () => {
  const sinks = new Map<string, Pick<Sink<never>, 'synced' | 'failing'>>();
  const told: string[] = [];
  const following = new Following({
    watcher: { watch: async ({ path }, _project, sink) => void sinks.set(path, sink) },
    log: new Lines(),
    lacks: (_name, status) => (status === 404 ? 'missing' : undefined),
    complete: () => told.push('complete'),
  });
  const [api, clock, stop] = [new ScriptedApi(), new HandClock(), new AbortController()];
  const follow = (name: string): void =>
    void following.followOnceServed(
      { api, clock },
      name,
      { path: `/apis/x/v1/${name}` },
      () => undefined,
      () => {},
      stop.signal,
    );
  return { following, api, clock, stop, sinks, told, follow };
};

const serving = (...names: readonly string[]) => answer(200, { resources: names.map(name => ({ name })) });

test('a kind is followed once it is served, and known to have no objects until then', async () => {
  for (const reply of [failure(404, 'no such group'), answer(200), serving('others')]) {
    const { following, api, clock, stop, sinks, told, follow } = bench();
    api.reply = () => reply;
    follow('vms');
    await settle();
    assert.deepEqual([[...following.missing], following.unsynced, following.isKnown('vms'), told], [['vms'], [], false, ['complete']]);
    assert.equal(sinks.size, 0, 'nothing is asked of it');
    api.reply = () => serving('others', 'vms');
    await clock.advance(10_000);
    await settle();
    sinks.get('/apis/x/v1/vms')?.synced();
    assert.deepEqual([[...following.missing], following.isKnown('vms')], [[], true]);
    stop.abort();
  }
});

test('whether a kind is served is asked again where that cannot be found out', async () => {
  for (const reply of [() => failure(503, 'busy'), () => Promise.reject(new Error('no answer'))]) {
    const { following, api, clock, stop, sinks, follow } = bench();
    api.reply = reply;
    follow('vms');
    await settle();
    assert.deepEqual([[...following.missing], following.unsynced, sinks.size], [[], ['vms'], 0]);
    api.reply = () => serving('vms');
    await clock.advance(10_000);
    await settle();
    assert.equal(sinks.size, 1);
    stop.abort();
  }
});

test('that all has been read is told when the last has been, and not again when one is read once more', async () => {
  const { following, api, stop, sinks, told, follow } = bench();
  api.reply = () => serving('vms', 'moves');
  for (const name of ['vms', 'moves']) follow(name);
  await settle();
  sinks.get('/apis/x/v1/vms')?.synced();
  assert.deepEqual([told, following.unsynced], [[], ['moves']]);
  sinks.get('/apis/x/v1/moves')?.synced();
  sinks.get('/apis/x/v1/vms')?.synced();
  assert.deepEqual(told, ['complete']);
  stop.abort();
});
