import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { JsonObject } from '@drydock/apimachinery';
import { type FakeCluster, uidOf } from '../testing/fake-cluster.ts';
import { announced, type Furniture, machineBench, paths } from '../testing/machine-bench.ts';

/**
 * Somebody else's stop sign: nothing is begun on a machine that is paused, that is said, and it
 * goes on when it is not paused any more.
 */

const capi = '/apis/cluster.x-k8s.io/v1beta2';
function at(plural: string, name: string): string {
  return `${capi}/namespaces/org/${plural}/${name}`;
}
const [machine, set, deployment, whole] = [
  at('machines', 'm1'),
  at('machinesets', 's1'),
  at('machinedeployments', 'd1'),
  at('clusters', 'c1'),
];
const request = paths.request('mm-m1');
const due = Temporal.Instant.from('2026-01-01T00:10:00Z');

type Bench = ReturnType<typeof machineBench>;

function owned(kind: string, name: string, path: string): JsonObject {
  return {
    ownerReferences: [{ kind, name, uid: uidOf(path), controller: true }],
  };
}

function furnished(furniture: Furniture, cluster: FakeCluster): void {
  cluster.put(capi, {
    resources: ['machines', 'machinesets', 'machinedeployments', 'clusters'].map(name => ({
      name,
    })),
    metadata: { name: 'v1beta2' },
  });
  cluster.put(whole, { metadata: { name: 'c1', namespace: 'org' }, spec: {} });
  cluster.put(deployment, {
    metadata: { name: 'd1', namespace: 'org' },
    spec: { replicas: 1, clusterName: 'c1' },
  });
  cluster.put(set, {
    metadata: { name: 's1', namespace: 'org', ...owned('MachineDeployment', 'd1', deployment) },
    spec: { replicas: 1 },
  });
  cluster.put(machine, {
    apiVersion: 'cluster.x-k8s.io/v1beta2',
    kind: 'Machine',
    metadata: { name: 'm1', namespace: 'org', ...owned('MachineSet', 's1', set) },
    spec: { providerID: 'aws:///a/i-m1', clusterName: 'c1' },
    status: { nodeRef: { name: 'n-m1' } },
  });
  furniture.node('n-m1', 'aws:///a/i-m1');
}

function begun({ cluster }: Bench): readonly string[] {
  return cluster.written.filter(one =>
    /\/(maintenances|machines|machinesets|machinedeployments)(\/|$)/.test(one),
  );
}

function statusOf({ part }: Bench): readonly [unknown, unknown, string] {
  const {
    phase,
    waitingFor,
    message = '',
  } = part(request, 'status') as Readonly<Record<string, string>>;
  return [phase, waitingFor, message];
}

function annotated(key: string, value: string): JsonObject {
  return { metadata: { annotations: { [key]: value } } };
}
const paused = 'cluster.x-k8s.io/paused';

type Scene = {
  readonly path: string;
  readonly stop: JsonObject;
  readonly go: JsonObject;
  readonly says: RegExp;
};
function without(key: string): JsonObject {
  return { metadata: { annotations: { [key]: null } } };
}

const scenes: readonly Scene[] = [
  ...['', 'true', 'false'].map(value => ({
    path: machine,
    stop: annotated(paused, value),
    go: without(paused),
    says: /^Machine org\/m1 is paused \(annotation cluster\.x-k8s\.io\/paused\)/,
  })),
  {
    path: set,
    stop: annotated(paused, ''),
    go: without(paused),
    says: /^MachineSet org\/s1 is paused/,
  },
  {
    path: deployment,
    stop: annotated(paused, ''),
    go: without(paused),
    says: /^MachineDeployment org\/d1 is paused/,
  },
  {
    path: deployment,
    stop: { spec: { paused: true } },
    go: { spec: { paused: false } },
    says: /^MachineDeployment org\/d1 is paused \(spec\.paused\)/,
  },
  {
    path: whole,
    stop: { spec: { paused: true } },
    go: { spec: { paused: false } },
    says: /^Cluster org\/c1 is paused \(spec\.paused\)/,
  },
  {
    path: whole,
    stop: annotated(paused, 'x'),
    go: without(paused),
    says: /^Cluster org\/c1 is paused \(annotation/,
  },
];

describe('nothing is begun on a machine that is paused, and it goes on when it is not', () => {
  for (const { path, stop, go, says } of scenes)
    for (const kind of ['retirement', 'reboot', 'stop'] as const)
      test(`${kind}: ${JSON.stringify(stop)} of ${path}`, async () => {
        const bench = machineBench((furniture, cluster) => {
          furnished(furniture, cluster);
          furniture.source('cloud');
          cluster.patch(path, stop);
        });
        bench.cloud.events = [announced('i-m1', { kind, notBefore: due, deadline: due })];
        await bench.wait(300);
        const [phase, waitingFor, message] = statusOf(bench);
        assert.deepEqual([phase, waitingFor, begun(bench)], ['Scheduled', 'MachinePaused', []]);
        assert.match(message, says);
        assert.ok(
          bench.recorder.notes.some(
            ({ type, reason }) => type === 'Warning' && reason === 'MachinePaused',
          ),
        );
        bench.cluster.patch(path, go);
        await bench.wait(5);
        assert.ok(
          begun(bench).some(one => one.startsWith('POST')),
          String(statusOf(bench)),
        );
        await bench.end();
      });
});

test('what is under way waits before it touches a machine that has been paused meanwhile', async () => {
  const bench = machineBench((furniture, cluster) => {
    furnished(furniture, cluster);
    furniture.source('cloud');
    const [name, namespace] = ['a', 'shop'];
    cluster.put('/api/v1/namespaces/shop/pods/a', {
      metadata: { name, namespace },
      spec: { nodeName: 'n-m1' },
      status: { phase: 'Running' },
    });
    cluster.put('/apis/policy/v1/namespaces/shop/poddisruptionbudgets/b', {
      metadata: { name, namespace, generation: 1 },
      spec: { selector: {} },
      status: { observedGeneration: 1, disruptionsAllowed: 0 },
    });
  });
  bench.cloud.events = [announced('i-m1', { deadline: due })];
  await bench.wait(5);
  assert.equal(statusOf(bench)[0], 'Draining');
  bench.cluster.patch(whole, { spec: { paused: true } });
  bench.cluster.remove('/api/v1/namespaces/shop/pods/a');
  await bench.wait(30);
  assert.deepEqual(
    [statusOf(bench)[1], bench.cluster.get(machine) !== undefined],
    ['MachinePaused', true],
  );
  bench.cluster.patch(whole, { spec: { paused: false } });
  await bench.wait(5);
  assert.equal(bench.cluster.get(machine), undefined);
  await bench.end();
});

test('whether its Cluster is paused has to be known', async () => {
  const scene = async (change: (cluster: FakeCluster) => void) => {
    const bench = machineBench((furniture, cluster) => {
      furnished(furniture, cluster);
      furniture.source('cloud');
      change(cluster);
    });
    bench.cloud.events = [announced('i-m1', { deadline: due })];
    await bench.wait(30);
    const [, waitingFor, message] = statusOf(bench);
    const found = [waitingFor, begun(bench).length > 0, message] as const;
    await bench.end();
    return found;
  };
  const withheld = await scene(cluster => void cluster.withheld.add(`${capi}/clusters`));
  assert.deepEqual(withheld.slice(0, 2), ['PauseUnknown', false]);
  assert.match(withheld[2], /may not read clusters\.cluster\.x-k8s\.io/);
  assert.deepEqual((await scene(cluster => cluster.remove(whole))).slice(0, 2), [
    'PauseUnknown',
    false,
  ]);
  const unserved = await scene(cluster =>
    cluster.put(capi, {
      resources: [{ name: 'machines' }, { name: 'machinesets' }],
      metadata: { name: 'v1beta2' },
    }),
  );
  assert.equal(unserved[1], true, 'a cluster that serves no Clusters has none that is paused');
  for (const other of [
    'cluster.x-k8s.io/skip-remediation',
    'machine.cluster.x-k8s.io/exclude-node-draining',
  ])
    assert.equal(
      (await scene(cluster => cluster.patch(machine, annotated(other, 'true'))))[1],
      true,
      `${other} speaks of something else`,
    );
});

test('a machine that goes within minutes is drained, and stays untouched itself', async () => {
  const bench = machineBench((furniture, cluster) => {
    furnished(furniture, cluster);
    cluster.patch(whole, { spec: { paused: true } });
    const [spot, soon] = ['spot', '2026-01-01T00:02:00Z'];
    const event = {
      provider: 'aws',
      id: spot,
      kind: 'preemption',
      state: 'Scheduled',
      source: 'agent',
      notBefore: soon,
      deadline: soon,
    };
    cluster.put(paths.notice('n-m1'), {
      metadata: { name: 'n-m1', uid: 'notice' },
      spec: {
        provider: 'aws',
        instance: 'i-m1',
        observedTime: '2026-01-01T00:00:00Z',
        events: [event],
      },
    });
  });
  await bench.wait(30);
  assert.deepEqual(
    [statusOf(bench)[1], bench.cluster.get(machine) !== undefined],
    ['MachinePaused', true],
  );
  assert.ok(begun(bench).some(one => one.startsWith('POST') && one.endsWith('/maintenances')));
  await bench.end();
});

test('a Machine of OpenShift that another machine API has the say of is a copy', async () => {
  for (const [authority, isPaused] of [
    ['ClusterAPI', true],
    ['Migrating', true],
    ['MachineAPI', false],
  ] as const) {
    const bench = machineBench((furniture, cluster) => {
      furniture.machineApi();
      furniture.set('workers', 1);
      furniture.machine('m1', { set: 'workers' });
      furniture.node('n-m1', 'aws:///a/i-m1');
      furniture.source('cloud');
      cluster.patch(paths.machine('m1'), { status: { authoritativeAPI: authority } });
    });
    bench.cloud.events = [announced('i-m1', { deadline: due })];
    await bench.wait(30);
    assert.equal(statusOf(bench)[1] === 'MachinePaused', isPaused, authority);
    await bench.end();
  }
});
