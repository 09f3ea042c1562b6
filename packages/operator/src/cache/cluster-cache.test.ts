import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { JsonObject } from '@drydock/apimachinery';
import { maintenance, readMaintenanceWindow } from '@drydock/apis';
import { writeHoldRecord } from '@drydock/core/hold';
import { beforeAnnotation, readNode } from '@drydock/core/node';
import type { KindAdapter } from '@drydock/core/request';
import type { Collection } from '@drydock/kube-client';
import { PanicHandler, VirtualClock } from '@drydock/utils';
import { FakeCluster, uidOf } from '../testing/fake-cluster.ts';
import { FakeLog, settle } from '../testing/fakes.ts';
import { ClusterCache } from './cluster-cache.ts';
import { type Namespaces, namespacesOf } from './node-cache.ts';
import { lackText } from './window-freshness.ts';

const adapter = maintenance('leases');
function node(name: string): string {
  return `/api/v1/nodes/${name}`;
}
function request(name: string): string {
  return `${adapter.path}/${name}`;
}
function lease(name: string): string {
  return `/apis/coordination.k8s.io/v1/namespaces/leases/leases/node-${name}`;
}
const member = { 'node-role.kubernetes.io/control-plane': '' };

function rawNode(name: string, over: JsonObject = {}, labels: JsonObject = {}): JsonObject {
  return {
    metadata: { name, labels },
    spec: {},
    status: {},
    ...over,
  };
}
/** Another kind, whose leases are in a namespace of their own. */
const other: KindAdapter = {
  ...adapter,
  name: 'others.test',
  path: '/apis/test/v1/others',
  lease: nodeName => ({
    namespace: 'others',
    name: `node-${nodeName}`,
    holder: 'node-maintenance',
    released: 'deleted',
  }),
};
function otherLease(name: string): string {
  return lease(name).replace('/leases/leases/', '/others/leases/');
}

function rawRequest(nodeName: string): JsonObject {
  return { metadata: { name: nodeName, generation: 1 }, spec: { nodeName } };
}

/** A world that has read everything; what it tells from then on. */
async function watched(
  fill: (cluster: FakeCluster) => void,
  scope?: 'drain',
  {
    adapters = [adapter],
    ...more
  }: { readonly adapters?: readonly KindAdapter[]; readonly namespaces?: Namespaces } = {},
) {
  const cluster = new FakeCluster();
  fill(cluster);
  const [touched, foreign]: [string[], string[]] = [[], []];
  const collections: Collection[] = [];
  const stop = new AbortController();
  const clusterCache = new ClusterCache({
    api: cluster,
    watcher: {
      watch: (collection, project, handler, signal) => {
        collections.push(collection);
        return cluster.watch(collection, project, handler, signal);
      },
    },
    clock: new VirtualClock(),
    adapters,
    readWindow: readMaintenanceWindow,
    events: {
      touched: name => touched.push(name),
      budgetChanged: () => {},
      podChanged: () => {},
      foreign: ({ name }) => foreign.push(name),
    },
    log: new FakeLog(),
    defects: new PanicHandler({ log: new FakeLog() }),
    ...more,
    ...(scope && { scope }),
  });
  const running = clusterCache.run(stop.signal);
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
  return {
    cluster,
    clusterCache,
    foreign,
    collections,
    first: [...new Set(touched)].sort(),
    by,
    end,
  };
}

test('once all has been read, the nodes that somebody wants, and those with something of ours, are looked at', async () => {
  const { first, clusterCache, end } = await watched(cluster => {
    for (const name of ['wanted', 'plain', 'leased', 'held'])
      cluster.put(node(name), rawNode(name));
    cluster.put(node('held'), {
      metadata: { name: 'held', annotations: { 'drydock.dev/before': '{}' } },
      spec: {},
      status: {},
    });
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
  assert.deepEqual(clusterCache.unsynced, []);
  await end();
});

describe('a node is looked at again', () => {
  const one = (cluster: FakeCluster): void => {
    for (const name of ['n1', 'n2']) cluster.put(node(name), rawNode(name));
    cluster.put(request('n1'), rawRequest('n1'));
  };

  test('when it changes in what matters, and somebody wants it', async () => {
    const { cluster, by, end } = await watched(one);
    assert.deepEqual(await by(() => cluster.put(node('n1'), rawNode('n1'))), [], 'a heartbeat');
    assert.deepEqual(
      await by(() => cluster.put(node('n1'), rawNode('n1', { spec: { unschedulable: true } }))),
      ['n1'],
    );
    assert.deepEqual(
      await by(() => cluster.put(node('n2'), rawNode('n2', { spec: { unschedulable: true } }))),
      [],
      'nobody wants it',
    );
    assert.deepEqual(await by(() => cluster.remove(node('n1'))), ['n1']);
    assert.deepEqual(await by(() => cluster.put(node('n1'), rawNode('n1'))), ['n1']);
    await end();
  });

  test('when its lease, a volume of it or a DaemonSet changes, and when a request moves', async () => {
    const { cluster, by, end } = await watched(one);
    const someLease = (name: string) =>
      cluster.put(lease(name), {
        metadata: { namespace: 'leases', name: `node-${name}` },
        spec: { holderIdentity: 'another' },
      });
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
    assert.deepEqual(
      await by(() => cluster.put(request('n2'), { ...rawRequest('n2'), spec: { nodeName: 'n3' } })),
      ['n2', 'n3'],
    );
    assert.deepEqual(await by(() => cluster.remove(request('n1'))), ['n1']);
    await end();
  });

  test('when a hold is put on it, also one that nobody known has asked for', async () => {
    const { cluster, by, end } = await watched(one);
    const held = { metadata: { name: 'n2', annotations: { 'drydock.dev/before': '{}' } } };
    assert.deepEqual(await by(() => cluster.put(node('n2'), rawNode('n2', held))), ['n2']);
    assert.deepEqual(await by(() => cluster.put(node('n2'), rawNode('n2'))), ['n2']);
    await end();
  });

  test('when a lease of any kind changes, also of a kind that nobody uses on it', async () => {
    const { cluster, by, first, end } = await watched(
      cluster => {
        one(cluster);
        cluster.put(node('n3'), rawNode('n3'));
        cluster.put(otherLease('n3'), {
          metadata: { namespace: 'others', name: 'node-n3' },
          spec: { holderIdentity: 'node-maintenance', leaseDurationSeconds: 60 },
        });
      },
      undefined,
      { adapters: [adapter, other] },
    );
    assert.deepEqual(first, ['n1', 'n3']);
    const taken = {
      metadata: { namespace: 'others', name: 'node-n1' },
      spec: { holderIdentity: 'another' },
    };
    assert.deepEqual(await by(() => cluster.put(otherLease('n1'), taken)), ['n1']);
    await end();
  });

  test('when a DaemonSet comes or goes, and pods of the node are watched', async () => {
    const { cluster, clusterCache, collections, by, end } = await watched(one);
    const path = '/apis/apps/v1/namespaces/shop/daemonsets/agent';
    const agent = (labels = {}): JsonObject => ({
      metadata: { namespace: 'shop', name: 'agent', labels },
    });
    assert.deepEqual(await by(() => cluster.put(path, agent())), []);
    clusterCache.pods.start('n1');
    await settle();
    assert.deepEqual([...(clusterCache.daemonSetNames ?? [])], ['shop/agent']);
    assert.deepEqual(await by(() => cluster.put(path, agent({ x: 'y' }))), []);
    assert.deepEqual(await by(() => cluster.remove(path)), ['n1']);
    assert.deepEqual([...(clusterCache.daemonSetNames ?? ['x'])], []);
    const asked = collections.filter(({ metadataOnly }) => metadataOnly);
    assert.deepEqual(
      asked.map(({ path: collection }) => collection),
      ['/apis/apps/v1/daemonsets'],
      'of which only the names are read',
    );
    await end();
  });

  test('when a VM on it changes and somebody wants the node', async () => {
    const vm = (nodeName: string): string =>
      `/apis/kubevirt.io/v1/namespaces/vms/virtualmachineinstances/${nodeName}`;
    const rawVm = (nodeName: string, phase: string): JsonObject => ({
      metadata: { namespace: 'vms', name: nodeName },
      spec: {},
      status: { nodeName, phase },
    });
    const { cluster, by, first, end } = await watched(cluster => {
      one(cluster);
      cluster.put(vm('n2'), rawVm('n2', 'Running'));
    });
    assert.deepEqual(first, ['n1']);
    assert.deepEqual(await by(() => cluster.put(vm('n1'), rawVm('n1', 'Running'))), ['n1']);
    assert.deepEqual(await by(() => cluster.put(vm('n2'), rawVm('n2', 'Succeeded'))), []);
    await end();
    const unread = await watched(cluster => {
      one(cluster);
      cluster.hold('/api/v1/nodes');
      cluster.put(vm('n1'), rawVm('n1', 'Running'));
    });
    assert.deepEqual(unread.clusterCache.unsynced, ['nodes']);
    assert.deepEqual(
      await unread.by(() => unread.cluster.put(vm('n1'), rawVm('n1', 'Succeeded'))),
      [],
      'not before all has been read',
    );
    await unread.end();
  });

  test('when a window changes; its status is ours, and says nothing new', async () => {
    const { cluster, by, end } = await watched(one);
    const path = '/apis/drydock.dev/v1alpha1/maintenancewindows/w';
    const window = (generation: number, status = {}): JsonObject => ({
      metadata: { name: 'w', generation },
      spec: {},
      status,
    });
    assert.deepEqual(await by(() => cluster.put(path, window(1))), ['n1']);
    assert.deepEqual(await by(() => cluster.put(path, window(1, { active: true }))), []);
    assert.deepEqual(await by(() => cluster.put(path, window(2))), ['n1']);
    assert.deepEqual(await by(() => cluster.remove(path)), ['n1']);
    await end();
  });

  test('when another one of its quorum comes, goes or is held', async () => {
    const { cluster, clusterCache, by, end } = await watched(cluster => {
      for (const name of ['m1', 'm2', 'm3']) cluster.put(node(name), rawNode(name, {}, member));
      cluster.put(node('w'), rawNode('w'));
      for (const name of ['m1', 'm2', 'w']) cluster.put(request(name), rawRequest(name));
    });
    const ready = (status: string): JsonObject => ({
      status: { conditions: [{ type: 'Ready', status }] },
    });
    assert.deepEqual(
      await by(() => cluster.put(node('m3'), rawNode('m3', ready('True'), member))),
      ['m1', 'm2'],
    );
    assert.deepEqual(
      await by(() => cluster.put(node('m1'), rawNode('m1', ready('True'), member))),
      ['m1', 'm2'],
    );
    assert.deepEqual(
      await by(() =>
        cluster.put(
          node('m3'),
          rawNode('m3', { ...ready('True'), spec: { unschedulable: true } }, member),
        ),
      ),
      [],
    );
    assert.deepEqual(await by(() => cluster.remove(node('m3'))), ['m1', 'm2']);
    assert.deepEqual(await by(() => cluster.put(node('w'), rawNode('w', ready('True')))), ['w']);
    cluster.put(request('nobody'), rawRequest('nobody'));
    await settle();
    const held = (annotations: JsonObject): unknown => ({
      metadata: {
        name: 'm1',
        uid: uidOf(node('m1')),
        resourceVersion: '9999',
        labels: member,
        annotations,
      },
    });
    assert.deepEqual(
      await by(() => clusterCache.observeNode(readNode(held({ 'drydock.dev/before': '{}' })))),
      ['m2'],
      'by a write of ours',
    );
    assert.deepEqual(
      await by(() => clusterCache.observeNode(readNode(held({ 'drydock.dev/before': '{}' })))),
      [],
    );
    await end();
  });
});

test('who listens hears of nodes when something of them matters, and of every maintenance', async () => {
  const { cluster, clusterCache, by, end } = await watched(cluster =>
    cluster.put(node('n1'), rawNode('n1')),
  );
  const heard: string[] = [];
  const stop = clusterCache.subscribe({
    node: ({ name }) => heard.push(name),
    request: ({ name }) => heard.push(`request ${name}`),
  });
  await by(() => cluster.put(node('n1'), rawNode('n1')));
  assert.deepEqual(heard, []);
  await by(() => cluster.put(node('n1'), rawNode('n1', { spec: { unschedulable: true } })));
  await by(() => cluster.put(node('n2'), rawNode('n2')));
  await by(() => cluster.put(request('n1'), rawRequest('n1')));
  await by(() => cluster.remove(node('n2')));
  assert.deepEqual(heard, ['n1', 'n2', 'request n1', 'n2']);
  stop();
  await by(() => cluster.put(node('n1'), rawNode('n1')));
  assert.equal(heard.length, 4);
  await end();
});

test('kinds that the cluster does not have are known to have no objects; anything else that is missing is waited for', async () => {
  const missing = async (...paths: readonly string[]) => {
    const { clusterCache, end } = await watched(cluster => {
      for (const path of paths) cluster.missing.add(path);
    });
    const found = [clusterCache.unsynced, [...clusterCache.missingKinds]];
    await end();
    return found;
  };
  assert.deepEqual(await missing(adapter.path), [[], [adapter.name]]);
  assert.deepEqual(await missing('/apis/drydock.dev/v1alpha1/maintenancewindows'), [
    [],
    ['maintenancewindows.drydock.dev'],
  ]);
  assert.deepEqual((await missing('/api/v1/nodes'))[0], ['nodes']);
});

test('of two kinds, either may not be installed', async () => {
  const { clusterCache, end } = await watched(
    cluster => cluster.missing.add(other.path),
    undefined,
    { adapters: [adapter, other] },
  );
  assert.deepEqual([clusterCache.unsynced, [...clusterCache.missingKinds]], [[], [other.name]]);
  await end();
});

test('what may not be read keeps all that depends on it, and what is not there is waited for', async () => {
  const [budgets, vms] = [
    '/apis/policy/v1/poddisruptionbudgets',
    '/apis/kubevirt.io/v1/virtualmachineinstances',
  ];
  const unsynced = async (lack: 'missing' | 'withheld', path: string, scope?: 'drain') => {
    const { clusterCache, end } = await watched(cluster => cluster[lack].add(path), scope);
    const found = clusterCache.unsynced;
    await end();
    return found;
  };
  assert.deepEqual(await unsynced('withheld', vms), []);
  assert.deepEqual(await unsynced('withheld', '/api/v1/nodes'), ['nodes']);
  assert.deepEqual(await unsynced('withheld', budgets), []);
  assert.deepEqual(await unsynced('withheld', budgets, 'drain'), []);
  assert.deepEqual(await unsynced('missing', budgets, 'drain'), ['poddisruptionbudgets']);
});

test('a node is left as it is where something that has a say about it may not be read, and only then', async () => {
  const lackFor = async (path: string, annotations: Readonly<Record<string, string>> = {}) => {
    const { clusterCache, end } = await watched(each => each.withheld.add(path), undefined, {
      adapters: [adapter, other],
    });
    const metadata = {
      name: 'n1',
      uid: 'n1',
      resourceVersion: '1',
      creationTimestamp: '2026-01-01T00:00:00Z',
      annotations,
    };
    clusterCache.nodes.apply({
      type: 'added',
      object: clusterCache.nodes.read({ metadata, spec: {}, status: {} }),
    });
    const found = [
      clusterCache.isReading,
      clusterCache.lackFor('n1'),
      lackText(clusterCache)?.split(' ')[4]?.replace(/,$/, ''),
    ];
    await end();
    return found;
  };
  const heldBy = (...kinds: readonly string[]) => ({
    [beforeAnnotation]: writeHoldRecord({ unschedulable: false, taints: {}, labels: {}, kinds }),
  });
  assert.deepEqual(await lackFor('/api/v1/nodes'), [false, 'nodes', 'nodes']);
  assert.deepEqual(await lackFor(other.path), [false, undefined, other.name], 'nobody holds it');
  assert.deepEqual(await lackFor(other.path, heldBy(other.name)), [false, other.name, other.name]);
  assert.deepEqual(
    await lackFor(other.path, heldBy(adapter.name)),
    [false, undefined, other.name],
    'another kind holds it',
  );
  assert.deepEqual(
    await lackFor(other.path, heldBy()),
    [false, other.name, other.name],
    'who holds it is not known',
  );
  for (const path of [
    '/apis/policy/v1/poddisruptionbudgets',
    '/apis/apps/v1/daemonsets',
    '/apis/storage.k8s.io/v1/volumeattachments',
  ])
    assert.deepEqual(
      await lackFor(path, heldBy(adapter.name)),
      [false, undefined, undefined],
      path,
    );
});

test('of a kind that has namespaces, what is elsewhere than where it counts is told and not known; nobody asks where others are', async () => {
  const inNamespaces: KindAdapter = {
    ...adapter,
    read: raw => {
      const read = adapter.read(raw);
      const { namespace } = (raw as { readonly metadata: { readonly namespace?: string } })
        .metadata;
      return typeof read === 'string' || namespace === undefined ? read : { ...read, namespace };
    },
  };
  const known = async (namespaces?: Namespaces) => {
    const fill = (cluster: FakeCluster): void => {
      for (const name of ['own', 'theirs'])
        cluster.put(request(name), {
          metadata: { name, namespace: name, generation: 1 },
          spec: { nodeName: name },
        });
      cluster.put(request('wide'), rawRequest('wide'));
    };
    const { clusterCache, foreign, end } = await watched(fill, undefined, {
      adapters: [inNamespaces],
      ...(namespaces && { namespaces }),
    });
    const names = [...clusterCache.requests.values()].map(({ name }) => name);
    await end();
    return [names, foreign];
  };
  assert.deepEqual(await known(namespacesOf('own', [])), [['own', 'wide'], ['theirs']]);
  assert.deepEqual(await known(namespacesOf('own', ['*'])), [['own', 'theirs', 'wide'], []]);
  assert.deepEqual(await known(), [['own', 'theirs', 'wide'], []]);
});

test('for a drain alone, nodes and their maintenances are not watched', async () => {
  const { cluster, clusterCache, end } = await watched(() => {}, 'drain');
  assert.ok(!cluster.followed.includes('/api/v1/nodes'));
  assert.deepEqual(clusterCache.unsynced, []);
  assert.deepEqual([...(clusterCache.daemonSetNames ?? ['x'])], []);
  await end();
});
