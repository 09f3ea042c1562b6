import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ActiveResponder, EvictionRequest } from '@drydock/core/drain';
import { emptyMemo, type NodeSnapshot } from '@drydock/core/maintenance';
import type { Node } from '@drydock/core/node';
import type { Pod } from '@drydock/core/pod';
import { type MaintenanceRequest, noHistory } from '@drydock/core/request';
import {
  at,
  makeBudget,
  makeEvictionRequest,
  makeNode,
  makePod,
  makeRequest,
  makeVms,
} from '@drydock/core/testing';
import type { Hypervisors } from '@drydock/core/vm';
import type { MaintenanceWindow } from '@drydock/core/window';
import type { CachedObject } from '@drydock/kube-client';
import { Cache } from '../cache/cache.ts';
import { NodeCache } from '../cache/node-cache.ts';
import { LookupCache, snapshots } from './take-snapshot.ts';

type Sources = Parameters<typeof snapshots>[0];

function cacheOf<T extends CachedObject>(
  objects: readonly T[],
  group: (object: T) => string,
): Cache<T> {
  const cache = new Cache<T>(group);
  for (const object of objects) cache.observe(object);
  return cache;
}

function nodeCacheOf(nodes: readonly Node[]): NodeCache {
  const cache = new NodeCache();
  for (const object of nodes) cache.observe(object);
  return cache;
}

type Known = {
  readonly responders?: ReadonlyMap<string, ActiveResponder>;
  readonly evictionRequests?: ReadonlyMap<string, EvictionRequest>;
  readonly areAnswered?: boolean;
  readonly pods?: readonly Pod[];
  readonly nodes?: readonly Node[];
  readonly requests?: readonly MaintenanceRequest[];
  readonly knownTo?: readonly string[];
  readonly windows?: readonly Pick<MaintenanceWindow, 'key' | 'uid' | 'resourceVersion'>[];
  readonly vms?: NodeSnapshot['vms'];
  readonly daemonSetNames?: ReadonlySet<string>;
  /** Nodes that have a seat in the quorum. */
  readonly seats?: readonly string[];
  readonly options?: Partial<Sources['options']>;
};

/** The snapshot of n1. */
function snapshotOf({
  nodes = [makeNode()],
  requests = [],
  windows = [],
  knownTo = [],
  vms,
  daemonSetNames,
  seats = [],
  responders = new Map(),
  evictionRequests = new Map(),
  areAnswered = false,
  pods,
  options,
}: Known = {}): NodeSnapshot {
  const none = cacheOf<CachedObject>([], () => '');
  const etcd = makeBudget('etcd', { key: 'openshift-etcd/etcd', namespace: 'openshift-etcd' });
  const cache = {
    nodes: nodeCacheOf(nodes),
    requests: cacheOf(requests, ({ nodeName }) => nodeName),
    windows: cacheOf(windows, () => ''),
    knownWindows: { areKnownTo: ({ uid }: { readonly uid: string }) => knownTo.includes(uid) },
    budgets: cacheOf([etcd, makeBudget('web')], ({ namespace }) => namespace),
    pods: { of: () => pods, isConfirmed: () => false, problemOf: () => undefined },
    budgetIndex: { over: () => [] },
    leases: none,
    attachmentsOf: () => [],
    missingKinds: new Set(),
    vms: { of: () => vms },
    lifecycleEvictions: {
      of: (pods: readonly { readonly uid: string }[]) =>
        new Map([...responders].filter(([uid]) => pods.some(pod => pod.uid === uid))),
      requestsOf: () => evictionRequests,
      areAnswered: () => areAnswered,
    },
    daemonSetNames,
  };
  const sources = {
    cache,
    nodeStates: { of: (name: string) => ({ notes: { ...emptyMemo, seat: seats.includes(name) } }) },
    evictor: { attemptsOf: () => new Map() },
    inFlight: { about: () => [] },
    lookedUp: new LookupCache(),
    clock: { now: () => at(0) },
    options: { adapters: [], terms: { durationSeconds: 1, renewEverySeconds: 1 }, ...options },
  };
  return snapshots(sources as unknown as Sources)('n1');
}

function member(
  name: string,
  labels: Node['labels'] = { 'node-role.kubernetes.io/control-plane': '' },
): Node {
  return makeNode({ key: name, name, uid: name, labels });
}

test('the quorum is in the picture of its members, with the seats that the others have taken', () => {
  assert.equal('quorum' in snapshotOf({ nodes: [member('n1', {}), member('n2')] }), false);
  assert.equal(
    'quorum' in snapshotOf({ nodes: [member('n2')] }),
    false,
    'a node that is not there is no member',
  );
  const { quorum } = snapshotOf({
    nodes: [member('n1'), member('n2'), member('n3'), member('w', {})],
    seats: ['n1', 'n3', 'w'],
  });
  assert.deepEqual(
    [quorum?.members.map(({ name }) => name), [...(quorum?.seats ?? [])]],
    [['n1', 'n2', 'n3'], ['n3']],
  );
});

test('budgets of etcd are looked at on OpenShift only', () => {
  const budgets = (options: Partial<Sources['options']>) =>
    snapshotOf({ nodes: [member('n1')], options }).quorum?.etcdBudgets?.map(({ name }) => name);
  assert.deepEqual(
    [budgets({ openShift: true }), budgets({ openShift: false }), budgets({})],
    [['etcd'], undefined, undefined],
  );
});

test('VMs, hypervisors and DaemonSets are in the picture where somebody knows of them', () => {
  const hypervisors: Hypervisors = { of: () => 'none', want: () => {} };
  const all: Known = {
    vms: makeVms(),
    daemonSetNames: new Set(['shop/agent']),
    options: { hypervisors },
  };
  const keys = ['vms', 'host', 'daemonSets'];
  assert.deepEqual(
    keys.filter(key => key in snapshotOf(all)),
    keys,
  );
  assert.deepEqual(
    keys.filter(key => key in snapshotOf()),
    [],
  );
  assert.equal(snapshotOf(all).host, 'none');
});

test('how long drains have taken is reckoned only where there is a window that it could matter to', () => {
  const requests = [
    makeRequest('one', { history: { ...noHistory, drainStartedAt: at(0), drainedAt: at(90) } }),
  ];
  const windows = [{ key: 'w', uid: 'w', resourceVersion: '1' }];
  assert.equal(snapshotOf({ requests, windows }).drainSeconds, 90);
  assert.equal('drainSeconds' in snapshotOf({ requests }), false);
});

test('for each request it is said whether all windows are known that were there before it', () => {
  const requests = ['one', 'other'].map(name => makeRequest(name));
  const { uid } = makeRequest('one');
  assert.deepEqual(snapshotOf({ requests, knownTo: [uid, 'gone'] }).windowsKnownTo, new Set([uid]));
});

test('responders of Evictions are in the picture of the pods that are there, and of those that have been requested', () => {
  const responders = new Map(
    ['uid-shop-a', 'uid-gone', 'elsewhere'].map(uid => [
      uid,
      { name: 'mover.example/m', createdAt: at(0) },
    ]),
  );
  const evictionRequests = new Map([
    ['shop/drydock-uid-gone', makeEvictionRequest({ podUid: 'uid-gone' })],
  ]);
  assert.deepEqual(
    [
      ...(
        snapshotOf({ responders, evictionRequests, pods: [makePod('a')] }).responders ?? []
      ).keys(),
    ],
    ['uid-shop-a', 'uid-gone'],
  );
  assert.ok(!('responders' in snapshotOf({ pods: [makePod('a')] })));
});

test('requests are in the picture where one may be made, and where some are left', () => {
  assert.ok(!('evictionRequests' in snapshotOf()));
  const mayBeMade = snapshotOf({
    areAnswered: true,
    options: { evictionRequests: 'Auto' },
  }).evictionRequests;
  assert.deepEqual(
    [mayBeMade?.mode, mayBeMade?.areAnswered, mayBeMade?.node?.name],
    ['Auto', true, 'n1'],
  );
  const own = new Map([['shop/drydock-uid-gone', makeEvictionRequest({ podUid: 'uid-gone' })]]);
  assert.deepEqual(snapshotOf({ evictionRequests: own, nodes: [] }).evictionRequests, {
    mode: 'Never',
    areAnswered: false,
    own,
  });
});
