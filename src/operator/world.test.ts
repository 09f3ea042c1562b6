import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { JsonObject } from '../core/json.ts';
import { maintenance } from '../generations/maintenance.ts';
import { readMaintenanceWindow } from '../generations/maintenance-window.ts';
import { HandClock } from '../support/hand-clock.ts';
import { Cluster } from './testing/cluster.ts';
import { Lines, settle } from './testing/fakes.ts';
import { World } from './world.ts';

const dialect = maintenance('leases');
const node = (name: string): string => `/api/v1/nodes/${name}`;
const request = (name: string): string => `${dialect.path}/${name}`;
const lease = (name: string): string => `/apis/coordination.k8s.io/v1/namespaces/leases/leases/node-${name}`;
const member = { 'node-role.kubernetes.io/control-plane': '' };

const rawNode = (name: string, over: JsonObject = {}, labels: JsonObject = {}): JsonObject => ({
  metadata: { name, labels },
  spec: {},
  status: {},
  ...over,
});
const rawRequest = (nodeName: string): JsonObject => ({ metadata: { name: nodeName, generation: 1 }, spec: { nodeName } });

/** A world that has read everything; what it tells from then on. */
const watched = async (fill: (cluster: Cluster) => void, scope?: 'drain') => {
  const cluster = new Cluster();
  fill(cluster);
  const touched: string[] = [];
  const stop = new AbortController();
  const world = new World({
    api: cluster,
    watcher: cluster,
    clock: new HandClock(),
    dialects: [dialect],
    readWindow: readMaintenanceWindow,
    events: { touched: name => touched.push(name), budgetChanged: () => {}, podChanged: () => {}, foreign: () => {} },
    log: new Lines(),
    ...(scope && { scope }),
  });
  const running = world.run(stop.signal);
  await settle();
  /** Nodes that are touched by what happens. */
  const by = async (happens: () => unknown): Promise<readonly string[]> => {
    touched.length = 0;
    happens();
    await settle();
    return [...new Set(touched)].sort();
  };
  const end = async (): Promise<void> => {
    stop.abort();
    await running;
  };
  return { cluster, world, first: [...new Set(touched)].sort(), by, end };
};

test('once all has been read, the nodes that somebody wants, and those with something of ours, are looked at', async () => {
  const { first, world, end } = await watched(cluster => {
    for (const name of ['wanted', 'plain', 'leased', 'held']) cluster.put(node(name), rawNode(name));
    cluster.put(node('held'), { metadata: { name: 'held', annotations: { 'drydock.dev/before': '{}' } }, spec: {}, status: {} });
    cluster.put(request('wanted'), rawRequest('wanted'));
    cluster.put(lease('leased'), {
      metadata: { namespace: 'leases', name: 'node-leased' },
      spec: { holderIdentity: 'node-maintenance', leaseDurationSeconds: 60 },
    });
    cluster.put(lease('plain'), {
      metadata: { namespace: 'leases', name: 'node-plain' },
      spec: { holderIdentity: 'another', leaseDurationSeconds: 60 },
    });
  });
  assert.deepEqual(first, ['held', 'leased', 'wanted']);
  assert.deepEqual(world.unsynced, []);
  await end();
});

describe('a node is looked at again', () => {
  const one = (cluster: Cluster): void => {
    for (const name of ['n1', 'n2']) cluster.put(node(name), rawNode(name));
    cluster.put(request('n1'), rawRequest('n1'));
  };

  test('when it changes in what matters, and somebody wants it', async () => {
    const { cluster, by, end } = await watched(one);
    assert.deepEqual(await by(() => cluster.put(node('n1'), rawNode('n1'))), [], 'a heartbeat');
    assert.deepEqual(await by(() => cluster.put(node('n1'), rawNode('n1', { spec: { unschedulable: true } }))), ['n1']);
    assert.deepEqual(await by(() => cluster.put(node('n2'), rawNode('n2', { spec: { unschedulable: true } }))), [], 'nobody wants it');
    assert.deepEqual(await by(() => cluster.remove(node('n1'))), ['n1']);
    assert.deepEqual(await by(() => cluster.put(node('n1'), rawNode('n1'))), ['n1']);
    await end();
  });

  test('when its lease, a volume of it or a DaemonSet changes, and when a wish moves', async () => {
    const { cluster, by, end } = await watched(one);
    const someLease = (name: string) =>
      cluster.put(lease(name), { metadata: { namespace: 'leases', name: `node-${name}` }, spec: { holderIdentity: 'another' } });
    assert.deepEqual(await by(() => someLease('n1')), ['n1']);
    assert.deepEqual(await by(() => someLease('n2')), []);
    const attached = (nodeName: string) =>
      cluster.put(`/apis/storage.k8s.io/v1/volumeattachments/${nodeName}`, {
        metadata: { name: nodeName },
        spec: { nodeName, source: {} },
      });
    assert.deepEqual(await by(() => attached('n1')), ['n1']);
    assert.deepEqual(await by(() => attached('n2')), []);
    assert.deepEqual(await by(() => cluster.put(request('n2'), rawRequest('n2'))), ['n2']);
    assert.deepEqual(await by(() => cluster.put(request('n2'), { ...rawRequest('n2'), spec: { nodeName: 'n3' } })), ['n2', 'n3']);
    assert.deepEqual(await by(() => cluster.remove(request('n1'))), ['n1']);
    await end();
  });

  test('when a window changes; its status is ours, and says nothing new', async () => {
    const { cluster, by, end } = await watched(one);
    const path = '/apis/drydock.dev/v1alpha1/maintenancewindows/w';
    const window = (generation: number, status = {}): JsonObject => ({ metadata: { name: 'w', generation }, spec: {}, status });
    assert.deepEqual(await by(() => cluster.put(path, window(1))), ['n1']);
    assert.deepEqual(await by(() => cluster.put(path, window(1, { active: true }))), []);
    assert.deepEqual(await by(() => cluster.put(path, window(2))), ['n1']);
    assert.deepEqual(await by(() => cluster.remove(path)), ['n1']);
    await end();
  });

  test('when another one of its quorum comes, goes or is held', async () => {
    const { cluster, by, end } = await watched(cluster => {
      for (const name of ['m1', 'm2', 'm3']) cluster.put(node(name), rawNode(name, {}, member));
      cluster.put(node('w'), rawNode('w'));
      for (const name of ['m1', 'm2', 'w']) cluster.put(request(name), rawRequest(name));
    });
    const ready = (status: string): JsonObject => ({ status: { conditions: [{ type: 'Ready', status }] } });
    assert.deepEqual(await by(() => cluster.put(node('m3'), rawNode('m3', ready('True'), member))), ['m1', 'm2']);
    assert.deepEqual(await by(() => cluster.put(node('m1'), rawNode('m1', ready('True'), member))), ['m1', 'm2']);
    assert.deepEqual(
      await by(() => cluster.put(node('m3'), rawNode('m3', { ...ready('True'), spec: { unschedulable: true } }, member))),
      [],
    );
    assert.deepEqual(await by(() => cluster.remove(node('m3'))), ['m1', 'm2']);
    assert.deepEqual(await by(() => cluster.put(node('w'), rawNode('w', ready('True')))), ['w']);
    await end();
  });
});

test('who listens hears of nodes when something of them matters, and of every maintenance', async () => {
  const { cluster, world, by, end } = await watched(cluster => cluster.put(node('n1'), rawNode('n1')));
  const heard: string[] = [];
  const stop = world.subscribe({ node: ({ name }) => heard.push(name), request: ({ name }) => heard.push(`wish ${name}`) });
  await by(() => cluster.put(node('n1'), rawNode('n1')));
  assert.deepEqual(heard, []);
  await by(() => cluster.put(node('n1'), rawNode('n1', { spec: { unschedulable: true } })));
  await by(() => cluster.put(node('n2'), rawNode('n2')));
  await by(() => cluster.put(request('n1'), rawRequest('n1')));
  await by(() => cluster.remove(node('n2')));
  assert.deepEqual(heard, ['n1', 'n2', 'wish n1', 'n2']);
  stop();
  await by(() => cluster.put(node('n1'), rawNode('n1')));
  assert.equal(heard.length, 4);
  await end();
});

test('kinds that the cluster does not have are known to have no objects; anything else that is missing is waited for', async () => {
  const missing = async (...paths: readonly string[]) => {
    const { world, end } = await watched(cluster => {
      for (const path of paths) cluster.missing.add(path);
    });
    const found = [world.unsynced, [...world.missingKinds]];
    await end();
    return found;
  };
  assert.deepEqual(await missing(dialect.path), [[], [dialect.name]]);
  assert.deepEqual(await missing('/apis/drydock.dev/v1alpha1/maintenancewindows'), [[], ['maintenancewindows.drydock.dev']]);
  assert.deepEqual((await missing('/api/v1/nodes'))[0], ['nodes']);
});

test('for a drain alone, nodes and their maintenances are not watched', async () => {
  const { cluster, world, end } = await watched(() => {}, 'drain');
  assert.ok(!cluster.followed.includes('/api/v1/nodes'));
  assert.deepEqual(world.unsynced, []);
  assert.deepEqual([...(world.daemonSetNames ?? ['x'])], []);
  await end();
});
