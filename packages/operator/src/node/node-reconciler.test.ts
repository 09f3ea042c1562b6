import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isObject, type JsonObject } from '@drydock/apimachinery';
import { machineAdapter, maintenance } from '@drydock/apis';
import { windowsPath } from '@drydock/core/window';
import type { ApiCall, ApiResponse } from '@drydock/kube-client';
import { PanicHandler, VirtualClock } from '@drydock/utils';
import { FakeCluster } from '../testing/fake-cluster.ts';
import { FakeLog, FakeMeter, FakeRecorder, failure, response, settle } from '../testing/fakes.ts';
import { lateWatch } from '../testing/late-watch.ts';
import { NodeReconciler } from './node-reconciler.ts';

const adapter = maintenance('leases');
function nodePath(name: string): string {
  return `/api/v1/nodes/${name}`;
}
function requestPath(name: string): string {
  return `${adapter.path}/${name}`;
}
function leasePath(node: string): string {
  return `/apis/coordination.k8s.io/v1/namespaces/leases/leases/node-${node}`;
}
function podPath(name: string, namespace = 'shop'): string {
  return `/api/v1/namespaces/${namespace}/pods/${name}`;
}
function budgetPath(namespace = 'shop'): string {
  return `/apis/policy/v1/namespaces/${namespace}/poddisruptionbudgets/web`;
}

function addNode(cluster: FakeCluster, name: string): unknown {
  return cluster.put(nodePath(name), { metadata: { name }, spec: {}, status: {} });
}

function addRequest(cluster: FakeCluster, node: string): unknown {
  return cluster.put(requestPath(node), {
    metadata: { name: node, generation: 1, creationTimestamp: '2026-01-01T00:00:00Z' },
    spec: { nodeName: node, drain: { force: true } },
  });
}

function addPod(cluster: FakeCluster, name: string, node: string, namespace = 'shop'): unknown {
  return cluster.put(podPath(name, namespace), {
    metadata: { name, namespace, labels: { app: 'web' }, deletionGracePeriodSeconds: 30 },
    spec: { nodeName: node },
    status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
  });
}

function allow(cluster: FakeCluster, disruptionsAllowed: number, namespace = 'shop'): unknown {
  return cluster.put(budgetPath(namespace), {
    metadata: { name: 'web', namespace, generation: 1 },
    spec: { selector: { matchLabels: { app: 'web' } } },
    status: {
      observedGeneration: 1,
      disruptionsAllowed,
      currentHealthy: 9,
      desiredHealthy: 8,
      expectedPods: 9,
    },
  });
}

/** An operator at work on a cluster that the test has filled. */
function bench(
  fill: (cluster: FakeCluster) => void,
  { windowsLate }: { readonly windowsLate?: true } = {},
) {
  const [cluster, clock, recorder, meter, log] = [
    new FakeCluster(),
    new VirtualClock(),
    new FakeRecorder(),
    new FakeMeter(),
    new FakeLog(),
  ];
  fill(cluster);
  const leader = { yes: true };
  const operator = new NodeReconciler({
    api: cluster,
    watcher: windowsLate ? lateWatch(cluster, clock, windowsPath) : cluster,
    readWindow: machineAdapter.readWindow,
    recorder,
    meter,
    fence: { mayAct: () => leader.yes },
    clock,
    log,
    defects: new PanicHandler({ log, meter }),
    adapters: [adapter],
    terms: { durationSeconds: 3600, renewEverySeconds: 900 },
  });
  const stop = new AbortController();
  const outcome = { ended: false };
  void operator.run(stop.signal).then(() => (outcome.ended = true));
  /** Until nothing happens any more: every pass, write and watch takes a few turns. */
  const calm = async (): Promise<void> => {
    for (let turn = 0; turn < 20; turn += 1) await settle();
  };
  const end = async (): Promise<void> => {
    stop.abort();
    // What runs is looked after every few milliseconds of the clock.
    for (let turn = 0; turn < 100 && !outcome.ended; turn += 1) await clock.advance(5);
    assert.ok(outcome.ended, 'it has come to its end');
    assert.deepEqual(log.of('error'), [], 'nothing has gone wrong behind the curtain');
  };
  return {
    cluster,
    clock,
    recorder,
    meter,
    log,
    operator,
    leader,
    stop,
    calm,
    end,
    hasEnded: () => outcome.ended,
  };
}

function statusOf(cluster: FakeCluster, name: string): JsonObject {
  const status = cluster.get(requestPath(name))?.['status'];
  return isObject(status) ? status : {};
}

function evictions(cluster: FakeCluster): readonly string[] {
  return cluster.written
    .filter(one => one.endsWith('/eviction'))
    .map(one => /pods\/([^/]+)\//.exec(one)?.[1] ?? '');
}

/** Keeps the answers to evictions back until the test lets one go. */
function slowEvictions(cluster: FakeCluster) {
  const waiting: {
    readonly name: string;
    readonly go: (response: ApiResponse | undefined) => void;
  }[] = [];
  cluster.intercept = (call: ApiCall) => {
    if (!call.path.endsWith('/eviction')) return undefined;
    const { promise, resolve } = Promise.withResolvers<ApiResponse | undefined>();
    waiting.push({ name: /pods\/([^/]+)\//.exec(call.path)?.[1] ?? '', go: resolve });
    // The cluster answers by itself once the promise says undefined.
    return promise as Promise<ApiResponse>;
  };
  return waiting;
}

test('a Maintenance does not begin outside of a window that was there before it, and of which the watch tells later', async () => {
  const openings = [{ from: '2027-01-01T00:00:00Z', to: '2027-01-02T00:00:00Z' }];
  const fill = (cluster: FakeCluster): void => {
    addNode(cluster, 'n1');
    addRequest(cluster, 'n1');
    cluster.put(`${windowsPath}/nights`, {
      metadata: { name: 'nights' },
      spec: { kinds: ['Maintenance'], openings },
    });
  };
  const { cluster, clock, calm, end } = bench(fill, { windowsLate: true });
  const isHeld = (): boolean =>
    JSON.stringify(cluster.get(nodePath('n1'))).includes('"unschedulable":true');
  await calm();
  assert.deepEqual(
    [isHeld(), statusOf(cluster, 'n1')],
    [false, {}],
    'nothing is said before the windows are known',
  );
  await clock.advance(1000);
  await calm();
  assert.deepEqual([isHeld(), statusOf(cluster, 'n1')['phase']], [false, 'Pending']);
  assert.match(JSON.stringify(statusOf(cluster, 'n1')), /when nights allows it/);
  await end();
});

test('a Maintenance says that it waits while the windows cannot be read, and begins when they can be', async () => {
  const { cluster, clock, calm, end } = bench(cluster => {
    addNode(cluster, 'n1');
    addRequest(cluster, 'n1');
  });
  cluster.intercept = ({ path }) =>
    path === windowsPath ? failure(403, 'not allowed') : undefined;
  for (let turn = 0; turn < 5; turn += 1) {
    await calm();
    await clock.advance(1000);
  }
  await calm();
  assert.equal(statusOf(cluster, 'n1')['phase'], 'Pending');
  assert.match(
    JSON.stringify(statusOf(cluster, 'n1')),
    /WindowsUnknown.*not all maintenance windows are known: cannot read .*: not allowed/,
  );
  cluster.intercept = () => undefined;
  await clock.advance(60_000);
  await calm();
  assert.equal(statusOf(cluster, 'n1')['phase'], 'Drained');
  assert.doesNotMatch(JSON.stringify(statusOf(cluster, 'n1')), /WindowsUnknown/);
  await end();
});

test('many Maintenances that begin together list the windows few times', async () => {
  const names = Array.from({ length: 50 }, (_, index) => `n${index}`);
  const { cluster, calm, end } = bench(cluster => {
    for (const name of names) {
      addNode(cluster, name);
      addRequest(cluster, name);
    }
  });
  await calm();
  assert.ok(names.every(name => statusOf(cluster, name)['phase'] === 'Drained'));
  const lists = cluster.calls.filter(({ path }) => path === windowsPath).length;
  assert.ok(lists >= 1 && lists <= 5, String(lists));
  await end();
});

test('from claim to release: the node is held, emptied, reported, and released when the object is deleted', async () => {
  const { cluster, recorder, calm, end } = bench(cluster => {
    addNode(cluster, 'n1');
    addPod(cluster, 'a', 'n1');
    addRequest(cluster, 'n1');
  });
  await calm();
  assert.deepEqual(evictions(cluster), ['a']);
  assert.equal(statusOf(cluster, 'n1')['phase'], 'Draining');
  cluster.remove(podPath('a'));
  await calm();
  assert.equal(statusOf(cluster, 'n1')['phase'], 'Drained');
  assert.match(JSON.stringify(cluster.get(nodePath('n1'))), /"unschedulable":true/);
  cluster.patch(requestPath('n1'), { metadata: { deletionTimestamp: '2026-01-01T00:00:09Z' } });
  await calm();
  assert.equal(cluster.get(requestPath('n1')), undefined);
  assert.equal(cluster.get(leasePath('n1')), undefined);
  assert.deepEqual(cluster.get(nodePath('n1'))?.['spec'], {});
  assert.deepEqual(recorder.reasons, [
    'MaintenanceBegun',
    'NodeDrained',
    'UncordonNode',
    'MaintenanceEnded',
  ]);
  await end();
});

test('words and leases that a hold has left behind are taken away at the start, and those of others stay', async () => {
  const lease = (holder: string) => ({
    metadata: { namespace: 'leases', name: 'node-n1' },
    spec: {
      holderIdentity: holder,
      leaseDurationSeconds: 3600,
      renewTime: '2026-01-01T00:00:00.000000Z',
    },
  });
  const status = (reason: string) => ({
    conditions: [{ type: 'Drained', status: 'True', reason, message: '' }],
  });
  const { cluster, calm, end } = bench(cluster => {
    cluster.put(nodePath('n1'), { metadata: { name: 'n1' }, spec: {}, status: {} });
    cluster.put(leasePath('n1'), lease('node-maintenance'));
    cluster.put(nodePath('n2'), {
      metadata: { name: 'n2' },
      spec: {},
      status: status('DrydockDrainCompleted'),
    });
    cluster.put(nodePath('n3'), {
      metadata: { name: 'n3' },
      spec: {},
      status: status('KubectlDrain'),
    });
    cluster.put(leasePath('n3'), {
      ...lease('another'),
      metadata: { namespace: 'leases', name: 'node-n3' },
    });
  });
  await calm();
  assert.equal(cluster.get(leasePath('n1')), undefined);
  assert.ok(cluster.get(leasePath('n3')));
  assert.deepEqual(cluster.written.toSorted(), [
    `DELETE ${leasePath('n1')}`,
    `PATCH ${nodePath('n2')}/status`,
  ]);
  await end();
});

test('the answers to its own writes are all that it needs to go on: the watches may be late', async () => {
  const { cluster, calm, end } = bench(cluster => {
    addNode(cluster, 'n1');
    addRequest(cluster, 'n1');
    cluster.silent = true;
  });
  await calm();
  assert.equal(statusOf(cluster, 'n1')['phase'], 'Drained');
  await end();
});

const collections = [
  '/api/v1/nodes',
  adapter.path,
  '/apis/policy/v1/poddisruptionbudgets',
  '/apis/coordination.k8s.io/v1/namespaces/leases/leases',
  '/apis/apps/v1/daemonsets',
  '/apis/storage.k8s.io/v1/volumeattachments',
];

for (const collection of collections) {
  test(`nothing is decided before ${collection} has been read`, async () => {
    const { cluster, operator, meter, calm, end } = bench(cluster => {
      cluster.hold(collection);
      addNode(cluster, 'n1');
      addRequest(cluster, 'n1');
    });
    await calm();
    // Something happens to the node meanwhile: it is no reason to begin.
    cluster.patch(nodePath('n1'), { spec: { unschedulable: true } });
    await calm();
    assert.deepEqual([meter.decisions, cluster.calls], [0, []]);
    assert.equal(operator.overview().unsynced.length, 1);
    cluster.letGo(collection);
    await calm();
    assert.equal(statusOf(cluster, 'n1')['phase'], 'Drained');
    assert.deepEqual(operator.overview().unsynced, []);
    await end();
  });
}

test('a kind that is not installed is known to have no objects; other collections that cannot be read are waited for', async () => {
  const { operator, calm, end, log } = bench(cluster => cluster.missing.add(adapter.path));
  await calm();
  assert.deepEqual(operator.overview().unsynced, []);
  assert.deepEqual(log.of('info'), [
    'kind is not installed in this cluster; it is reconciled as soon as it is',
  ]);
  await end();
  const other = bench(cluster => cluster.missing.add('/apis/policy/v1/poddisruptionbudgets'));
  await other.calm();
  assert.deepEqual(other.operator.overview().unsynced, ['poddisruptionbudgets']);
  await other.end();
});

test('a refused write is tried again ever more slowly, and told to those who wait', async () => {
  const { cluster, clock, calm, end } = bench(cluster => {
    addNode(cluster, 'n1');
    addRequest(cluster, 'n1');
  });
  let refuse = true;
  cluster.intercept = ({ path }) =>
    refuse && path === nodePath('n1') ? failure(422, 'nodes "n1" is invalid') : undefined;
  const tries = (): number =>
    cluster.written.filter(one => one === `PATCH ${nodePath('n1')}`).length;
  await calm();
  assert.equal(tries(), 1);
  await clock.advance(499);
  await calm();
  assert.equal(tries(), 1);
  await clock.advance(1);
  await calm();
  assert.ok(tries() >= 2);
  // The report of the trouble is an event of the node too, and cuts one pause short; not more than
  // that.
  await clock.advance(60_000);
  await calm();
  assert.ok(tries() <= 9, `${tries()} tries in a minute`);
  assert.equal(
    statusOf(cluster, 'n1')['message'],
    'cannot write: nodes "n1" is invalid (HTTP 422)',
  );
  refuse = false;
  await clock.advance(60_000);
  await calm();
  assert.equal(statusOf(cluster, 'n1')['phase'], 'Drained');
  assert.equal(statusOf(cluster, 'n1')['message'], 'The node is drained and held');
  await end();
});

/** Two nodes with pods of one budget, and one with pods of another. */
function three(cluster: FakeCluster): void {
  for (const node of ['n1', 'n2', 'n3']) {
    addNode(cluster, node);
    addRequest(cluster, node);
  }
  for (const name of ['a1', 'a2', 'a3']) addPod(cluster, name, 'n1');
  for (const name of ['b1', 'b2']) addPod(cluster, name, 'n2');
  addPod(cluster, 'c1', 'n3', 'other');
  allow(cluster, 0);
  allow(cluster, 0, 'other');
}

test('a budget that allows one more wakes one of the nodes that wait for it: the one that is closest to done', async () => {
  const { cluster, meter, calm, end } = bench(three);
  slowEvictions(cluster);
  await calm();
  assert.deepEqual(evictions(cluster), []);
  const before = meter.decisions;
  allow(cluster, 0, 'other');
  await calm();
  assert.equal(meter.decisions, before, 'one that still allows none wakes nobody');
  allow(cluster, 1);
  await calm();
  assert.deepEqual(evictions(cluster), ['b1']);
  assert.ok(meter.decisions - before <= 2, `${meter.decisions - before} looks`);
  await end();
});

test('evictions of one budget on their way never exceed what it allows, whatever the nodes', async () => {
  const { cluster, clock, calm, end, operator } = bench(three);
  const waiting = slowEvictions(cluster);
  await calm();
  allow(cluster, 2);
  await calm();
  assert.equal(waiting.length, 1, 'they go one after the other');
  assert.equal(operator.overview().evictionsUnderWay, 2, 'and two are reserved');
  cluster.patch(nodePath('n1'), { metadata: { labels: { touched: 'yes' } } });
  await calm();
  assert.equal(operator.overview().evictionsUnderWay, 2);
  for (const at of [0, 1]) {
    waiting[at]?.go(undefined);
    await calm();
  }
  assert.equal(evictions(cluster).length, 2, 'the budget is used up');
  allow(cluster, 0);
  await clock.advance(11_000);
  allow(cluster, 0);
  await calm();
  assert.equal(evictions(cluster).length, 2);
  assert.equal(operator.overview().evictionsUnderWay, 0);
  await end();
});

test('an eviction that its budget has counted before the answer came is not under way any more', async () => {
  const { cluster, calm, end, operator } = bench(three);
  await calm();
  allow(cluster, 1);
  await calm();
  assert.deepEqual(evictions(cluster), ['b1']);
  assert.match(JSON.stringify(cluster.get(budgetPath())), /"disruptedPods":\{"b1"/);
  assert.equal(operator.overview().evictionsUnderWay, 0);
  await end();
});

test('an eviction whose answer is lost keeps its place until its budget has had time to show it', async () => {
  const { cluster, clock, calm, end } = bench(three);
  const waiting = slowEvictions(cluster);
  await calm();
  allow(cluster, 1);
  await calm();
  cluster.intercept = () => undefined;
  waiting[0]?.go(response(504, 'gateway timeout'));
  await calm();
  await clock.advance(5000);
  await calm();
  assert.deepEqual(evictions(cluster), ['b1']);
  await clock.advance(60_000);
  await calm();
  assert.equal(evictions(cluster).length, 2, 'then it is asked again');
  await end();
});

test('stopping ends cleanly: what has been begun is finished, and nothing new is begun', async () => {
  const { cluster, clock, calm, stop, hasEnded, end } = bench(cluster => {
    addNode(cluster, 'n1');
    addRequest(cluster, 'n1');
  });
  const { promise, resolve } = Promise.withResolvers<undefined>();
  cluster.intercept = ({ path }) =>
    path === nodePath('n1') ? (promise as unknown as Promise<ApiResponse>) : undefined;
  await calm();
  const written = cluster.written.length;
  stop.abort();
  await calm();
  await clock.advance(1000);
  assert.equal(hasEnded(), false, 'a write is under way');
  resolve(undefined);
  await end();
  assert.match(JSON.stringify(cluster.get(nodePath('n1'))), /"unschedulable":true/);
  cluster.patch(nodePath('n1'), { spec: { unschedulable: null } });
  await clock.advance(3_600_000);
  await calm();
  assert.equal(cluster.written.length, written);
});

test('stopping waits for no eviction', async () => {
  const { cluster, calm, end } = bench(three);
  slowEvictions(cluster);
  await calm();
  allow(cluster, 1);
  await calm();
  assert.deepEqual(evictions(cluster), ['b1']);
  assert.ok(cluster.followed.includes('/api/v1/pods'));
  await end();
  assert.deepEqual(cluster.followed, [], 'nor does it go on watching');
});

test('behind a closed fence nothing is decided and nothing is written, whatever happens', async () => {
  const { cluster, clock, leader, meter, calm, end } = bench(cluster => {
    addNode(cluster, 'n1');
    addPod(cluster, 'a', 'n1');
    addPod(cluster, 'b', 'n1');
    addRequest(cluster, 'n1');
    allow(cluster, 1);
  });
  await calm();
  assert.deepEqual(evictions(cluster), ['a']);
  leader.yes = false;
  const [written, decisions] = [cluster.written.length, meter.decisions];
  cluster.patch(nodePath('n1'), { spec: { unschedulable: null, taints: null } });
  allow(cluster, 5);
  cluster.remove(podPath('a'));
  await calm();
  await clock.advance(60_000);
  await calm();
  assert.deepEqual([cluster.written.length, meter.decisions], [written, decisions]);
  await end();
});

test('the hold is put right at once when somebody takes it away', async () => {
  const { cluster, recorder, calm, end } = bench(cluster => {
    addNode(cluster, 'n1');
    addRequest(cluster, 'n1');
  });
  await calm();
  cluster.patch(nodePath('n1'), { spec: { unschedulable: null } });
  await calm();
  assert.match(JSON.stringify(cluster.get(nodePath('n1'))), /"unschedulable":true/);
  assert.ok(recorder.reasons.includes('HoldRestored'));
  await end();
});

test('what can be counted: maintenances by state, held nodes, blockers by reason', async () => {
  const { operator, calm, end } = bench(three);
  await calm();
  assert.deepEqual(operator.overview(), {
    maintenances: [{ kind: 'Maintenance', state: 'Draining', count: 3 }],
    heldNodes: 3,
    blockers: [{ reason: 'DisruptionBudget', count: 6 }],
    vms: [],
    planPhases: [],
    planNodes: [],
    planDeadlines: [],
    evictionsUnderWay: 0,
    queueDepth: 0,
    unsynced: [],
    withheld: [],
  });
  await end();
});

test('a maintenance that is deleted calls back what has not been sent, and waits for what has before it gives the node back', async () => {
  const { cluster, clock, calm, end } = bench(three);
  const waiting = slowEvictions(cluster);
  await calm();
  allow(cluster, 2);
  await calm();
  assert.deepEqual(
    waiting.map(({ name }) => name),
    ['b1'],
  );
  cluster.patch(requestPath('n2'), { metadata: { deletionTimestamp: '2026-01-01T00:00:09Z' } });
  await calm();
  assert.match(JSON.stringify(cluster.get(nodePath('n2'))), /"unschedulable":true/);
  waiting[0]?.go(undefined);
  await calm();
  await clock.advance(2000);
  await calm();
  assert.equal(cluster.get(requestPath('n2')), undefined);
  assert.deepEqual(cluster.get(nodePath('n2'))?.['spec'], {});
  assert.ok(!evictions(cluster).includes('b2'));
  await end();
});

test('heartbeats of a node and idle words on a pod wake nobody; what matters does', async () => {
  const { cluster, meter, calm, end } = bench(three);
  await calm();
  const looks = async (change: () => void): Promise<number> => {
    const before = meter.decisions;
    change();
    await calm();
    return meter.decisions - before;
  };
  const heartbeat = {
    type: 'Ready',
    status: 'True',
    reason: 'KubeletReady',
    lastHeartbeatTime: '2026-01-01T00:00:01Z',
  };
  const status = cluster.get(nodePath('n1'))?.['status'];
  const conditions = (isObject(status) ? status['conditions'] : []) as readonly JsonObject[];
  assert.notEqual(
    await looks(() =>
      cluster.patch(nodePath('n1'), { status: { conditions: [...conditions, heartbeat] } }),
    ),
    0,
  );
  const later = { ...heartbeat, lastHeartbeatTime: '2026-01-01T00:00:11Z' };
  assert.equal(
    await looks(() =>
      cluster.patch(nodePath('n1'), { status: { conditions: [...conditions, later] } }),
    ),
    0,
  );
  assert.equal(
    await looks(() => cluster.patch(podPath('a1'), { metadata: { annotations: { note: 'x' } } })),
    0,
  );
  const terminating = { metadata: { deletionTimestamp: '2026-01-01T00:10:00Z' } };
  assert.notEqual(await looks(() => cluster.patch(podPath('a1'), terminating)), 0);
  await end();
});
