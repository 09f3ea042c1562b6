import assert from 'node:assert/strict';
import { test } from 'node:test';
import { maintenance } from '@drydock/apis';
import type { Write } from '@drydock/core';
import type { Decision } from '@drydock/core/maintenance';
import { emptyMemo, type NodeSnapshot } from '@drydock/core/maintenance';
import { readPod } from '@drydock/core/pod';
import { at } from '@drydock/core/testing';
import type { ApiResponse } from '@drydock/kube-client';
import { PanicHandler, VirtualClock } from '@drydock/utils';
import { FakeCluster } from '../testing/fake-cluster.ts';
import { FakeLog, FakeMeter, FakeRecorder, failure, response, settle } from '../testing/fakes.ts';
import { NodeReconciler, type NodeReconcilerOptions } from './node-reconciler.ts';

/**
 * What the operator makes of decisions, whatever they are: the test decides in place of the core.
 */

const adapter = maintenance('leases');
function nodePath(name: string): string {
  return `/api/v1/nodes/${name}`;
}
function requestPath(name: string): string {
  return `${adapter.path}/${name}`;
}
const podPath = '/api/v1/namespaces/shop/pods/a';

const nothing: Decision = {
  writes: [],
  calls: [],
  evictable: new Set(),
  waitsFor: [],
  waitsForSlots: false,
  remaining: 0,
  watchPods: false,
  confirmPods: false,
  handOver: false,
  requestUnanswered: false,
  lookups: [],
  notes: emptyMemo,
};

/** Node n1, which somebody wants, and an operator that decides as the test says. */
function bench(
  decision: Partial<Decision> | ((snapshot: NodeSnapshot) => Partial<Decision>),
  over: Partial<NodeReconcilerOptions> = {},
) {
  const [cluster, clock, meter, log] = [
    new FakeCluster(),
    new VirtualClock(),
    new FakeMeter(),
    new FakeLog(),
  ];
  const snapshots: NodeSnapshot[] = [];
  const leader = { yes: true };
  const script = { decision };
  const put = (name: string, isWanted = true): void => {
    cluster.put(nodePath(name), { metadata: { name }, spec: {}, status: {} });
    if (isWanted)
      cluster.put(requestPath(name), {
        metadata: { name, generation: 1 },
        spec: { nodeName: name },
      });
  };
  put('n1');
  const operator = new NodeReconciler({
    api: cluster,
    watcher: cluster,
    recorder: new FakeRecorder(),
    meter,
    fence: { mayAct: () => leader.yes },
    clock,
    log,
    defects: new PanicHandler({ log, meter }),
    adapters: [adapter],
    terms: { durationSeconds: 3600, renewEverySeconds: 900 },
    decide: snapshot => {
      snapshots.push(snapshot);
      return {
        ...nothing,
        ...(typeof script.decision === 'function' ? script.decision(snapshot) : script.decision),
      };
    },
    ...over,
  });
  const stop = new AbortController();
  const calm = async (): Promise<void> => {
    for (let turn = 0; turn < 20; turn += 1) await settle();
  };
  const run = async (): Promise<void> => {
    void operator.run(stop.signal);
    await calm();
  };
  const wait = async (seconds: number): Promise<void> => {
    await clock.advance(seconds * 1000);
    await calm();
  };
  /** Something small happens to the maintenance of the node, so that it is looked at again. */
  const wake = async (name = 'n1'): Promise<void> => {
    cluster.patch(requestPath(name), { metadata: { labels: { woken: String(snapshots.length) } } });
    await calm();
  };
  const end = async (): Promise<void> => {
    stop.abort();
    await wait(1);
  };
  const looksAt = (name: string): number =>
    snapshots.filter(({ nodeName }) => nodeName === name).length;
  return {
    cluster,
    meter,
    log,
    snapshots,
    leader,
    script,
    operator,
    put,
    calm,
    run,
    wait,
    wake,
    end,
    looksAt,
  };
}

const request = { key: `${adapter.name}//n1` };
const write: Write = {
  description: 'say something',
  method: 'PATCH',
  style: 'merge',
  path: `${requestPath('n1')}/status`,
  body: { status: { phase: 'Draining' } },
  cache: 'requests',
  adapter: adapter.name,
  events: [],
};

test('nothing is decided before it runs, whoever asks', async () => {
  const { operator, snapshots, calm, run, end } = bench({});
  const asked = adapter.read({
    metadata: { name: 'n9', uid: 'u', resourceVersion: '1', generation: 1 },
    spec: { nodeName: 'n9' },
  });
  assert.ok(typeof asked !== 'string');
  operator.addRequest(asked);
  await calm();
  assert.deepEqual(snapshots, []);
  await run();
  assert.deepEqual(new Set(snapshots.map(({ nodeName }) => nodeName)), new Set(['n1', 'n9']));
  await end();
});

test('a touch wakes a node that somebody wants, and no other', async () => {
  const { operator, put, calm, run, looksAt, end } = bench({});
  put('n2', false);
  await run();
  const before = looksAt('n1');
  operator.enqueue('n1');
  operator.enqueue('n2');
  await calm();
  assert.deepEqual([looksAt('n1'), looksAt('n2')], [before + 1, 0]);
  await end();
});

test('a maintenance that nobody has looked at is pending, and a node that nobody holds is not held', async () => {
  const { operator, leader, run, end } = bench({});
  leader.yes = false;
  await run();
  const { maintenances, heldNodes } = operator.overview();
  assert.deepEqual(
    [maintenances, heldNodes],
    [[{ kind: adapter.kind, state: 'Pending', count: 1 }], 0],
  );
  await end();
});

test('a decision takes no longer than the time that has gone by', async () => {
  const began = performance.now();
  const { meter, run, wake, end } = bench({});
  await run();
  await wake();
  const took = meter.decisionSeconds.reduce((sum, seconds) => sum + seconds, 0);
  assert.ok(took >= 0 && took <= (performance.now() - began) / 1000, String(took));
  assert.equal(meter.decisionSeconds.length, meter.decisions);
  await end();
});

const hold: Write = {
  ...write,
  description: 'hold',
  path: nodePath('n1'),
  body: { spec: { unschedulable: true } },
  cache: 'nodes',
};

test('a node whose hold may have been written is read before anything is decided, but only by who leads', async () => {
  const { cluster, leader, script, snapshots, run, wait, wake, end } = bench({ writes: [hold] });
  const reads = (): number =>
    cluster.calls.filter(({ method, path }) => method === 'GET' && path === nodePath('n1')).length;
  cluster.intercept = ({ method, path }) =>
    method === 'PATCH' && path === nodePath('n1') ? failure(500, 'broken') : undefined;
  await run();
  script.decision = {};
  const looks = snapshots.length;
  leader.yes = false;
  await wait(100);
  await wake();
  assert.deepEqual([reads(), snapshots.length], [0, looks], 'not by who does not lead');
  leader.yes = true;
  cluster.intercept = ({ method }) => {
    if (method === 'GET') leader.yes = false;
    return undefined;
  };
  await wake();
  assert.deepEqual([reads(), snapshots.length], [1, looks], 'the lead was lost meanwhile');
  await end();
});

test('who is stopped while he reads decides nothing any more', async () => {
  const { cluster, script, snapshots, calm, run, wait, end } = bench({ writes: [hold] });
  cluster.intercept = ({ method, path }) =>
    method === 'PATCH' && path === nodePath('n1') ? failure(500, 'broken') : undefined;
  await run();
  script.decision = {};
  const { promise, resolve } = Promise.withResolvers<undefined>();
  cluster.intercept = ({ method }) =>
    method === 'GET' ? (promise as unknown as Promise<ApiResponse>) : undefined;
  await wait(10);
  const looks = snapshots.length;
  await end();
  resolve(undefined);
  await calm();
  assert.equal(snapshots.length, looks);
});

test('a look that throws is told where people look', async () => {
  const { cluster, run, end } = bench(() => {
    throw new Error('cannot decide');
  });
  await run();
  assert.match(
    JSON.stringify(cluster.get(requestPath('n1'))?.['status']),
    /InternalError.*cannot decide|cannot decide.*InternalError/,
  );
  await end();
});

test('the lead is handed over when that is decided', async () => {
  const handed: string[] = [];
  const self = { pod: 'drydock/one', handOver: () => handed.push('over'), handedOver: () => false };
  const { script, run, wake, end } = bench({}, { self });
  await run();
  assert.deepEqual(handed, []);
  script.decision = { handOver: true };
  await wake();
  assert.deepEqual(handed, ['over']);
  await end();
});

test('the pods are read once more when that is decided', async () => {
  const { script, snapshots, run, wake, end } = bench({ watchPods: true });
  await run();
  await wake();
  assert.equal(snapshots.at(-1)?.podsConfirmed, false);
  script.decision = { watchPods: true, confirmPods: true };
  await wake();
  assert.equal(snapshots.at(-1)?.podsConfirmed, true);
  await end();
});

test('a claim that cannot be looked up is asked for again a little later; where there is none, time changes nothing', async () => {
  const claim = '/api/v1/namespaces/shop/persistentvolumeclaims/data';
  const { cluster, script, snapshots, run, wait, wake, end } = bench({});
  await run();
  const quiet = snapshots.length;
  await wait(60);
  assert.equal(snapshots.length, quiet);
  cluster.intercept = ({ path }) => (path === claim ? failure(500, 'broken') : undefined);
  script.decision = ({ volumes }) => ({
    lookups: volumes.has('shop/data') ? [] : [{ kind: 'PersistentVolumeClaim', key: 'shop/data' }],
  });
  await wake();
  const looks = snapshots.length;
  cluster.intercept = ({ path }) =>
    path === claim ? response(200, { spec: { volumeName: 'v' } }) : undefined;
  await wait(4);
  assert.equal(snapshots.length, looks);
  await wait(2);
  assert.equal(snapshots.at(-1)?.volumes.get('shop/data'), 'v');
  await end();
});

test('what is known of a node is kept as long as somebody wants it', async () => {
  const notes = { ...emptyMemo, blockedSince: new Map([['LocalData shop/a ', at(0)]]) };
  const { cluster, operator, script, calm, run, wake, end } = bench({ notes });
  await run();
  await wake();
  assert.deepEqual(operator.overview().blockers, [{ reason: 'LocalData', count: 1 }]);
  script.decision = { notes };
  cluster.remove(requestPath('n1'));
  await calm();
  assert.deepEqual(operator.overview().blockers, []);
  await end();
});

test('a report that was not stored counts as not told; one that was, and other writes, leave it at that', async () => {
  const status = at(0) as never;
  const notes = { ...emptyMemo, reported: new Map([[request.key, status]]) };
  const toldAfter = async (
    writes: readonly Write[],
    reply: 'stored' | 'conflict',
  ): Promise<boolean> => {
    const { cluster, script, snapshots, run, wake, end } = bench({ writes, notes });
    cluster.intercept = ({ method }) =>
      method === 'PATCH' && reply === 'conflict' ? failure(409, 'changed') : undefined;
    // Once is enough: what was stored would be written again at once.
    const first = script.decision;
    script.decision = () => {
      script.decision = ({ memo: kept }) => ({ notes: kept });
      return first as Partial<Decision>;
    };
    await run();
    await wake();
    const told = snapshots.at(-1)?.memo.reported.has(request.key) === true;
    await end();
    return told;
  };
  const report = { ...write, reportOf: request.key };
  assert.deepEqual(
    [
      await toldAfter([report], 'stored'),
      await toldAfter([report], 'conflict'),
      await toldAfter([write], 'conflict'),
    ],
    [true, false, true],
  );
});

test('where one of several writes has lost a race, the next look comes after a pause', async () => {
  const { cluster, snapshots, run, wait, end } = bench({ writes: [hold, write] });
  cluster.intercept = ({ method, path }) =>
    method === 'PATCH' && path === write.path ? failure(409, 'changed') : undefined;
  await run();
  const looks = snapshots.length;
  assert.ok(looks <= 2, `${looks}: the first one, and one for what was stored`);
  await wait(1);
  assert.ok(snapshots.length > looks);
  await end();
});

test('what one node leaves of a budget is offered to the next one that waits for it', async () => {
  const budget = '/apis/policy/v1/namespaces/shop/poddisruptionbudgets/web';
  const allow = (cluster: FakeCluster, disruptionsAllowed: number): unknown =>
    cluster.put(budget, {
      metadata: { name: 'web', namespace: 'shop', generation: 1 },
      spec: { selector: {} },
      status: {
        observedGeneration: 1,
        disruptionsAllowed,
        currentHealthy: 9,
        desiredHealthy: 8,
        expectedPods: 9,
      },
    });
  const { cluster, put, calm, run, looksAt, end } = bench(({ nodeName }) => ({
    watchPods: true,
    waitsFor: ['shop/web'],
    remaining: nodeName === 'n1' ? 1 : 2,
  }));
  put('n2');
  allow(cluster, 0);
  await run();
  const before = [looksAt('n1'), looksAt('n2')] as const;
  allow(cluster, 1);
  await calm();
  assert.ok(
    looksAt('n1') > before[0] && looksAt('n2') > before[1],
    `${looksAt('n1')} ${looksAt('n2')} after ${String(before)}`,
  );
  await end();
});

test('what was tried with a pod is forgotten when it leaves, and not before', async () => {
  const { cluster, script, snapshots, calm, run, wake, end } = bench({ watchPods: true });
  const raw = {
    metadata: { name: 'a', namespace: 'shop' },
    spec: { nodeName: 'n1' },
    status: { phase: 'Running' },
  };
  const pod = readPod(cluster.put(podPath, raw));
  cluster.intercept = ({ path }) =>
    path.endsWith('/eviction') ? failure(429, 'no', 'DisruptionBudget') : undefined;
  await run();
  script.decision = () => {
    script.decision = { watchPods: true };
    return {
      watchPods: true,
      evictable: new Set([pod.uid]),
      calls: [{ pod, wave: 0, method: 'evict', escalated: false }],
    };
  };
  await wake();
  cluster.patch(podPath, { metadata: { labels: { x: 'y' } } });
  await calm();
  await wake();
  assert.deepEqual([...(snapshots.at(-1)?.attempts.keys() ?? [])], [pod.uid]);
  cluster.patch(podPath, { metadata: { deletionTimestamp: '2026-01-01T00:00:30Z' } });
  await calm();
  await wake();
  assert.deepEqual([...(snapshots.at(-1)?.attempts.keys() ?? [])], []);
  await end();
});
