import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readPod } from '../core/pod/pod.ts';
import { HandClock } from '../support/hand-clock.ts';
import { silentLog } from '../support/log.ts';
import { PodWatches } from './pod-watches.ts';
import type { Sink, Watched } from './ports.ts';

const raw = (name: string, version = '5'): object => ({
  metadata: { namespace: 'shop', name, uid: `uid-${name}`, resourceVersion: version },
  spec: { nodeName: 'n1' },
});

/** A node whose pods are listed as given, and whose watch tells what the test has it tell. */
const bench = (listed: () => readonly object[]) => {
  const clock = new HandClock();
  const sinks: Sink<Watched>[] = [];
  const lists: number[] = [];
  const watches = new PodWatches({
    api: {
      call: async () => {
        lists.push(clock.now().epochMilliseconds);
        return { status: 200, headers: {}, body: { items: listed(), metadata: {} } };
      },
    },
    watcher: {
      watch: async (_collection, _project, sink) => {
        sinks.push(sink);
      },
    },
    clock,
    log: silentLog,
    events: { touched: () => {}, podChanged: () => {} },
  });
  watches.start('n1');
  const [sink] = sinks;
  assert.ok(sink);
  const names = (): readonly string[] => watches.of('n1')?.map(({ name }) => name) ?? [];
  return { clock, watches, sink, names, lists };
};

test('a pod that was read, and has come and gone while the watch was behind, does not stay for ever', async () => {
  let present: readonly object[] = [raw('short')];
  const { clock, watches, sink, names } = bench(() => present);
  sink.synced();
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
  const { watches, sink, names } = bench(() => []);
  sink.synced();
  sink.changed({ type: 'added', object: readPod(raw('web')) });
  const before = watches.of('n1')?.[0];
  assert.ok(before);
  watches.forget('n1', { ...before, uid: 'another' });
  watches.forget('n2', before);
  assert.deepEqual(names(), ['web']);
  watches.forget('n1', before);
  assert.deepEqual(names(), []);
});

test('a pod of which the watch tells is left to the watch, and nothing more is read', async () => {
  const { clock, watches, sink, names, lists } = bench(() => [raw('web')]);
  sink.synced();
  watches.confirm('n1');
  await clock.advance(10);
  sink.changed({ type: 'added', object: readPod(raw('web')) });
  await clock.advance(120_000);
  assert.deepEqual([names(), lists.length], [['web'], 1]);
});
