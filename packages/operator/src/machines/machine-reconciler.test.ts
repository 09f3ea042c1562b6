import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { JsonObject } from '@drydock/apimachinery';
import { machineAdapter, maintenance } from '@drydock/apis';
import type { Write } from '@drydock/core';
import type { MachineKind } from '@drydock/core/machine';
import { machineMaintenanceFinalizer } from '@drydock/core/machine';
import { makeMachine, makeMachineRequest } from '@drydock/core/testing';
import { windowsPath } from '@drydock/core/window';
import type { ApiCall, ApiResponse } from '@drydock/kube-client';
import { PanicHandler, VirtualClock } from '@drydock/utils';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import { namespacesOf } from '../cache/node-cache.ts';
import type { FakeCluster } from '../testing/fake-cluster.ts';
import { FakeLog, FakeMeter, FakeRecorder, response, ScriptedApi } from '../testing/fakes.ts';
import { announced, type Furniture, machineBench, paths } from '../testing/machine-bench.ts';
import { MachineReconciler } from './machine-reconciler.ts';

const adapter = maintenance('leases');
const request = paths.request('mm-m1');
const common = { api: 'openshift', apiVersion: 'machine.openshift.io/v1beta1' } as const;
const kinds: readonly MachineKind[] = [
  { ...common, kind: 'Machine', plural: 'machines' },
  { ...common, kind: 'MachineSet', plural: 'machinesets' },
];

/** Machines whose watches tell nothing: what they know is what they have been answered. */
function deaf() {
  const api = new ScriptedApi();
  const observed: string[] = [];
  const cache = {
    requests: new Map(),
    observeRequest: ({ name }: { readonly name: string }) => observed.push(name),
    unsynced: [],
    withheld: [],
  } as unknown as ClusterCache;
  const ports = {
    api,
    watcher: {} as never,
    recorder: new FakeRecorder(),
    meter: new FakeMeter(),
    fence: { mayAct: () => true },
  };
  const { machines, writer } = new MachineReconciler(
    {
      ...ports,
      clock: new VirtualClock(),
      log: new FakeLog(),
      defects: new PanicHandler({ log: new FakeLog() }),
      cache,
      adapters: [adapter],
      adapter: machineAdapter,
      namespaces: namespacesOf('drydock-system', []),
      limits: { perSet: 1, perZone: 0, nodes: 1 },
      drainLeadSeconds: 1800,
    },
    { source: () => {}, notice: () => {}, complete: () => {} },
  );
  for (const kind of kinds) machines.kinds.set(kind.plural, kind);
  const write = (store: Write['cache'], over: Partial<Write>, status: number, body: unknown) => {
    api.reply = () => response(status, body);
    return writer.write(
      {
        description: 'try',
        method: 'PATCH',
        path: '/x',
        body: {},
        cache: store,
        events: [],
        ...over,
      },
      'n1',
    );
  };
  return { machines, observed, write };
}

function metadata(name: string, over: JsonObject = {}): JsonObject {
  return {
    name,
    namespace: 'machines',
    uid: 'u',
    resourceVersion: '9',
    ...over,
  };
}
function rawMachine(over: JsonObject = {}): JsonObject {
  return {
    apiVersion: common.apiVersion,
    kind: 'Machine',
    metadata: metadata('m1'),
    spec: {},
    ...over,
  };
}
function rawRequest(over: JsonObject = {}): JsonObject {
  return {
    metadata: metadata('mm-m1', { namespace: 'drydock-system', finalizers: ['x/y'], ...over }),
    spec: { maintenancescheduled: false, machineid: 'i-1', machinelink: 'm1' },
  };
}

describe('what the server answers is known at once', () => {
  const learned: readonly (readonly [
    string,
    Write['cache'],
    Partial<Write>,
    JsonObject,
    readonly string[],
  ])[] = [
    ['a machine maintenance', 'machineMaintenances', {}, rawRequest(), ['mm-m1']],
    [
      'one of a namespace where it does not count',
      'machineMaintenances',
      {},
      rawRequest({ namespace: 'shop' }),
      [],
    ],
    ['one that cannot be read', 'machineMaintenances', {}, { ...rawRequest(), spec: {} }, []],
    [
      'one that is gone with its last finalizer',
      'machineMaintenances',
      {},
      rawRequest({ deletionTimestamp: 'x', finalizers: [] }),
      [],
    ],
    [
      'one that is being deleted',
      'machineMaintenances',
      { method: 'DELETE' },
      rawRequest({ deletionTimestamp: 'x' }),
      ['mm-m1'],
    ],
    [
      'one that says only that it was deleted',
      'machineMaintenances',
      { method: 'DELETE' },
      { kind: 'Status', apiVersion: 'v1' },
      [],
    ],
    ['a machine', 'machines', {}, rawMachine(), ['m1']],
    [
      'a machine that is being deleted',
      'machines',
      { method: 'DELETE' },
      rawMachine({ metadata: metadata('m1', { deletionTimestamp: 'x' }) }),
      ['m1'],
    ],
    [
      'a machine that says only that it was deleted',
      'machines',
      { method: 'DELETE' },
      { kind: 'Status', apiVersion: 'v1' },
      [],
    ],
    [
      'a machine of an API that is not followed',
      'machines',
      {},
      rawMachine({ apiVersion: 'cluster.x-k8s.io/v1beta1' }),
      [],
    ],
    [
      'another kind of the same API',
      'machines',
      {},
      rawMachine({ kind: 'MachineHealthCheck' }),
      [],
    ],
    ['a set', 'machineSets', {}, rawMachine({ kind: 'MachineSet' }), ['m1']],
  ];

  for (const [what, store, over, body, known] of learned) {
    test(`${what}: ${known.length > 0 ? 'known' : 'not kept'}`, async () => {
      const { machines, write } = deaf();
      assert.equal((await write(store, over, 200, body)).result, 'stored');
      const all = [machines.requests, machines.machines, machines.sets].flatMap(cache =>
        [...cache.values()].map(({ name }) => name),
      );
      assert.deepEqual(all, known);
    });
  }

  test('a Maintenance, also one that is being deleted', async () => {
    const { observed, write } = deaf();
    const body = {
      metadata: {
        name: 'child',
        uid: 'u',
        resourceVersion: '9',
        deletionTimestamp: 'x',
        finalizers: ['x/y'],
      },
      spec: { nodeName: 'n1' },
    };
    await write('requests', { adapter: adapter.name, method: 'DELETE' }, 200, body);
    await write('requests', { adapter: adapter.name }, 200, body);
    assert.deepEqual(observed, ['child', 'child']);
  });
});

test('what a write finds gone is forgotten, if it was about that very object', async () => {
  const gone = async (
    store: Write['cache'],
    path: string,
    uid: string,
  ): Promise<readonly number[]> => {
    const { machines, write } = deaf();
    machines.requests.observe(makeMachineRequest());
    machines.machines.observe(makeMachine({ path: '/machines/m1' }));
    await write(store, { method: 'DELETE', path, body: { preconditions: { uid } } }, 404, {
      details: { name: path.split('/').at(-1) ?? '' },
    });
    return [machines.requests.size, machines.machines.size];
  };
  assert.deepEqual(await gone('machineMaintenances', request, 'uid-mm'), [0, 1]);
  assert.deepEqual(await gone('machineMaintenances', request, 'uid-of-another'), [1, 1]);
  assert.deepEqual(await gone('machineMaintenances', paths.request('mm-m2'), 'uid-mm'), [1, 1]);
  assert.deepEqual(await gone('machines', '/machines/m1', 'uid-m1'), [1, 0]);
  assert.deepEqual(await gone('machines', '/machines/m1', 'uid-of-another'), [1, 1]);
  assert.deepEqual(await gone('machines', '/machines/m2', 'uid-m1'), [1, 1]);
});

type Bench = ReturnType<typeof machineBench>;
type Fill = (furniture: Furniture, cluster: Bench['cluster']) => void;

/** Machine m1 and its node, in a set of one. */
const furnished: Fill = furniture => {
  furniture.machineApi();
  furniture.set('workers', 1);
  furniture.machine('m1', { set: 'workers' });
  furniture.node('n-m1', 'aws:///a/i-m1');
};

/** Somebody wants m1 to be replaced. */
function asked(cluster: Bench['cluster'], spec: JsonObject = {}, path = request): unknown {
  return cluster.put(path, {
    metadata: {
      name: path.split('/').at(-1) ?? '',
      namespace: path.split('/').at(-3) ?? '',
      uid: 'mmm1-uid',
    },
    spec: { maintenancescheduled: false, machineid: 'i-m1', machinelink: 'm1', ...spec },
  });
}

function phase({ part }: Bench, path = request): string {
  const { phase, waitingFor } = part(path, 'status') as {
    readonly phase?: string;
    readonly waitingFor?: string;
  };
  return `${phase} ${waitingFor}`;
}

/** All that its status says. */
function said({ part }: Bench): string {
  return JSON.stringify(part(request, 'status'));
}

const shut = { openings: [{ from: '2027-01-01T00:00:00Z', to: '2027-01-02T00:00:00Z' }] };
const open = { openings: [{ from: '2025-01-01T00:00:00Z', to: '2027-01-02T00:00:00Z' }] };
const windowPath = '/apis/drydock.dev/v1alpha1/maintenancewindows/w';

describe('what a machine maintenance waits for is seen when it happens, not only at the next look', () => {
  const seen = async (
    fill: Fill,
    before: string,
    happens: (bench: Bench) => unknown,
    after: RegExp,
  ) => {
    const bench = machineBench((furniture, cluster) => {
      furnished(furniture, cluster);
      fill(furniture, cluster);
    });
    await bench.wait(1);
    assert.equal(phase(bench), before);
    happens(bench);
    await bench.calm();
    assert.match(phase(bench), after);
    await bench.end();
  };
  const told = (cluster: Bench['cluster']): unknown => asked(cluster, { strategy: 'Notify' });

  test('its machine goes', () =>
    seen(
      (_, cluster) => told(cluster),
      'Notified EventPending',
      ({ cluster }) => cluster.remove(paths.machine('m1')),
      /^Cancelled/,
    ));

  test('another machine comes, whose node is there already', () =>
    seen(
      (furniture, cluster) => {
        asked(cluster);
        furniture.node('n-m2', 'aws:///a/i-m2');
      },
      'Replacing Replacement',
      ({ furniture }) => furniture.machine('m2', { set: 'workers' }),
      /^(Succeeded|Releasing)/,
    ));

  test('the node of another machine becomes ready', () =>
    seen(
      (furniture, cluster) => {
        asked(cluster);
        furniture.machine('m2', { set: 'workers' });
        furniture.node('n-m2', 'aws:///a/i-m2', 'False');
      },
      'Replacing Replacement',
      ({ furniture }) => furniture.node('n-m2', 'aws:///a/i-m2'),
      /^(Succeeded|Releasing)/,
    ));

  test('a window opens', () =>
    seen(
      (_, cluster) => {
        asked(cluster);
        cluster.put(windowPath, { metadata: { name: 'w', generation: 1 }, spec: shut });
      },
      'Scheduled MaintenanceWindow',
      ({ cluster }) =>
        cluster.put(windowPath, { metadata: { name: 'w', generation: 2 }, spec: open }),
      /^(Draining|Replacing)/,
    ));

  test('a window is for its node no longer', () =>
    seen(
      (_, cluster) => {
        asked(cluster);
        cluster.patch(paths.node('n-m1'), { metadata: { labels: { pool: 'x' } } });
        cluster.put(windowPath, {
          metadata: { name: 'w', generation: 1 },
          spec: { ...shut, nodeSelector: { matchLabels: { pool: 'x' } } },
        });
      },
      'Scheduled MaintenanceWindow',
      ({ cluster }) => cluster.patch(paths.node('n-m1'), { metadata: { labels: { pool: 'y' } } }),
      /^(Draining|Replacing)/,
    ));
});

test('one in a namespace where it does not count is told so once, and nothing else is done about it', async () => {
  const foreign = request.replace('/drydock-system/', '/shop/');
  const bench = machineBench((furniture, cluster) => {
    furnished(furniture, cluster);
    asked(cluster, {}, foreign);
  });
  await bench.wait(10);
  assert.equal(phase(bench, foreign), 'Pending ForeignNamespace');
  assert.match(
    JSON.stringify(bench.part(foreign, 'status')['message']),
    /such objects count in namespace drydock-system only/,
  );
  assert.deepEqual(bench.cluster.written, [`PATCH ${foreign}/status`]);
  const [line] = bench.log.lines.filter(({ message }) => message === 'report ForeignNamespace');
  assert.equal(line?.fields['node'], 'm1');
  await bench.end();
});

test('one whose look throws says so', async () => {
  const maintenanceStatus = (): never => {
    throw new Error('cannot be said');
  };
  const bench = machineBench(
    (furniture, cluster) => {
      furnished(furniture, cluster);
      asked(cluster);
    },
    { adapter: { maintenanceStatus } },
  );
  await bench.wait(1);
  assert.equal(phase(bench), 'Pending InternalError');
  assert.match(JSON.stringify(bench.part(request, 'status')['message']), /cannot be said/);
  await bench.end();
});

test('who may not act does not look, and tells nobody later that he was refused', async () => {
  const leader = { isUs: false };
  const bench = machineBench(
    (furniture, cluster) => {
      furnished(furniture, cluster);
      asked(cluster, { approval: 'Required' });
      cluster.patch(request, { metadata: { finalizers: [machineMaintenanceFinalizer] } });
    },
    { mayAct: () => leader.isUs },
  );
  await bench.wait(10);
  assert.deepEqual(bench.cluster.written, []);
  leader.isUs = true;
  bench.cluster.patch(request, { metadata: { labels: { x: 'y' } } });
  await bench.wait(1);
  assert.equal(phase(bench), 'AwaitingApproval Approval');
  assert.doesNotMatch(
    JSON.stringify(bench.cluster.calls.map(({ body }) => body)),
    /refused so far/,
  );
  await bench.end();
});

test('the nearest deadline is looked at first', async () => {
  const deadline = (hours: number): JsonObject => ({
    deadline: `2026-01-01T${String(hours).padStart(2, '0')}:00:00Z`,
  });
  const bench = machineBench((furniture, cluster) => {
    furniture.machineApi();
    for (const name of ['m1', 'm2', 'm3']) furniture.machine(name);
    const specs: readonly JsonObject[] = [{}, deadline(9), deadline(1)];
    for (const [at, spec] of specs.entries())
      asked(cluster, { machinelink: `m${at + 1}`, ...spec }, paths.request(`mm-m${at + 1}`));
  });
  await bench.wait(1);
  const first = ['mm-m1', 'mm-m2', 'mm-m3'].map(name =>
    bench.cluster.written.indexOf(`PATCH ${paths.request(name)}`),
  );
  assert.ok(
    first[2]! >= 0 && first[2]! < first[1]! && first[1]! < first[0]!,
    String(bench.cluster.written),
  );
  const lines = bench.log.lines.filter(({ fields }) => fields['path'] === paths.request('mm-m1'));
  assert.equal(lines[0]?.fields['node'], 'm1', 'named by its machine, as its node is not known');
  await bench.end();
});

test('the events of a machine say its deadline where it has none of its own', async () => {
  const events = (hours: number): readonly JsonObject[] => [
    {
      ...announced('x', { deadline: Temporal.Instant.from('2026-01-01T00:00:00Z').add({ hours }) }),
      deadline: `2026-01-01T0${hours}:00:00Z`,
    } as unknown as JsonObject,
  ];
  const bench = machineBench((furniture, cluster) => {
    furniture.machineApi();
    for (const name of ['m1', 'm2']) furniture.machine(name);
    asked(cluster, { events: events(9) }, paths.request('mm-m1'));
    asked(cluster, { machinelink: 'm2', events: events(1) }, paths.request('mm-m2'));
  });
  await bench.wait(1);
  const [one, two] = ['mm-m1', 'mm-m2'].map(name =>
    bench.cluster.written.indexOf(`PATCH ${paths.request(name)}`),
  );
  assert.ok(two! >= 0 && two! < one!, String(bench.cluster.written));
  await bench.end();
});

describe('a watch that is late does not prove that there is no window', () => {
  const nights = {
    kinds: ['MachineMaintenance'],
    openings: [{ from: '2027-01-01T00:00:00Z', to: '2027-01-02T00:00:00Z' }],
  };
  const lists = ({ cluster }: Bench): number =>
    cluster.calls.filter(({ path }) => path === windowsPath).length;
  const open = (fill: (cluster: FakeCluster) => void, responses?: FakeCluster['intercept']) =>
    machineBench(
      (furniture, cluster) => {
        furniture.machineApi();
        furniture.set('workers', 1);
        furniture.machine('m1', { set: 'workers' });
        furniture.node('n-m1', 'aws:///a/i-m1');
        asked(cluster);
        fill(cluster);
      },
      { windowsLate: true, ...(responses && { responses }) },
    );

  test('one that was there before the maintenance keeps it', async () => {
    const bench = open(cluster =>
      cluster.put(`${windowsPath}/nights`, { metadata: { name: 'nights' }, spec: nights }),
    );
    await bench.calm();
    assert.equal(phase(bench), 'Scheduled WindowsUnknown');
    await bench.wait(2);
    assert.equal(phase(bench), 'Scheduled MaintenanceWindow');
    await bench.end();
  });

  test('of which the watch tells while the API server is asked keeps it too', async () => {
    const { promise, resolve } = Promise.withResolvers<ApiResponse>();
    const bench = open(
      cluster =>
        cluster.put(`${windowsPath}/nights`, { metadata: { name: 'nights' }, spec: nights }),
      ({ path }) => (path === windowsPath ? promise : undefined),
    );
    await bench.wait(2);
    assert.equal(lists(bench), 1);
    resolve(response(200, { items: [bench.cluster.get(`${windowsPath}/nights`)] }));
    await bench.wait(1);
    assert.equal(phase(bench), 'Scheduled MaintenanceWindow');
    await bench.end();
  });

  test('there is none: the API server is asked once, and it begins', async () => {
    const bench = open(() => {});
    await bench.calm();
    assert.deepEqual([phase(bench).split(' ')[0], lists(bench)], ['Replacing', 1]);
    await bench.end();
  });

  test('no answer: it waits, and asks again', async () => {
    const bench = open(
      () => {},
      ({ path }) => (path === windowsPath ? response(503, {}) : undefined),
    );
    await bench.wait(4);
    assert.equal(phase(bench), 'Scheduled WindowsUnknown');
    assert.match(said(bench), /windows are known: cannot read .*maintenancewindows/);
    assert.ok(lists(bench) >= 3 && lists(bench) <= 7, String(lists(bench)));
    bench.server.responses = () => undefined;
    await bench.wait(2);
    assert.equal(phase(bench).split(' ')[0], 'Replacing');
    await bench.end();
  });
});

describe('a watch that is late does not prove that a machine has no node', () => {
  /** Asked to be replaced by somebody, with a node that the watch has not told of. */
  const late = (responses: (call: ApiCall) => ApiResponse | undefined) =>
    machineBench(
      (furniture, cluster) => {
        furniture.machineApi();
        furniture.set('workers', 1);
        furniture.machine('m1', { set: 'workers' });
        asked(cluster);
      },
      { responses },
    );
  const asksNode = ({ method, path }: ApiCall): boolean =>
    method === 'GET' && path === paths.node('n-m1');
  const deletions = ({ cluster }: Bench): number =>
    cluster.written.filter(call => call === `DELETE ${paths.machine('m1')}`).length;
  const drains = ({ cluster }: Bench): number =>
    cluster.written.filter(call => call === `POST ${adapter.path}`).length;

  test('the API server has the node, or gives no answer: nothing is deleted, and it is asked again', async () => {
    for (const answer of [
      response(200, { metadata: { name: 'n-m1' } }),
      response(503, {}),
      response(404, '404 page not found'),
    ]) {
      const bench = late(call => (asksNode(call) ? answer : undefined));
      await bench.wait(5);
      assert.equal(phase(bench), 'Draining NodeUnknown');
      assert.equal(deletions(bench), 0);
      const looks = bench.cluster.calls.filter(asksNode).length;
      assert.ok(looks >= 4 && looks <= 8, String(looks));
      bench.furniture.node('n-m1', 'aws:///a/i-m1');
      await bench.calm();
      assert.equal(drains(bench), 1, 'the watch has told of it');
      await bench.end();
    }
  });

  test('the API server has no such node: the machine is deleted', async () => {
    const missing = response(404, { kind: 'Status', details: { name: 'n-m1' } });
    const bench = late(call => (asksNode(call) ? missing : undefined));
    await bench.wait(1);
    assert.equal(deletions(bench), 1);
    await bench.end();
  });

  test('a machine that has got its node meanwhile is not deleted as it was: it is read again, and its node is drained first', async () => {
    const bench = machineBench(
      (furniture, cluster) => {
        furniture.machineApi();
        furniture.set('workers', 1);
        furniture.machine('m1', { set: 'workers' });
        cluster.patch(paths.machine('m1'), { status: null });
        asked(cluster);
      },
      {
        responses: ({ method, path, body }) => {
          if (path !== paths.machine('m1') || deletions(bench) > 1) return undefined;
          const { metadata, ...current } = bench.cluster.get(path) as JsonObject & {
            readonly metadata: JsonObject;
          };
          if (method === 'GET') {
            bench.furniture.node('n-m1', 'aws:///a/i-m1');
            return response(200, {
              ...current,
              metadata: { ...metadata, resourceVersion: '999' },
              status: withNode,
            });
          }
          const { uid, resourceVersion } = metadata;
          assert.deepEqual(body, { preconditions: { uid, resourceVersion } });
          return response(409, { kind: 'Status', reason: 'Conflict' });
        },
      },
    );
    const withNode = { nodeRef: { name: 'n-m1' } };
    await bench.wait(1);
    const written = bench.cluster.written.filter(
      call => call.startsWith('DELETE /apis/machine') || call === `POST ${adapter.path}`,
    );
    assert.deepEqual(written, [
      `DELETE ${paths.machine('m1')}`,
      `POST ${adapter.path}`,
      `DELETE ${paths.machine('m1')}`,
    ]);
    await bench.end();
  });
});
