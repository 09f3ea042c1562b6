import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '@drydock/apimachinery';
import { VirtualClock } from '@drydock/utils';
import { createCluster, inProcess } from '../cluster.ts';
import { ClusterRuntime } from '../cluster-runtime.ts';
import { writesOn } from '../controllers/runner.ts';
import { at, objects, part, type Stored, seeded, text } from '../object.ts';
import { SimulatedKubeVirt } from './machines.ts';
import { kubeVirtDefinitions, kubeVirtObjects } from './virt-api.ts';

/** What takes too long on the real one, to which the rest is held by test/kubevirt/contract.ts. */

const instances = 'virtualmachineinstances.kubevirt.io';
const migrations = 'virtualmachineinstancemigrations.kubevirt.io';

const resourceOf: Readonly<Record<string, string>> = {
  Namespace: 'namespaces',
  KubeVirt: 'kubevirts.kubevirt.io',
  ValidatingWebhookConfiguration: 'validatingwebhookconfigurations.admissionregistration.k8s.io',
};

function nodeOf(name: string): JsonObject {
  return {
    metadata: { name, labels: { 'kubernetes.io/hostname': name } },
    status: { allocatable: { cpu: '64', memory: '256Gi', pods: '110' } },
  };
}

async function furnished(nodes: readonly string[] = ['n1', 'n2']) {
  const clock = new VirtualClock();
  const kubevirt = new SimulatedKubeVirt({ baseMs: 2000, perGiMs: 2000 });
  const { registry, ...cluster } = createCluster({
    clock,
    random: seeded(1),
    extensions: [kubevirt.extension()],
  });
  const { store } = registry;
  const runtime = new ClusterRuntime({
    registry,
    clock,
    pace: { startMs: 500, stopMs: 1000, spread: 0.2 },
    more: kubevirt.controllers(),
  });
  const writes = writesOn(registry);
  const make = (resource: string, draft: JsonObject): void => {
    const written = writes.create(resource, draft);
    if (written.kind === 'refused') throw new Error(written.message);
  };
  for (const one of kubeVirtDefinitions)
    make('customresourcedefinitions.apiextensions.k8s.io', one);
  for (const one of kubeVirtObjects()) make(resourceOf[text(one, 'kind')] ?? '', one);
  for (const name of nodes) make('nodes', nodeOf(name));
  runtime.start();
  await clock.advance(5000);
  const api = inProcess({ registry, ...cluster }, { userAgent: 'test' });
  const vm = (name = 'a'): Stored | undefined => store.get(instances, 'default', name);
  const stage = {
    clock,
    store,
    writes,
    kubevirt,
    vm,
    migrations: (): readonly Stored[] => store.list(migrations, 'default'),
    launchers: (): readonly Stored[] => store.list('pods', 'default'),
    cordon: (name: string, unschedulable: boolean): void => {
      const found = store.get('nodes', '', name);
      assert.ok(found);
      writes.update('nodes', { ...found, spec: { ...part(found, 'spec'), unschedulable } });
    },
    start: async (annotations: JsonObject, memory = '1Gi', name = 'a'): Promise<void> => {
      const spec = {
        evictionStrategy: 'LiveMigrate',
        domain: { memory: { guest: memory }, devices: {} },
      };
      make(instances, { metadata: { name, namespace: 'default', annotations }, spec });
      await stage.until('it runs', () => text(vm(name), 'status', 'phase') === 'Running');
    },
    evict: async (name = 'a'): Promise<number> => {
      const node = text(vm(name), 'status', 'nodeName');
      const running = stage.launchers().filter(one => text(one, 'status', 'phase') === 'Running');
      const pod = running.find(
        one => text(one, 'spec', 'nodeName') === node && one.metadata.name.includes(`-${name}-`),
      );
      const path = `/api/v1/namespaces/default/pods/${pod?.metadata.name}/eviction`;
      const body = {
        apiVersion: 'policy/v1',
        kind: 'Eviction',
        metadata: { name: pod?.metadata.name ?? '', namespace: 'default' },
      };
      return (await api.call({ method: 'POST', path, body })).status;
    },
    until: async (what: string, holds: () => boolean, seconds = 600): Promise<void> => {
      for (let waited = 0; waited < seconds * 10 && !holds(); waited += 1) await clock.advance(100);
      assert.ok(holds(), what);
    },
    [Symbol.dispose]: (): void => runtime.stop(),
  };
  return stage;
}

function phases(all: readonly Stored[]): readonly string[] {
  return all.map(one => text(one, 'status', 'phase'));
}

function timeOf(one: Stored | undefined, phase: string): number {
  return Date.parse(
    text(
      objects(at(one, 'status', 'phaseTransitionTimestamps')).find(each => each['phase'] === phase),
      'phaseTransitionTimestamp',
    ),
  );
}

test('a migration lasts as long as the memory of the VM has it last', async () => {
  using stage = await furnished();
  await stage.start({}, '8Gi');
  assert.equal(await stage.evict(), 429);
  await stage.until('it has moved', () => phases(stage.migrations()).includes('Succeeded'));
  const [only] = stage.migrations();
  assert.equal((timeOf(only, 'Succeeded') - timeOf(only, 'Running')) / 1000, 18);
});

test('the pause after a failure doubles with each further one', async () => {
  using stage = await furnished();
  await stage.start({ 'drydock.test/migration': 'fail' });
  await stage.evict();
  await stage.until(
    'four have failed',
    () => phases(stage.migrations()).filter(phase => phase === 'Failed').length === 4,
  );
  const byTime = stage
    .migrations()
    .toSorted((one, other) => timeOf(one, 'Pending') - timeOf(other, 'Pending'));
  const pauses = byTime
    .slice(1)
    .map((one, index) => (timeOf(one, 'Scheduling') - timeOf(byTime[index], 'Failed')) / 1000);
  assert.ok(pauses.length >= 3);
  for (const [index, least] of [20, 40, 80].entries()) {
    const pause = pauses[index] ?? 0;
    assert.ok(pause >= least && pause <= least + 31, `pause ${index + 1}: ${pause} s`);
  }
});

test('a target that finds no node is given up after five minutes, and another is tried', async () => {
  using stage = await furnished();
  await stage.start({});
  const source = text(stage.vm(), 'status', 'nodeName');
  for (const name of ['n1', 'n2']) stage.cordon(name, true);
  await stage.evict();
  await stage.clock.advance(290_000);
  assert.deepEqual(phases(stage.migrations()), ['Scheduling']);
  await stage.clock.advance(15_000);
  assert.ok(phases(stage.migrations()).includes('Failed'));
  for (const name of ['n1', 'n2'].filter(one => one !== source)) stage.cordon(name, false);
  await stage.until('it has moved', () => text(stage.vm(), 'status', 'nodeName') !== source);
});

test('of the ended migrations of a VM five are kept', async () => {
  using stage = await furnished();
  await stage.start({ 'drydock.test/migration': '1s' });
  for (let round = 0; round < 7; round += 1) {
    const before = text(stage.vm(), 'status', 'nodeName');
    assert.equal(await stage.evict(), 429);
    await stage.until('it has moved', () => text(stage.vm(), 'status', 'nodeName') !== before);
    await stage.clock.advance(2000);
  }
  assert.deepEqual([...new Set(phases(stage.migrations()))], ['Succeeded']);
  assert.equal(stage.migrations().length, 5);
});

test('a target whose node dies fails the migration, and the VM stays where it is', async () => {
  using stage = await furnished(['n1', 'n2', 'n3']);
  await stage.start({ 'drydock.test/migration': 'hang' });
  const source = text(stage.vm(), 'status', 'nodeName');
  await stage.evict();
  await stage.until('it runs', () => phases(stage.migrations()).includes('Running'));
  const target = text(stage.vm(), 'status', 'migrationState', 'targetPod');
  stage.writes.remove('pods', 'default', target, { gracePeriodSeconds: 0 });
  await stage.until('it has failed', () => phases(stage.migrations()).includes('Failed'));
  assert.equal(text(stage.vm(), 'status', 'nodeName'), source);
  assert.equal(text(stage.vm(), 'status', 'phase'), 'Running');
});

test('the same numbers make the same story', async () => {
  const told = async (): Promise<string> => {
    using stage = await furnished(['n1', 'n2', 'n3']);
    const heard: string[] = [];
    stage.store.subscribe(({ resource, type, object }) => {
      if (resource === 'pods' || resource.endsWith('kubevirt.io'))
        heard.push(
          `${stage.clock.now().toString()} ${type} ${object.metadata.name} ${text(object, 'status', 'phase')}`,
        );
    });
    for (const name of ['a', 'b', 'c', 'd']) await stage.start({}, '2Gi', name);
    for (const name of ['a', 'b', 'c', 'd']) await stage.evict(name);
    await stage.until(
      'all have moved',
      () => phases(stage.migrations()).filter(phase => phase === 'Succeeded').length === 4,
    );
    return heard.join('\n');
  };
  const first = await told();
  assert.ok(first.length > 1000);
  assert.equal(await told(), first);
});
