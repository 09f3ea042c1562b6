import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Api, Watcher } from '@drydock/kube-client';
import { createCluster, inProcess, load } from '@drydock/kube-sim';
import { many } from '@drydock/kube-sim/testing';
import { PanicHandler, silentLog, VirtualClock } from '@drydock/utils';
import { maintain, release } from '../actions/actions.ts';
import type { Delta, NodeSummary, Scene } from '../scene.ts';
import { budget, type DashboardHarness, deployment, place } from '../testing/place.ts';
import { Observer } from './observer.ts';

const order = { reason: 'new disk', force: false, deleteEmptyDirData: false };

/** What a page makes of what it is told. */
class Mirror {
  readonly parts = {
    nodes: new Map<string, object>(),
    pods: new Map<string, object>(),
    budgets: new Map<string, object>(),
  };
  told = 0;

  apply(delta: Delta): void {
    this.told += 1;
    for (const [what, map] of Object.entries(this.parts) as [
      'nodes' | 'pods' | 'budgets',
      Map<string, object>,
    ][]) {
      for (const view of delta[what] ?? []) map.set(view.key, view);
      for (const key of delta.gone?.[what] ?? []) map.delete(key);
    }
  }

  get keys(): readonly (readonly string[])[] {
    return Object.values(this.parts).map(map => [...map.keys()].sort());
  }
}

async function watching(at: DashboardHarness, clock: VirtualClock) {
  const observer = new Observer({
    watcher: at.ports,
    adapters: at.adapters,
    access: 'link',
    cluster: 'test',
    clock,
    log: silentLog,
    defects: new PanicHandler({ log: silentLog }),
  });
  const mirror = new Mirror();
  observer.listen((_revision, delta) => mirror.apply(delta ?? observer.scene()));
  const done = new AbortController();
  const running = observer.run(done.signal);
  await clock.advance(200);
  const end = async (): Promise<void> => {
    done.abort();
    const stopped = at.stop();
    await clock.advance(1000);
    await Promise.all([running, stopped]);
  };
  const node = (name: string): NodeSummary => {
    const view = observer.scene().nodes.find(({ key }) => key === name);
    assert.ok(view, name);
    return view;
  };
  return { observer, mirror, node, end };
}

function keysOf({ nodes, pods, budgets }: Scene): readonly (readonly string[])[] {
  return [nodes, pods, budgets].map(views =>
    (views as readonly { readonly key: string }[]).map(({ key }) => key).sort(),
  );
}

function shop(at: DashboardHarness): void {
  at.make('deployments.apps', deployment('web', 6));
  at.make('poddisruptionbudgets.policy', budget('web', { maxUnavailable: 1 }));
  at.make('deployments.apps', deployment('payment', 3));
  at.make('poddisruptionbudgets.policy', budget('payment', { minAvailable: 3 }));
}

test('it shows the nodes with their zones, the pods with what they belong to, and the budgets', async () => {
  const clock = new VirtualClock();
  const at = place(clock);
  shop(at);
  await clock.advance(10_000);
  const { observer, node, end } = await watching(at, clock);
  const { nodes, pods, budgets, facts } = observer.scene();
  assert.deepEqual(
    nodes.map(({ key, zone, ready, cordoned, holds }) => [
      key,
      zone,
      ready,
      cordoned,
      holds.length,
    ]),
    [
      ['w1', 'north', 'yes', false, 0],
      ['w2', 'north', 'yes', false, 0],
      ['w3', 'south', 'yes', false, 0],
    ],
  );
  assert.equal(pods.length, 9);
  assert.deepEqual(
    new Set(pods.map(({ kind, workload, phase }) => `${kind} ${workload} ${phase}`)),
    new Set(['Deployment shop/web running', 'Deployment shop/payment running']),
  );
  assert.deepEqual(
    budgets.map(({ key, allowed, healthy, desired, trouble }) => [
      key,
      allowed,
      healthy,
      desired,
      trouble?.message,
    ]),
    [
      [
        'shop/payment',
        0,
        3,
        3,
        'budget payment needs 3 healthy pods of 3: as it stands, it allows no disruption',
      ],
      ['shop/web', 1, 6, 5, undefined],
    ],
  );
  assert.deepEqual(facts, {
    access: 'link',
    cluster: 'test',
    makes: 'Maintenance',
    loading: [],
    unreadable: [],
  });
  assert.equal(node('w1').missing, undefined);
  await end();
});

test('a maintenance is told from its order to its end: hold, progress, blockers in words, events; then the node is as it was', async () => {
  const clock = new VirtualClock();
  const at = place(clock);
  shop(at);
  at.operate();
  await clock.advance(10_000);
  const { observer, mirror, node, end } = await watching(at, clock);
  const before = node('w1');
  const asked = maintain(at.ports, observer.maker(), { node: 'w1', ...order });
  await clock.advance(60_000);
  assert.deepEqual(await asked, { status: 201, body: { message: 'maintenance of w1 created' } });
  const [hold] = node('w1').holds;
  assert.ok(hold);
  assert.deepEqual(
    [hold.kind, hold.name, hold.phase, hold.reason, hold.draining],
    ['Maintenance', 'w1', 'Draining', 'new disk', true],
  );
  assert.equal(hold.toEvict - hold.gone, hold.blockers.length, 'all that is left is blocked');
  assert.deepEqual(
    new Set(hold.blockers.map(({ message, stuck }) => `${message} ${stuck}`)),
    new Set([
      'budget payment needs 3 healthy pods of 3: as it stands, it allows no disruption true',
    ]),
  );
  assert.match(hold.blockers[0]?.remedy ?? '', /kubectl -n shop describe pdb payment/);
  assert.equal(node('w1').cordoned, true);
  assert.deepEqual(
    observer.scene().moments.map(({ reason, about, at }) => [reason, about, at]),
    ['DrainBlocked', 'MaintenanceBegun'].map(reason => [
      reason,
      'Maintenance w1',
      '2026-01-01T00:00:10Z',
    ]),
  );
  assert.deepEqual(
    mirror.keys,
    keysOf(observer.scene()),
    'whoever is told of changes only, knows the same',
  );
  const request = observer.find(hold.store, undefined, hold.name);
  assert.ok(request);
  const given = release(at.ports, request);
  await clock.advance(10_000);
  assert.equal((await given).status, 200);
  assert.deepEqual(node('w1'), before);
  assert.deepEqual(mirror.keys, keysOf(observer.scene()));
  await end();
});

test('an outlook says how many pods would leave and what would be in the way, and changes nothing', async () => {
  const clock = new VirtualClock();
  const at = place(clock);
  at.make('deployments.apps', deployment('web', 3));
  at.make('pods', {
    metadata: { name: 'alone', namespace: 'shop' },
    spec: { nodeName: 'w1', containers: [{ name: 'main', image: 'x:1' }] },
  });
  await clock.advance(10_000);
  const { observer, mirror, end } = await watching(at, clock);
  const told = mirror.told;
  const outlook = observer.outlook('w1', { force: false, deleteEmptyDirData: false });
  assert.deepEqual(
    [outlook.stay, outlook.blockers.map(({ what, reason }) => `${what} ${reason}`)],
    [0, ['shop/alone Unmanaged']],
  );
  assert.deepEqual(observer.outlook('w1', { force: true, deleteEmptyDirData: false }).blockers, []);
  await clock.advance(1000);
  assert.equal(mirror.told, told);
  await end();
});

test('a maintenance of a node that is not there is shown all the same', async () => {
  const clock = new VirtualClock();
  const at = place(clock);
  const { observer, node, end } = await watching(at, clock);
  const asked = maintain(at.ports, observer.maker(), { node: 'w9', ...order });
  await clock.advance(1000);
  await asked;
  assert.deepEqual(
    [node('w9').missing, node('w9').holds.length, observer.hasNode('w9')],
    [true, 1, false],
  );
  await end();
});

test('a kind that the cluster does not serve is no trouble; what cannot be read is named until it can', async () => {
  const clock = new VirtualClock();
  const at = place(clock, []);
  const refusing: Watcher = {
    watch: async (collection, project, sink, signal) => {
      if (collection.path !== '/api/v1/events')
        return at.ports.watch(collection, project, sink, signal);
      sink.failing?.({ message: 'events is forbidden', status: 403, retryInMs: 1000 });
    },
  };
  const { observer, end } = await watching(
    { ...at, ports: { ...(at.ports as Api), ...refusing } },
    clock,
  );
  assert.deepEqual(observer.scene().facts, {
    access: 'link',
    cluster: 'test',
    loading: [],
    unreadable: [{ what: 'events', message: 'events is forbidden' }],
  });
  await clock.advance(60_000);
  assert.deepEqual(observer.scene().facts.unreadable, []);
  await end();
});

test('of 1,000 nodes and 10,000 pods, a change of one pod is a delta of the counts of one node, four times a second at most', async () => {
  const clock = new VirtualClock();
  const cluster = createCluster({ clock, random: () => 0.5 });
  load(cluster.registry, many(1000, 10));
  const observer = new Observer({
    watcher: inProcess(cluster, { userAgent: 'test' }),
    adapters: [],
    access: 'read-only',
    cluster: '',
    clock,
    log: silentLog,
    defects: new PanicHandler({ log: silentLog }),
  });
  const deltas: Delta[] = [];
  observer.listen((_revision, delta) => deltas.push(delta ?? {}));
  const done = new AbortController();
  const running = observer.run(done.signal);
  await clock.advance(500);
  const { nodes, pods, counts, facts } = observer.scene();
  const seventh = counts.find(({ key }) => key === 'node-7');
  assert.deepEqual(
    [nodes.length, pods.length, counts.length, seventh, facts.counted],
    [1000, 0, 1000, { key: 'node-7', running: 10 }, true],
  );
  deltas.length = 0;
  for (let change = 0; change < 10; change += 1) {
    load(cluster.registry, many(1, 1, change % 2 === 0 ? 'False' : 'True'));
    await clock.advance(100);
  }
  await clock.advance(500);
  assert.ok(deltas.length <= 5, `${deltas.length} deltas in 1.5 s`);
  for (const { counts, ...rest } of deltas)
    assert.deepEqual([counts?.map(({ key }) => key), Object.keys(rest)], [['node-0'], []]);
  assert.deepEqual(
    observer.podsOn('node-7').length,
    10,
    'of one node they are told when somebody asks',
  );
  done.abort();
  await running;
});
