import assert from 'node:assert/strict';
import { test } from 'node:test';
import { emptyMemo } from '@drydock/core/maintenance';
import { PanicHandler, VirtualClock } from '@drydock/utils';
import { ClusterCache } from '../cache/cluster-cache.ts';
import { FakeCluster } from '../testing/fake-cluster.ts';
import { FakeLog, settle } from '../testing/fakes.ts';
import { NodeStates } from './node-states.ts';
import { LookupCache, snapshots } from './take-snapshot.ts';

const labels = { 'node-role.kubernetes.io/control-plane': '' };

test('a control-plane node that nobody has looked at yet takes no seat; one that is about to be held does', async () => {
  const cluster = new FakeCluster();
  for (const name of ['n1', 'n2', 'n3'])
    cluster.put(`/api/v1/nodes/${name}`, { metadata: { name, labels }, spec: {}, status: {} });
  const stop = new AbortController();
  const events = {
    touched: () => {},
    budgetChanged: () => {},
    podChanged: () => {},
    foreign: () => {},
  };
  const cache = new ClusterCache({
    api: cluster,
    watcher: cluster,
    clock: new VirtualClock(),
    adapters: [],
    events,
    log: new FakeLog(),
    defects: new PanicHandler({ log: new FakeLog() }),
  });
  const running = cache.run(stop.signal);
  await settle();
  const nodeStates = new NodeStates();
  const options = { adapters: [], terms: { durationSeconds: 3600, renewEverySeconds: 900 } };
  const [evictor, inFlight] = [{ attemptsOf: () => new Map() }, { about: () => [] }];
  const sources = {
    cache,
    nodeStates,
    evictor,
    inFlight,
    lookedUp: new LookupCache(),
    options,
    clock: new VirtualClock(),
  };
  const look = snapshots(sources as unknown as Parameters<typeof snapshots>[0]);
  assert.equal(look('n1').quorum?.members.length, 3);
  assert.deepEqual(look('n1').quorum?.seats, new Set());
  nodeStates.note('n2', { ...emptyMemo, seat: true }, 0);
  assert.deepEqual(look('n1').quorum?.seats, new Set(['n2']));
  assert.deepEqual(look('n2').quorum?.seats, new Set(), 'its own does not count');
  stop.abort();
  await running;
});
