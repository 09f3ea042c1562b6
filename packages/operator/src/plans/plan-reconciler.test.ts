import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { JsonObject } from '@drydock/apimachinery';
import { machineAdapter, maintenance, planAdapter } from '@drydock/apis';
import { windowsPath } from '@drydock/core/window';
import type { ApiResponse } from '@drydock/kube-client';
import { PanicHandler, VirtualClock } from '@drydock/utils';
import { namespacesOf } from '../cache/node-cache.ts';
import { MachineManager } from '../machines/machine-manager.ts';
import { NodeReconciler } from '../node/node-reconciler.ts';
import type { Monitoring } from '../ports.ts';
import { FakeCluster } from '../testing/fake-cluster.ts';
import { FakeLog, FakeMeter, FakeRecorder, failure, settle } from '../testing/fakes.ts';
import { lateWatch } from '../testing/late-watch.ts';
import { PlanReconciler } from './plan-reconciler.ts';

/** The loop of the plans over a small cluster in memory. */

const plans = '/apis/drydock.dev/v1alpha1/maintenanceplans';
const maintenances = '/apis/drydock.dev/v1alpha1/maintenances';
const records = '/apis/drydock.dev/v1alpha1/maintenanceplanrecords';
const pods = '/api/v1/namespaces/drydock-plans/pods';
const adapters = [maintenance('leases')];

function metadataOf(generation: number): JsonObject {
  return {
    name: 'kernel',
    uid: 'uid-kernel',
    generation,
    creationTimestamp: '2026-11-21T08:00:00Z',
  };
}

function planOf(spec: object = {}): JsonObject {
  return {
    apiVersion: 'drydock.dev/v1alpha1',
    kind: 'MaintenancePlan',
    metadata: metadataOf(1),
    spec: { nodeSelector: {}, work: { none: {} }, ...spec },
  };
}

function nodeOf(name: string): JsonObject {
  return {
    metadata: { name, uid: `uid-${name}`, creationTimestamp: '2026-11-20T08:00:00Z', labels: {} },
    status: {
      conditions: [{ type: 'Ready', status: 'True' }],
      nodeInfo: { kernelVersion: '6.1.0', bootID: 'b' },
    },
  };
}

type Given = {
  readonly prepare?: (cluster: FakeCluster) => void;
  readonly monitoring?: Monitoring;
  readonly windowsLate?: true;
};

function bench(spec: object = {}, { prepare = () => {}, monitoring, windowsLate }: Given = {}) {
  const cluster = new FakeCluster();
  const clock = new VirtualClock();
  const ports = {
    api: cluster,
    watcher: cluster,
    recorder: new FakeRecorder(),
    meter: new FakeMeter(),
    fence: { mayAct: () => true },
    clock,
  };
  const log = new FakeLog();
  const common = {
    ...ports,
    log,
    defects: new PanicHandler({ log, meter: ports.meter }),
    adapters,
  };
  for (const name of ['n1', 'n2']) cluster.put(`/api/v1/nodes/${name}`, nodeOf(name));
  cluster.put(`${plans}/kernel`, planOf(spec));
  prepare(cluster);
  const operator = new NodeReconciler({
    ...common,
    watcher: windowsLate ? lateWatch(cluster, clock, windowsPath) : cluster,
    readWindow: machineAdapter.readWindow,
    terms: { durationSeconds: 1e8, renewEverySeconds: 1e7 },
  });
  const haltLease = { namespace: 'drydock-system', name: 'leader' };
  const machines = new MachineManager({
    ...common,
    cache: operator.cache,
    adapter: machineAdapter,
    limits: { perSet: 1, perZone: 0, nodes: 1 },
    drainLeadSeconds: 0,
    namespace: 'drydock-system',
    namespaces: namespacesOf('drydock-system', []),
    scanner: { scan: () => Promise.reject(new Error('there is no source')) },
    signals: () => [],
    changed: () => reconciler.enqueueAll(),
  });
  const reconciler: PlanReconciler = new PlanReconciler({
    ...common,
    cache: operator.cache,
    machines: machines.forPlans,
    adapter: planAdapter,
    workNamespace: 'drydock-plans',
    touched: nodeName => operator.enqueue(nodeName),
    haltLease,
    monitoring,
  });
  const stop = new AbortController();
  void Promise.all([
    operator.run(stop.signal),
    machines.run(stop.signal),
    reconciler.run(stop.signal),
  ]);
  const calm = async (): Promise<void> => {
    for (let turn = 0; turn < 60; turn += 1) await settle();
  };
  const wait = async (seconds: number): Promise<void> => {
    await calm();
    await clock.advance(seconds * 1000);
    await calm();
  };
  const status = (): JsonObject => (cluster.get(`${plans}/kernel`)?.['status'] ?? {}) as JsonObject;
  const message = (): string => status()['message'] as string;
  return { cluster, calm, wait, status, message, reconciler, end: () => stop.abort() };
}

describe('the loop of the plans', () => {
  test('reads what plans need only when there is one', async () => {
    const { cluster, calm, end } = bench({}, { prepare: one => one.remove(`${plans}/kernel`) });
    await calm();
    assert.ok(!cluster.followed.includes(records));
    cluster.put(`${plans}/kernel`, planOf());
    await calm();
    assert.ok(cluster.followed.includes(records));
    end();
  });

  test('does not begin outside of a window that was there before it, and of which the watch tells later', async () => {
    const openings = [{ from: '2027-01-01T00:00:00Z', to: '2027-01-02T00:00:00Z' }];
    const window = {
      metadata: { name: 'nights', uid: 'w' },
      spec: { kinds: ['MaintenancePlan'], openings },
    };
    const prepare = (cluster: FakeCluster): void =>
      void cluster.put(`${windowsPath}/nights`, window);
    const { cluster, calm, wait, status, end } = bench({}, { prepare, windowsLate: true });
    const begun = (): boolean =>
      cluster.calls.some(({ method, path }) => method === 'POST' && path === maintenances);
    await calm();
    assert.deepEqual([begun(), status()['waitingFor']], [false, 'WindowsUnknown']);
    await wait(2);
    assert.deepEqual([begun(), status()['waitingFor']], [false, 'Window']);
    end();
  });

  test('goes through its nodes, one after the other, and records each', async () => {
    const { cluster, wait, status, reconciler, end } = bench();
    for (let turn = 0; turn < 40; turn += 1) await wait(1);
    assert.equal(status()['phase'], 'Complete', JSON.stringify(status()));
    const record = cluster.written.filter(call => call.includes('maintenanceplanrecords'));
    assert.equal(record.length, 2, record.join());
    assert.deepEqual(reconciler.overview().planPhases, [{ plan: 'kernel', phase: 'Complete' }]);
    assert.deepEqual(reconciler.overview().planNodes[3], {
      plan: 'kernel',
      state: 'Done',
      count: 2,
    });
    const made = cluster.written.filter(call => call === `POST ${maintenances}`);
    assert.equal(made.length, 2);
    end();
  });

  test('a node that has booted, and is not due any more, is done', async () => {
    const work = {
      job: { podSpec: { containers: [{ name: 'up', image: 'i' }] }, rebootsNode: true },
    };
    const due = { expression: "node.status.nodeInfo.kernelVersion != '6.2.0'" };
    const { cluster, wait, status, end } = bench({ due, work });
    for (const [index, node] of ['n1', 'n2'].entries()) {
      for (let turn = 0; turn < 20; turn += 1) await wait(1);
      assert.equal(
        cluster.written.filter(call => call === 'POST /api/v1/namespaces/drydock-plans/pods')
          .length,
        index + 1,
        JSON.stringify(status()),
      );
      const inFlight = status()['inFlight'] as readonly { readonly pod: string }[];
      cluster.patch(`/api/v1/namespaces/drydock-plans/pods/${inFlight[0]?.pod}`, {
        status: { phase: 'Running' },
      });
      await wait(1);
      cluster.patch(`/api/v1/nodes/${node}`, {
        status: { nodeInfo: { kernelVersion: '6.2.0', bootID: 'b2' } },
      });
      cluster.patch(`/api/v1/namespaces/drydock-plans/pods/${inFlight[0]?.pod}`, {
        status: { phase: 'Failed' },
      });
    }
    for (let turn = 0; turn < 20; turn += 1) await wait(1);
    assert.deepEqual([status()['phase'], status()['failures']], ['Complete', []]);
    end();
  });

  test('tells of plans that will miss their deadline, as long as they are not over', async () => {
    const pace = { deadline: '2026-01-01T00:15:00Z' };
    const { wait, status, reconciler, cluster, end } = bench({ soakSeconds: 3600, pace });
    for (let turn = 0; turn < 5; turn += 1) await wait(1);
    assert.deepEqual(
      reconciler.overview().planDeadlines,
      [{ plan: 'kernel', isMissed: true }],
      JSON.stringify(status()),
    );
    cluster.put(`${plans}/kernel`, {
      ...planOf({ state: 'Aborted' }),
      status: { ...status(), phase: 'Aborted' },
    });
    await wait(1);
    assert.deepEqual(reconciler.overview().planDeadlines, []);
    end();
  });

  test('keeps to the limits of other plans, shares and numbers', async () => {
    const besides = async (of: object): Promise<readonly unknown[]> => {
      const other = planOf({
        work: { external: { finished: { expression: 'false' } } },
        concurrency: { maxUnavailableAbsolute: 1 },
        ...of,
      });
      const metadata = {
        name: 'other',
        uid: 'uid-other',
        generation: 1,
        creationTimestamp: '2026-11-21T07:00:00Z',
      };
      const prepare = (cluster: FakeCluster): void => {
        cluster.put(`${plans}/other`, { ...other, metadata });
        cluster.put('/api/v1/nodes/n3', nodeOf('n3'));
      };
      const { wait, status, end } = bench(
        { concurrency: { maxInFlight: 2 }, soakSeconds: 1000 },
        { prepare },
      );
      for (let turn = 0; turn < 20; turn += 1) await wait(1);
      end();
      const { waiting, inFlight } = status() as {
        waiting: readonly { reason: string; message: string }[];
        inFlight: readonly unknown[];
      };
      return [inFlight.length, waiting[0]?.reason, waiting[0]?.message.slice(0, 20)];
    };
    assert.deepEqual(await besides({}), [1, 'OtherPlanLimit', 'plan other allows 1 ']);
    for (const draft of [
      { state: 'Paused' },
      { due: { expression: 'node.x ==' } },
      { approval: { run: 'Required' } },
    ])
      assert.equal(
        (await besides(draft))[0],
        2,
        `${JSON.stringify(draft)}: it begins nothing, and slows nobody`,
      );
  });

  test('starts nothing, and says what is missing, where it has no right to what plans need', async () => {
    const { cluster, wait, message, end } = bench(
      {},
      { prepare: one => void one.withheld.add(records) },
    );
    await wait(2);
    assert.match(
      message(),
      /may not read maintenanceplanrecords\.drydock\.dev: install the rights of plans/,
    );
    assert.ok(!cluster.written.includes(`POST ${maintenances}`));
    end();
  });

  test('starts nothing where an expression cannot be read, and says where', async () => {
    const { cluster, wait, message, end } = bench({ due: { expression: 'node.status ==' } });
    await wait(2);
    assert.match(message(), /^spec\.due\.expression: ERROR: <input>:1:15/);
    assert.ok(!cluster.written.includes(`POST ${maintenances}`));
    end();
  });

  test('what the API server refuses is told in the status, and tried again', async () => {
    const refusal: { open: boolean } = { open: false };
    const { cluster, wait, status, message, end } = bench();
    cluster.intercept = ({ method, path }): ApiResponse | undefined =>
      method === 'POST' && path === maintenances && !refusal.open
        ? failure(403, 'quota exceeded')
        : undefined;
    await wait(5);
    assert.match(message(), /refused so far: .*quota exceeded/);
    refusal.open = true;
    for (let turn = 0; turn < 60; turn += 1) await wait(5);
    assert.equal(status()['phase'], 'Complete', JSON.stringify(status()));
    end();
  });

  test('a pod that is refused concerns its node alone: others are released, and it is given back and told by whom', async () => {
    const work = {
      job: { podSpec: { containers: [{ name: 'up', image: 'i' }] }, timeoutSeconds: 120 },
    };
    const { cluster, wait, status, end } = bench(
      { work, concurrency: { maxInFlight: 2 }, halt: { maxFailures: 1, consecutive: 0 } },
      {
        prepare: one => void one.put('/api/v1/nodes/n3', nodeOf('n3')),
      },
    );
    const isFor = (body: unknown, node: string): boolean =>
      JSON.stringify(body).includes(`"nodeName":"${node}"`);
    cluster.intercept = ({ method, path, body }): ApiResponse | undefined =>
      method === 'POST' && path === pods && isFor(body, 'n1')
        ? failure(403, 'exceeded quota: work')
        : undefined;
    for (let turn = 0; turn < 20; turn += 1) await wait(1);
    const [, second] = status()['inFlight'] as readonly {
      readonly node: string;
      readonly pod: string;
    }[];
    assert.equal(second?.node, 'n2');
    cluster.patch(`${pods}/${second?.pod}`, { status: { phase: 'Succeeded' } });
    for (let turn = 0; turn < 20; turn += 1) await wait(1);
    const inFlight = status()['inFlight'] as readonly { readonly node: string }[];
    assert.deepEqual(
      inFlight.map(({ node }) => node),
      ['n1', 'n3'],
      JSON.stringify(status()),
    );
    for (let turn = 0; turn < 120; turn += 1) await wait(1);
    const [failed] = status()['failures'] as readonly {
      readonly node: string;
      readonly held: boolean;
      readonly message: string;
    }[];
    assert.deepEqual([failed?.node, failed?.held], ['n1', false], JSON.stringify(status()));
    assert.match(
      failed?.message ?? '',
      /^The work could not begin: the API server refuses its pod: .*exceeded quota: work/,
    );
    end();
  });

  test('a webhook that hangs slows one plan', async () => {
    const work = { job: { podSpec: { containers: [{ name: 'up', image: 'i' }] } } };
    const metadata = { ...metadataOf(1), name: 'other', uid: 'uid-other' };
    const prepare = (cluster: FakeCluster): void => {
      cluster.put('/api/v1/nodes/n3', {
        ...nodeOf('n3'),
        metadata: { ...(nodeOf('n3')['metadata'] as JsonObject), labels: { pool: 'b' } },
      });
      cluster.put(`${plans}/other`, {
        ...planOf({ nodeSelector: { matchLabels: { pool: 'b' } } }),
        metadata,
      });
    };
    const pool = { matchExpressions: [{ key: 'pool', operator: 'DoesNotExist' }] };
    const { cluster, wait, end } = bench({ work, nodeSelector: pool }, { prepare });
    const { promise, resolve } = Promise.withResolvers<ApiResponse>();
    let isAsked = false;
    cluster.intercept = ({ method, path }) => {
      if (method !== 'POST' || path !== pods) return undefined;
      isAsked = true;
      return promise;
    };
    for (let turn = 0; turn < 30; turn += 1) await wait(1);
    const other = cluster.get(`${plans}/other`)?.['status'] as JsonObject | undefined;
    assert.deepEqual([isAsked, other?.['phase']], [true, 'Complete'], JSON.stringify(other));
    resolve(failure(504, 'timeout'));
    await wait(1);
    end();
  });

  test('a webhook that hangs about one node slows that node alone: others of the plan are released and recorded, and begin', async () => {
    const work = {
      job: { podSpec: { containers: [{ name: 'up', image: 'i' }] }, timeoutSeconds: 600 },
    };
    const { cluster, wait, status, end } = bench(
      { work, concurrency: { maxInFlight: 2 } },
      {
        prepare: one => void one.put('/api/v1/nodes/n3', nodeOf('n3')),
      },
    );
    const { promise, resolve } = Promise.withResolvers<ApiResponse>();
    let asked = 0;
    cluster.intercept = ({ method, path, body }) => {
      if (method !== 'POST' || path !== pods || !JSON.stringify(body).includes('"nodeName":"n1"'))
        return undefined;
      asked += 1;
      return promise;
    };
    type Flying = readonly {
      readonly node: string;
      readonly state: string;
      readonly pod?: string;
    }[];
    const flying = (): Flying => status()['inFlight'] as Flying;
    for (let turn = 0; turn < 20; turn += 1) {
      await wait(1);
      for (const { node, pod } of flying())
        if (node !== 'n1' && pod !== undefined)
          cluster.patch(`${pods}/${pod}`, { status: { phase: 'Succeeded' } });
    }
    const done = {
      asked,
      flying: flying().map(({ node, state }) => `${node} ${state}`),
      nodes: (status()['nodes'] as JsonObject)['done'],
    };
    assert.deepEqual(
      done,
      { asked: 1, flying: ['n1 Working'], nodes: 2 },
      JSON.stringify(status()),
    );
    cluster.put(`${plans}/kernel`, {
      ...planOf({ work, concurrency: { maxInFlight: 2 }, state: 'Aborted' }),
      metadata: metadataOf(2),
      status: status(),
    });
    for (let turn = 0; turn < 5; turn += 1) await wait(1);
    assert.deepEqual(
      flying().map(({ node, state }) => `${node} ${state}`),
      ['n1 Working'],
      'nobody knows whether its pod is made: it is not given back before that is known',
    );
    resolve(failure(504, 'timeout'));
    for (let turn = 0; turn < 20; turn += 1) await wait(1);
    assert.deepEqual(
      [
        flying().length,
        cluster.written.filter(call => call === `DELETE ${maintenances}`).length <= 3,
      ],
      [0, true],
    );
    end();
  });

  test('begins nothing while the windows cannot be read, and says so; what is in flight comes to its end', async () => {
    const { cluster, wait, status, end } = bench({ soakSeconds: 5 });
    const count = (method: string): number =>
      cluster.written.filter(call => call.startsWith(method) && call.includes(maintenances)).length;
    for (let turn = 0; turn < 50 && count('POST') === 0; turn += 1) await wait(0);
    cluster.intercept = ({ method, path }) =>
      method === 'GET' && path === windowsPath ? failure(403, 'not allowed') : undefined;
    cluster.put(`${plans}/kernel`, {
      ...planOf({ soakSeconds: 4 }),
      metadata: metadataOf(2),
      status: status(),
    });
    for (let turn = 0; turn < 30; turn += 1) await wait(1);
    assert.deepEqual(
      [count('POST'), count('DELETE'), status()['waitingFor']],
      [1, 1, 'WindowsUnknown'],
      JSON.stringify(status()),
    );
    const [waiting] = status()['waiting'] as readonly JsonObject[];
    assert.equal(
      waiting?.['message'],
      `not all maintenance windows are known: cannot read ${windowsPath}: not allowed`,
    );
    cluster.intercept = () => undefined;
    for (let turn = 0; turn < 30; turn += 1) await wait(1);
    assert.deepEqual([count('POST'), status()['phase']], [2, 'Complete']);
    end();
  });

  test('a decision on a stale picture begins nothing: its slot is refused, and nothing is made for it', async () => {
    const { cluster, wait, status, end } = bench();
    const refusal = { on: true };
    const status_ = `${plans}/kernel/status`;
    cluster.intercept = ({ method, path }): ApiResponse | undefined =>
      method === 'PATCH' && path === status_ && refusal.on
        ? failure(409, 'the object has been modified')
        : undefined;
    for (let turn = 0; turn < 10; turn += 1) await wait(1);
    assert.ok(!cluster.written.includes(`POST ${maintenances}`));
    refusal.on = false;
    for (let turn = 0; turn < 60; turn += 1) await wait(5);
    assert.equal(status()['phase'], 'Complete', JSON.stringify(status()));
    end();
  });

  test('has metrics asked for its gates while it runs, goes on when the answer is another one, and has nobody asked afterwards', async () => {
    let errors = 0.5;
    let count = 0;
    const monitoring: Monitoring = {
      everyMs: 15_000,
      samples: async () => {
        count += 1;
        return { value: [{ labels: { __name__: 'errors' }, value: errors }] };
      },
      firing: async () => ({ value: [] }),
    };
    const gates: readonly JsonObject[] = [
      { name: 'errors', promql: { query: 'errors', expression: 'value < 0.01' } },
      { name: 'page', alerts: { matchers: ['severity="page"'] } },
    ];
    const { wait, status, end } = bench({ gates }, { monitoring });
    await wait(1);
    const told = status()['waiting'] as readonly JsonObject[];
    assert.deepEqual(
      [told[0]?.['reason'], told[0]?.['message']],
      ['Gate', 'gate errors: errors is 0.5'],
    );
    await wait(30);
    assert.equal(count, 3);
    errors = 0;
    for (let turn = 0; turn < 60; turn += 1) await wait(1);
    assert.equal(status()['phase'], 'Complete', JSON.stringify(status()));
    const before = count;
    await wait(300);
    assert.equal(count, before);
    end();
  });

  test('knows since when a gate is true after another process has taken over: it waits for the first answer', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const monitoring: Monitoring = {
      everyMs: 15_000,
      samples: async () => {
        await promise;
        return { value: [{ labels: {}, value: 0 }] };
      },
      firing: async () => ({ value: [] }),
    };
    const since = '2025-12-31T23:00:00Z';
    const gates = [
      { name: 'errors', promql: { query: 'errors', expression: 'value < 0.01' }, forSeconds: 1800 },
    ];
    const stored = {
      phase: 'Running',
      gates: [{ name: 'errors', value: 'True', startTime: since, message: '' }],
    };
    const prepare = (cluster: FakeCluster): void =>
      void cluster.put(`${plans}/kernel`, {
        ...planOf({ gates, soakSeconds: 1000 }),
        status: stored,
      });
    const { wait, status, end } = bench({ gates, soakSeconds: 1000 }, { prepare, monitoring });
    await wait(5);
    assert.deepEqual(status(), stored, 'nothing is decided yet');
    resolve();
    await wait(1);
    assert.deepEqual(status()['gates'], [
      { name: 'errors', value: 'True', startTime: since, message: '' },
    ]);
    assert.equal((status()['inFlight'] as readonly unknown[]).length, 1);
    end();
  });
});
