import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '@drydock/apimachinery';
import { isReady, nodeOf, phaseOf } from './controllers/controller.ts';
import { at, objects, part, type Stored } from './object.ts';
import { bench, freshPod } from './testing/bench.ts';

const ready = {
  type: 'Ready',
  status: 'True',
  reason: 'KubeletReady',
  message: '',
  lastHeartbeatTime: null,
  lastTransitionTime: null,
};

function node(name: string, labels: JsonObject = {}): JsonObject {
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, labels: { 'kubernetes.io/hostname': name, ...labels } },
    status: { allocatable: { cpu: '8', memory: '32Gi', pods: '110' }, conditions: [ready] },
  };
}

function template(app: string, spec: JsonObject = {}): JsonObject {
  return {
    metadata: { labels: { app } },
    spec: { containers: [{ name: 'main', image: 'example.test/none:1' }], ...spec },
  };
}

function workload(kind: string, name: string, spec: JsonObject, pod: JsonObject = {}): JsonObject {
  return {
    apiVersion: 'apps/v1',
    kind,
    metadata: { name, namespace: 'shop' },
    spec: { selector: { matchLabels: { app: name } }, template: template(name, pod), ...spec },
  };
}

function running(pods: readonly Stored[]): readonly Stored[] {
  return pods.filter(pod => phaseOf(pod) === 'Running' && isReady(pod));
}

test('a Deployment gets its pods, spread over the nodes, and its status says so', async () => {
  const { make, clock, pods, store, runtime } = bench();
  for (const name of ['n1', 'n2', 'n3']) make('nodes', node(name));
  make('deployments.apps', workload('Deployment', 'web', { replicas: 6 }));
  await clock.advance(2000);
  assert.equal(running(pods()).length, 6);
  assert.deepEqual([...new Set(pods().map(nodeOf))].sort(), ['n1', 'n2', 'n3']);
  const deployment = store.get('deployments.apps', 'shop', 'web');
  assert.deepEqual(
    [at(deployment, 'status', 'readyReplicas'), at(deployment, 'status', 'availableReplicas')],
    [6, 6],
  );
  runtime.stop();
});

test('a pod that is deleted is replaced elsewhere when its node is cordoned, and its budget counts it', async () => {
  const { make, clock, pods, store, writes, runtime } = bench();
  for (const name of ['n1', 'n2']) make('nodes', node(name));
  make('deployments.apps', workload('Deployment', 'web', { replicas: 4 }));
  make('poddisruptionbudgets.policy', {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name: 'web', namespace: 'shop' },
    spec: { maxUnavailable: 1, selector: { matchLabels: { app: 'web' } } },
  });
  await clock.advance(2000);
  const allowed = (): unknown =>
    at(store.get('poddisruptionbudgets.policy', 'shop', 'web'), 'status', 'disruptionsAllowed');
  assert.equal(allowed(), 1);
  const n1 = store.get('nodes', '', 'n1');
  assert.ok(n1 !== undefined);
  writes.update('nodes', { ...n1, spec: { ...part(n1, 'spec'), unschedulable: true } });
  await clock.advance(100);
  const taints = objects(at(store.get('nodes', '', 'n1'), 'spec', 'taints'));
  assert.deepEqual(
    taints.map(({ key }) => key),
    ['node.kubernetes.io/unschedulable'],
  );
  const [victim] = pods().filter(pod => nodeOf(pod) === 'n1');
  assert.ok(victim !== undefined);
  writes.remove('pods', 'shop', victim.metadata.name);
  await clock.advance(50);
  assert.equal(allowed(), 0);
  await clock.advance(3000);
  assert.equal(allowed(), 1);
  assert.equal(running(pods()).length, 4);
  assert.equal(store.get('pods', 'shop', victim.metadata.name), undefined);
  runtime.stop();
});

test('a StatefulSet comes up in order, a DaemonSet is on every node, a Job ends', async () => {
  const { make, clock, pods, store, runtime } = bench();
  for (const name of ['n1', 'n2']) make('nodes', node(name));
  make('statefulsets.apps', workload('StatefulSet', 'db', { replicas: 3, serviceName: 'db' }));
  make('daemonsets.apps', workload('DaemonSet', 'agent', {}));
  const done = template('sum', { restartPolicy: 'Never' });
  make('jobs.batch', {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: 'sum', namespace: 'shop' },
    spec: {
      completions: 2,
      parallelism: 2,
      template: {
        ...done,
        metadata: { labels: { app: 'sum' }, annotations: { 'drydock.test/done-after': '2s' } },
      },
    },
  });
  await clock.advance(400);
  const names = (app: string): readonly string[] =>
    pods()
      .filter(({ metadata }) => metadata.labels?.['app'] === app)
      .map(({ metadata }) => metadata.name);
  assert.deepEqual(names('db'), ['db-0']);
  await clock.advance(10_000);
  assert.deepEqual(names('db'), ['db-0', 'db-1', 'db-2']);
  const agents = pods().filter(({ metadata }) => metadata.labels?.['app'] === 'agent');
  assert.deepEqual(agents.map(nodeOf).sort(), ['n1', 'n2']);
  const job = store.get('jobs.batch', 'shop', 'sum');
  assert.equal(at(job, 'status', 'succeeded'), 2);
  assert.ok(objects(at(job, 'status', 'conditions')).some(({ type }) => type === 'Complete'));
  runtime.stop();
});

test('a node that goes takes its pods with it, and what loses its owner goes', async () => {
  const { make, clock, pods, store, writes, runtime } = bench();
  for (const name of ['n1', 'n2']) make('nodes', node(name));
  make('deployments.apps', workload('Deployment', 'web', { replicas: 4 }));
  await clock.advance(2000);
  writes.remove('nodes', '', 'n1');
  await clock.advance(39_000);
  assert.ok(pods().map(nodeOf).includes('n1'), 'it might come again under its name');
  await clock.advance(25_000);
  assert.equal(running(pods()).length, 4);
  assert.deepEqual([...new Set(pods().map(nodeOf))], ['n2']);
  writes.remove('deployments.apps', 'shop', 'web');
  await clock.advance(5000);
  assert.deepEqual([store.count('replicasets.apps'), pods().length], [0, 0]);
  runtime.stop();
});

test('a namespace that is deleted is emptied, and goes last', async () => {
  const { make, clock, pods, store, writes, runtime } = bench();
  make('nodes', node('n1'));
  make('deployments.apps', workload('Deployment', 'web', { replicas: 2 }));
  await clock.advance(2000);
  const order: string[] = [];
  store.subscribe(({ type, resource }) => {
    if (type === 'removed') order.push(resource);
  });
  writes.remove('namespaces', '', 'shop');
  await clock.advance(30_000);
  assert.deepEqual(
    [store.get('namespaces', '', 'shop'), pods().length, store.count('deployments.apps')],
    [undefined, 0, 0],
  );
  assert.equal(order.at(-1), 'namespaces');
  runtime.stop();
});

test('a namespace goes too when a pod of it has centuries to end', async () => {
  const { make, clock, store, writes, runtime } = bench();
  make('nodes', node('n1'));
  make('pods', freshPod('tenant', { terminationGracePeriodSeconds: 9_000_000_000_000 }));
  await clock.advance(2000);
  writes.remove('namespaces', '', 'shop');
  await clock.advance(30_000);
  assert.equal(store.get('namespaces', '', 'shop'), undefined);
  runtime.stop();
});

test('the same seed is the same life, bit for bit', async () => {
  const live = async (seed: number): Promise<string> => {
    const { make, clock, store, runtime } = bench(
      { pace: { startMs: 500, stopMs: 1000, spread: 0.2 } },
      seed,
    );
    for (const name of ['n1', 'n2', 'n3']) make('nodes', node(name));
    make('deployments.apps', workload('Deployment', 'web', { replicas: 5 }));
    await clock.advance(3000);
    runtime.stop();
    return JSON.stringify([store.list('pods'), store.list('replicasets.apps'), store.version]);
  };
  assert.equal(await live(7), await live(7));
  assert.notEqual(await live(7), await live(8));
});
