import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makePod } from '../../core/testing/make.ts';
import { silentLog } from '../../support/log.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';
import type { Api, Collection, Watcher, WatchHandler } from '../ports.ts';
import { InformerSet } from './informer-set.ts';
import { LifecycleEvictions, lifecycleEvictionsName } from './lifecycle-evictions.ts';

/** The collection, filled by hand. */
const followed = async (resources: readonly string[]) => {
  const watched: { collection: Collection; project: (raw: unknown) => unknown; handler: WatchHandler<never> }[] = [];
  const watcher: Watcher = { watch: async (collection, project, handler) => void watched.push({ collection, project, handler }) };
  const lacks = (name: string): 'missing' | undefined => (name === lifecycleEvictionsName ? 'missing' : undefined);
  const informers = new InformerSet({ watcher, log: silentLog, complete: () => {}, lacks });
  const api: Api = { call: async () => ({ status: 200, headers: {}, body: { resources: resources.map(name => ({ name })) } }) };
  const touched: string[] = [];
  const over = new AbortController();
  const evictions = new LifecycleEvictions({ api, clock: new VirtualClock() }, informers, uid => touched.push(uid));
  void evictions.follow(over.signal);
  await new Promise(resolve => setImmediate(resolve));
  const tell = (type: 'added' | 'removed', raw: object): void => {
    const [one] = watched;
    one?.handler.changed({ type, object: one.project(raw) as never });
  };
  return { evictions, watched, informers, touched, tell, stop: () => over.abort() };
};

const raw = (name: string, uid: string, state: string) => ({
  metadata: { namespace: 'shop', name, uid: name, resourceVersion: '1' },
  spec: { target: { pod: { name: 'a', uid } } },
  status: { targetResponders: [{ name: 'mover.example/m', state }] },
});

test('the responders whose turn it is are known by their pods, and whoever waits for one is touched', async () => {
  const { evictions, watched, touched, tell } = await followed(['evictions', 'evictionrequests']);
  assert.equal(watched[0]?.collection.path, '/apis/lifecycle.k8s.io/v1alpha1/evictions');
  const pods = [makePod('a'), makePod('b')];
  assert.equal(evictions.of(pods).size, 0);
  tell('added', raw('a-1', 'uid-shop-a', 'Active'));
  tell('added', raw('b-1', 'uid-shop-b', 'Inactive'));
  tell('added', raw('c-1', 'uid-shop-c', 'Active'));
  assert.deepEqual([...evictions.of(pods)], [['uid-shop-a', { name: 'mover.example/m' }]]);
  assert.deepEqual(touched, ['uid-shop-a', 'uid-shop-b', 'uid-shop-c']);
  tell('removed', raw('a-1', 'uid-shop-a', 'Active'));
  assert.equal(evictions.of(pods).size, 0);
  assert.equal(touched.at(-1), 'uid-shop-a');
});

test('where Evictions are not served nothing is watched, and nothing waits for them', async () => {
  const { watched, informers, stop } = await followed(['evictionrequests']);
  assert.deepEqual([watched.length, informers.unsynced], [0, []]);
  assert.ok(informers.missing.has(lifecycleEvictionsName));
  stop();
});
