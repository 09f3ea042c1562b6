import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Change, Watcher, WatchHandler } from '@drydock/kube-client';
import { PanicHandler } from '@drydock/utils';
import { FakeLog, settle } from '../testing/fakes.ts';
import { InformerSet } from './informer-set.ts';
import { NodeCache, NodeWatch } from './node-cache.ts';
import type { CachedNode } from './pod-watches.ts';

function rawNode(name: string, resourceVersion: string) {
  return {
    metadata: { name, uid: `uid-${name}`, resourceVersion },
    status: { nodeInfo: { kernelVersion: '6.1.0' } },
  };
}

/**
 * One watch of nodes, as the test drives it: a list is told with all that a store beneath would
 * tell.
 */
class Scripted {
  readonly #project: (raw: unknown) => CachedNode | undefined;
  readonly handler: WatchHandler<CachedNode>;
  readonly signal: AbortSignal;

  constructor(
    project: (raw: unknown) => CachedNode | undefined,
    handler: WatchHandler<CachedNode>,
    signal: AbortSignal,
  ) {
    this.#project = project;
    this.handler = handler;
    this.signal = signal;
  }

  tell(type: Change<unknown>['type'], name: string, resourceVersion: string): void {
    const object = this.#project(rawNode(name, resourceVersion));
    assert.ok(object !== undefined);
    this.handler.changed(type === 'changed' ? { type, object, before: object } : { type, object });
  }

  list(version: string, ...names: readonly string[]): void {
    for (const name of names) this.tell('added', name, version);
    this.handler.listed?.({ keys: new Set(names), version });
    this.handler.synced();
  }
}

function bench() {
  const watches: Scripted[] = [];
  const watcher: Watcher = {
    watch: (_collection, project, handler, signal) => {
      watches.push(new Scripted(project as never, handler as never, signal));
      return new Promise(resolve => {
        if (signal.aborted) resolve();
        signal.addEventListener('abort', () => resolve());
      });
    },
  };
  const informers = (): InformerSet =>
    new InformerSet({
      watcher,
      log: new FakeLog(),
      defects: new PanicHandler({ log: new FakeLog() }),
      mayLack: () => false,
      complete: () => {},
    });
  const [first, second] = [informers(), informers()];
  const nodes = new NodeCache();
  const told: string[] = [];
  const watch = new NodeWatch(nodes, change => void nodes.apply(change));
  const stop = new AbortController();
  const following = watch.follow(first, stop.signal);
  const followWhole = (): Promise<void> =>
    watch.followWhole(
      second,
      'whole nodes',
      ({ type, object }) =>
        void told.push(`${type} ${object.name} ${nodes.get(object.key) !== undefined}`),
      stop.signal,
    );
  const known = (): readonly string[] =>
    [...nodes.values()]
      .map(
        ({ name, resourceVersion, object }) =>
          `${name}@${resourceVersion}${object === undefined ? '' : ' whole'}`,
      )
      .sort();
  return { watches, first, second, nodes, told, following, followWhole, known, stop };
}

describe('the watch of the nodes', () => {
  test('keeps what maintenances need, until somebody needs the nodes whole; then one watch goes on, which does', async () => {
    const { watches, following, followWhole, known, told, second, stop } = bench();
    watches[0]?.list('10', 'n1', 'n2');
    assert.deepEqual(known(), ['n1@10', 'n2@10']);
    const whole = followWhole();
    await settle();
    assert.deepEqual(
      [watches.length, second.unsynced, watches[0]?.signal.aborted],
      [2, ['whole nodes'], false],
    );
    watches[1]?.list('12', 'n1', 'n2', 'n3');
    assert.deepEqual(
      [known(), second.unsynced],
      [['n1@12 whole', 'n2@12 whole', 'n3@12 whole'], []],
    );
    await following;
    watches[1]?.tell('changed', 'n1', '13');
    assert.deepEqual([known()[0], told.at(-1)], ['n1@13 whole', 'changed n1 true']);
    stop.abort();
    await whole;
  });

  test('begins a second time only when it has read all nodes: what is waited for is read for sure', async () => {
    const { watches, first, second, followWhole, known, stop } = bench();
    const whole = followWhole();
    await settle();
    assert.deepEqual(
      [watches.length, first.unsynced, second.unsynced],
      [1, ['nodes'], ['whole nodes']],
    );
    watches[0]?.list('10', 'n1');
    await settle();
    assert.deepEqual([watches.length, first.unsynced, known()], [2, [], ['n1@10 whole']]);
    stop.abort();
    await whole;
  });

  test('forgets what went while one watch took over from the other, and nothing that is newer than the list', async () => {
    const { watches, followWhole, known, told, stop } = bench();
    watches[0]?.list('10', 'gone', 'n1');
    const whole = followWhole();
    await settle();
    watches[0]?.tell('added', 'newer', '14');
    watches[1]?.list('12', 'n1');
    assert.deepEqual(known(), ['n1@12 whole', 'newer@14 whole']);
    assert.deepEqual(told, ['added n1 true', 'removed gone false']);
    watches[1]?.list('20', 'n1');
    assert.deepEqual(known(), ['n1@20 whole'], 'it is not in a list that is newer');
    stop.abort();
    await whole;
  });

  test('goes on as it was for as long as nobody can read the nodes a second time', async () => {
    const { watches, followWhole, known, second, stop } = bench();
    watches[0]?.list('10', 'n1');
    const whole = followWhole();
    await settle();
    watches[1]?.handler.failing?.({ message: 'no answer', retryInMs: 1000 });
    watches[0]?.tell('changed', 'n1', '11');
    assert.deepEqual(
      [known(), second.unsynced, watches[0]?.signal.aborted],
      [['n1@11 whole'], ['whole nodes'], false],
    );
    stop.abort();
    await whole;
  });

  test('ends with its signal, whether it has read anything or not', async () => {
    const { following, followWhole, stop } = bench();
    const whole = followWhole();
    stop.abort();
    await Promise.all([following, whole]);
  });
});
