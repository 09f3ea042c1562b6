import assert from 'node:assert/strict';
import { test } from 'node:test';
import { secondsAfter } from '@drydock/apimachinery';
import type { Api, Collection, Watcher, WatchHandler } from '@drydock/kube-client';
import { PanicHandler, silentLog, VirtualClock } from '@drydock/utils';
import { InformerSet } from './informer-set.ts';
import { LifecycleEvictions, lifecycleCollections } from './lifecycle-evictions.ts';

type StartedWatch = {
  readonly collection: Collection;
  readonly project: (raw: unknown) => unknown;
  readonly handler: WatchHandler<never>;
};

/** Both collections, filled by hand. */
async function followed(resources: readonly string[]) {
  const watched = new Map<string, StartedWatch>();
  const watcher: Watcher = {
    watch: async (collection, project, handler) => {
      watched.set(collection.path.split('/').at(-1) ?? '', { collection, project, handler });
      handler.synced();
    },
  };
  const mayLack = (name: string): boolean => lifecycleCollections.has(name);
  const informers = new InformerSet({
    watcher,
    log: silentLog,
    defects: new PanicHandler({ log: silentLog }),
    complete: () => {},
    mayLack,
  });
  const api: Api = {
    call: async () => ({
      status: 200,
      headers: {},
      body: { resources: resources.map(name => ({ name })) },
    }),
  };
  const touched: string[] = [];
  const over = new AbortController();
  const clock = new VirtualClock();
  const told = (name: string): void => void touched.push(name);
  const evictions = new LifecycleEvictions({ api, clock }, informers, { pod: told, node: told });
  void evictions.followEvictions(over.signal);
  void evictions.followRequests(over.signal);
  await new Promise(resolve => setImmediate(resolve));
  const tell = (
    kind: 'evictions' | 'evictionrequests',
    type: 'added' | 'removed',
    raw: object,
  ): void => {
    const one = watched.get(kind);
    const object = one?.project(raw);
    if (object !== undefined) one?.handler.changed({ type, object: object as never });
  };
  return {
    evictions,
    watched,
    informers,
    touched,
    tell,
    now: clock.now(),
    stop: () => over.abort(),
  };
}

const both = ['evictions', 'evictionrequests'];
const pods = ['a', 'b'].map(uid => ({ namespace: 'shop', uid }));

function raw(name: string, uid: string, state: string, responder = 'mover.example/m') {
  return {
    metadata: { namespace: 'shop', name, uid: name, resourceVersion: '1' },
    spec: { target: { pod: { name: 'a', uid } } },
    status: { targetResponders: [{ name: responder, state }] },
  };
}

function rawRequest(uid: string, requester = 'drydock.dev/drain') {
  return {
    metadata: {
      namespace: 'shop',
      name: `drydock-${uid}`,
      uid: `r-${uid}`,
      resourceVersion: '1',
      ownerReferences: [{ kind: 'Node', name: 'n1' }],
    },
    spec: { requester, target: { pod: { name: 'a', uid } } },
  };
}

test('the responders whose turn it is are known by their pods, and whoever waits for one is touched', async () => {
  const { evictions, watched, touched, tell } = await followed(both);
  assert.deepEqual(watched.get('evictions')?.collection, {
    path: '/apis/lifecycle.k8s.io/v1alpha1/evictions',
  });
  assert.equal(evictions.of(pods).size, 0);
  tell('evictions', 'added', raw('a-1', 'a', 'Active'));
  tell('evictions', 'added', raw('b-1', 'b', 'Inactive'));
  tell('evictions', 'added', raw('c-1', 'c', 'Active'));
  assert.deepEqual(
    [...evictions.of(pods)],
    [['a', { name: 'mover.example/m', createdAt: Temporal.Instant.fromEpochMilliseconds(0) }]],
  );
  const elsewhere = [{ namespace: 'payments', uid: 'a' }];
  assert.equal(
    evictions.of(elsewhere).size,
    0,
    'an Eviction of one namespace says nothing of a pod of another',
  );
  assert.deepEqual(touched, ['a', 'b', 'c']);
  tell('evictions', 'removed', raw('a-1', 'a', 'Active'));
  assert.equal(evictions.of(pods).size, 0);
  assert.equal(touched.at(-1), 'a');
});

test("of two Evictions of a pod the one with a responder of the pod's own counts, whichever comes first", async () => {
  const evictor = 'imperative-eviction.k8s.io/evictor';
  const { evictions, tell } = await followed(both);
  for (const [name, uid, responder] of [
    ['a-1', 'a', evictor],
    ['a-2', 'a', 'mover.example/m'],
    ['b-1', 'b', 'mover.example/m'],
    ['b-2', 'b', evictor],
  ] as const)
    tell('evictions', 'added', raw(name, uid, 'Active', responder));
  assert.deepEqual(
    [...evictions.of(pods)].map(([uid, { name }]) => [uid, name]),
    [
      ['a', 'mover.example/m'],
      ['b', 'mover.example/m'],
    ],
  );
});

test('our own requests are known by node and pod; nobody elses are', async () => {
  const { evictions, watched, touched, tell } = await followed(both);
  assert.deepEqual(watched.get('evictionrequests')?.collection, {
    path: '/apis/lifecycle.k8s.io/v1alpha1/evictionrequests',
    labelSelector: 'drydock.dev/requester=drain',
  });
  tell('evictionrequests', 'added', rawRequest('a'));
  tell('evictionrequests', 'added', rawRequest('b', 'descheduler.example/d'));
  assert.deepEqual([...evictions.requestsOf('n1').keys()], ['shop/drydock-a']);
  assert.deepEqual([...evictions.requestedNodes()], ['n1']);
  assert.deepEqual(touched, ['n1']);
  evictions.forgetRequest('shop/drydock-a', 'another');
  assert.equal(evictions.requestsOf('n1').size, 1, 'a successor of the same name stays');
  evictions.forgetRequest('shop/drydock-a', 'r-a');
  assert.equal(evictions.requestsOf('n1').size, 0);
  evictions.observeRequest(undefined);
});

test('after a request that nobody answered none is made for an hour', async () => {
  const { evictions, now } = await followed(both);
  assert.ok(evictions.areAnswered(now));
  evictions.unanswered(now);
  assert.deepEqual(
    [0, 3599, 3600].map(seconds => evictions.areAnswered(secondsAfter(now, seconds))),
    [false, false, true],
  );
});

test('where one of the kinds is not served it is not watched, nothing waits for it, and nothing is requested', async () => {
  for (const one of both) {
    const { evictions, watched, informers, now, stop } = await followed([one]);
    assert.deepEqual([...watched.keys()], [one]);
    assert.deepEqual(informers.unsynced, []);
    assert.equal(evictions.areAnswered(now), false);
    stop();
  }
});
