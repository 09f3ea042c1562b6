import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import type { MaintenanceStatus } from '@drydock/apis/schema';
import { create, getNode, nodePath, nodesReady, podsOn } from '../control-plane/objects/cluster.ts';
import { deployment, node } from '../control-plane/objects/manifests.ts';
import { until, waitFor } from '../control-plane/wait.ts';
import { startBeside } from '../integrations/beside.ts';
import { skipOf } from '../integrations/builds.ts';
import { startHarness } from '../operator/harness/harness.ts';
import {
  isHeld,
  maintenance,
  maintenancePath,
  ourTaints,
  podCalls,
  remove,
  seed,
  seedPath,
  untilEvent,
  untilGone,
} from '../operator/harness/look.ts';
import { startKubeVirt } from './kubevirt.ts';
import { migration, pathOf, steering, type Vmi, type VmOptions } from './objects.ts';

/**
 * Maintenances of nodes with VMs, on KubeVirt's own virt-api and virt-controller, or on the
 * embedded cluster with a simulated one.
 */

const names = ['n1', 'n2', 'n3'] as const;
const [home] = names;
const space = 'vms';

const started = await startBeside(
  await startHarness({ aggregation: true, roles: ['virtual-machines'] }),
  harness => startKubeVirt(harness.controlPlane),
);

type Vms = NonNullable<MaintenanceStatus['virtualMachines']>;

describe('a node with VMs is drained', { skip: skipOf(started), timeout: 900_000 }, () => {
  if (started.kind === 'left-out') return;
  const { ground: harness, neighbour: kubevirt } = started;
  const { api, controlPlane } = harness;

  before(async () => {
    for (const name of names) await create(api, node(name));
    await create(api, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: space } });
    await nodesReady(api, names);
    await kubevirt.nodesKnown(...names);
    await harness.startOperator();
  });
  after(async () => {
    await kubevirt.stop();
    await harness.stop();
  });
  afterEach(async () => {
    for (const path of [maintenancePath(home), seedPath(home)]) {
      if ((await api.call('GET', path)).status === 200) await remove(api, path);
    }
    await kubevirt.clear();
    await until(
      `${home} to be free`,
      async () => (await getNode(api, home)).spec.unschedulable !== true,
    );
  });

  const make = (count: number, options: Partial<VmOptions> = {}): Promise<readonly Vmi[]> =>
    kubevirt.makeInstances(
      ...Array.from({ length: count }, (_, index) => ({
        namespace: space,
        name: `vm${String(index).padStart(2, '0')}`,
        on: home,
        ...options,
      })),
    );

  const instances = async (): Promise<readonly Vmi[]> => {
    const { items } = await api.get<{ readonly items: readonly Vmi[] }>(
      pathOf('virtualmachineinstances', space),
    );
    return items;
  };

  /** Since the mark: how often the operator has asked each launcher pod to go. */
  const evictions = async (mark: number): Promise<Readonly<Record<string, number>>> => {
    const counts: Record<string, number> = {};
    for (const call of await podCalls(harness, mark, [space])) {
      const [verb = '', name = ''] = call.split(' ');
      if (verb === 'evict' && name.startsWith('virt-launcher'))
        counts[name] = (counts[name] ?? 0) + 1;
    }
    return counts;
  };

  const untilPhase = (
    path: string,
    phase: string,
    deadlineMs = 60_000,
  ): Promise<MaintenanceStatus> =>
    waitFor(
      `${path} to be ${phase}`,
      async () => {
        const { status = {} } = await api.get<{ readonly status?: MaintenanceStatus }>(path);
        return status.phase === phase ? { done: status } : { yet: JSON.stringify(status) };
      },
      { deadlineMs, everyMs: 100 },
    );
  const untilDrained = (deadlineMs?: number): Promise<MaintenanceStatus> =>
    untilPhase(maintenancePath(home), 'Drained', deadlineMs);

  const vmsOf = (status: MaintenanceStatus): Partial<Vms> => status.virtualMachines ?? {};

  const untilVms = (
    what: string,
    isWanted: (vms: Partial<Vms>, status: MaintenanceStatus) => boolean,
    deadlineMs = 60_000,
  ) =>
    waitFor(
      what,
      async () => {
        const { status = {} } = await api.get<{ readonly status?: MaintenanceStatus }>(
          maintenancePath(home),
        );
        return isWanted(vmsOf(status), status) ? { done: status } : { yet: JSON.stringify(status) };
      },
      { deadlineMs, everyMs: 100 },
    );

  const blockersOf = (status: MaintenanceStatus): readonly string[] =>
    (status.blockers ?? []).map(({ reason }) => reason);

  test('20 VMs and some pods: each VM is asked to move once, never more than KubeVirt moves and one; the node is drained, and released', async () => {
    await make(20, { migration: '1s' });
    await create(api, deployment('web', { namespace: space, replicas: 4 }));
    const mark = controlPlane.audit.mark();
    let mostMarked = 0;
    let mostActive = 0;
    await create(api, maintenance(home));
    const watching = setInterval(() => {
      void instances().then(all => {
        mostMarked = Math.max(
          mostMarked,
          all.filter(({ status }) => status?.evacuationNodeName === home).length,
        );
      });
      void kubevirt.migrations(space).then(all => {
        const active = all.filter(
          ({ status }) => !['', 'Pending', 'Succeeded', 'Failed'].includes(status?.phase ?? ''),
        );
        mostActive = Math.max(mostActive, active.length);
      });
    }, 200);
    try {
      const onTheWay = await untilVms(
        'an expected end',
        ({ moved = 0 }, { estimatedCompletionTime }) =>
          moved > 0 && estimatedCompletionTime !== undefined,
        90_000,
      );
      assert.equal(vmsOf(onTheWay).total, 20);
      await untilDrained(240_000);
    } finally {
      clearInterval(watching);
    }
    assert.ok(mostMarked <= 3, `at most ${mostMarked} were marked at a time`);
    assert.ok(mostActive <= 2, `at most ${mostActive} moved at a time`);
    const { status = {} } = await api.get<{ readonly status?: MaintenanceStatus }>(
      maintenancePath(home),
    );
    const { items: _items, ...counts } = vmsOf(status);
    assert.deepEqual(counts, {
      total: 20,
      waiting: 0,
      migrating: 0,
      moved: 20,
      stopped: 0,
      cannot: 0,
      left: 0,
    });
    const asked = Object.entries(await evictions(mark)).filter(([name]) =>
      name.startsWith('virt-launcher'),
    );
    assert.equal(asked.length, 20);
    // Once for the VM, and once for what it left behind.
    assert.deepEqual(
      asked.filter(([, times]) => times !== 2),
      [],
    );
    assert.ok(
      (await instances()).every(
        vmi => vmi.status?.phase === 'Running' && vmi.status.nodeName !== home,
      ),
    );
    assert.deepEqual(
      (await podsOn(api, home)).map(({ metadata }) => metadata.name),
      [],
    );
    await api.delete(`/apis/apps/v1/namespaces/${space}/deployments/web`);
  });

  test('one that cannot migrate is not asked in vain, keeps the node, and moves when it can', async () => {
    await make(1, { migratable: false });
    const mark = controlPlane.audit.mark();
    await create(api, maintenance(home));
    const status = await untilVms('a VM that cannot move', ({ cannot }) => cannot === 1);
    assert.deepEqual(blockersOf(status), ['NotMigratable']);
    assert.match(status.blockers?.[0]?.message ?? '', /VM vm00 must be migrated .* cannot be: .+/);
    assert.deepEqual(await evictions(mark), {});
    const { stdout } = await harness.drydock('status', home);
    assert.match(stdout, /1 VM: 1 that cannot move/);
    await until('the VM to be deleted', async () => {
      await api.call('DELETE', pathOf('virtualmachineinstances', space, 'vm00'));
      return (await instances()).length === 0;
    });
    await untilDrained();
  });

  test('ShutDown: at the deadline its guest is shut down, and its VirtualMachine starts it elsewhere', async () => {
    await kubevirt.makeMachines({ namespace: space, name: 'pet', on: home, migratable: false });
    await create(
      api,
      maintenance(home, {
        drain: { virtualMachines: { notMigratable: 'ShutDown', shutDownAfterSeconds: 3 } },
      }),
    );
    await untilVms('a VM that cannot move', ({ cannot }) => cannot === 1);
    const { virtualMachines } = await untilDrained();
    assert.equal(virtualMachines?.stopped, 1);
    await until('the VM to run elsewhere', async () => {
      const [vmi] = await instances();
      return vmi?.status?.phase === 'Running' && vmi.status.nodeName !== home;
    });
  });

  test('Refuse: nothing is moved, the other VMs neither', async () => {
    await make(1, { migratable: false });
    await kubevirt.makeInstances({ namespace: space, name: 'other', on: home });
    const mark = controlPlane.audit.mark();
    await create(
      api,
      maintenance(home, { drain: { virtualMachines: { notMigratable: 'Refuse' } } }),
    );
    await untilVms('the refusal', (_vms, status) => blockersOf(status).includes('NotMigratable'));
    assert.deepEqual(await evictions(mark), {});
  });

  test('each strategy does what it says, and is told beforehand', async () => {
    for (const [name, evictionStrategy, migratable] of [
      ['none', 'None', true],
      ['possible', 'LiveMigrateIfPossible', true],
      ['impossible', 'LiveMigrateIfPossible', false],
      ['external', 'External', true],
      ['default', undefined, true],
    ] as const) {
      await kubevirt.makeInstances({
        namespace: space,
        name,
        on: home,
        migratable,
        migration: '1s',
        ...(evictionStrategy && { evictionStrategy }),
      });
    }
    const dry = await harness.drydock(
      'drain',
      home,
      '--dry-run=server',
      '--delete-emptydir-data',
      '--ignore-daemonsets',
      '--force',
    );
    assert.match(
      dry.stderr,
      /VM vms\/none is not meant to be migrated \(evictionStrategy None\), and is shut down by its eviction/,
    );
    assert.match(dry.stderr, /VM vms\/possible is live-migrated/);
    assert.match(
      dry.stderr,
      /VM vms\/impossible cannot be migrated, and is shut down by its eviction/,
    );
    assert.match(dry.stderr, /VM vms\/external is moved by a controller of its own/);
    assert.match(dry.stderr, /VM vms\/default is live-migrated/);
    assert.equal(dry.code, 0, dry.stderr);
    await create(api, maintenance(home, { drain: { deleteEmptyDirData: true } }));
    const status = await untilVms(
      'all but the external one to leave',
      ({ moved, stopped }, { blockerCount }) => moved === 2 && stopped === 2 && blockerCount === 1,
    );
    assert.deepEqual(blockersOf(status), ['Evacuating']);
    assert.match(
      status.blockers?.[0]?.message ?? '',
      /external is marked for the controller that moves it/,
    );
    // Who moves it is a controller that knows how: here it is played by a user's migration.
    await api.post(
      pathOf('virtualmachineinstancemigrations', space),
      migration(space, 'moved-by-its-controller', 'external'),
    );
    const done = await untilDrained();
    assert.equal(done.virtualMachines?.moved, 3);
  });

  test('given up in the middle: what has not begun is called back, what moves goes on and is named', async () => {
    await make(5, { migration: '8s' });
    await create(api, maintenance(home));
    await until(
      'two to move',
      async () =>
        (await kubevirt.migrations(space)).filter(({ status }) => status?.phase === 'Running')
          .length === 2,
    );
    const { metadata } = await api.get<{ readonly metadata: { readonly uid: string } }>(
      maintenancePath(home),
    );
    await api.delete(maintenancePath(home));
    await untilGone(api, maintenancePath(home));
    const marked = async (): Promise<readonly Vmi[]> =>
      (await instances()).filter(({ status }) => status?.evacuationNodeName !== undefined);
    const moving = (await kubevirt.migrations(space)).filter(({ status }) =>
      ['TargetReady', 'Running', 'PreparingTarget'].includes(status?.phase ?? ''),
    );
    assert.ok((await marked()).length <= 2, 'only those that move are marked');
    assert.ok(moving.length > 0 && moving.length <= 2);
    const told = await untilEvent(api, metadata.uid, 'VirtualMachinesStillMoving');
    assert.match(told.message, /move on: vms\/vm0/);
    await until('those to arrive', async () => (await marked()).length === 0, {
      deadlineMs: 60_000,
    });
    const stayed = (await instances()).filter(({ status }) => status?.nodeName === home);
    assert.equal(stayed.length, 5 - moving.length);
    const open = (await kubevirt.migrations(space)).filter(
      ({ status }) => !['Succeeded', 'Failed'].includes(status?.phase ?? ''),
    );
    assert.deepEqual(open, []);
    assert.equal(isHeld(await getNode(api, home), ourTaints), false);
  });

  test('a migration that fails is told with what KubeVirt says, and tried again until it works', async () => {
    await make(1, { migration: 'fail' });
    await create(api, maintenance(home));
    const failing = await untilVms('the failure', (_vms, status) =>
      blockersOf(status).includes('MigrationFailed'),
    );
    assert.equal(vmsOf(failing).cannot, 1);
    assert.match(
      failing.blockers?.[0]?.message ?? '',
      /the last migration of VM vm00 failed: .+; KubeVirt tries again/,
    );
    await api.patch(pathOf('virtualmachineinstances', space, 'vm00'), {
      metadata: { annotations: { [steering.migration]: '1s' } },
    });
    const { virtualMachines } = await untilDrained(120_000);
    assert.equal(virtualMachines?.moved, 1);
  });

  // A minute has to pass before it is told, and no cluster changes that.
  const isEmbedded = process.env['DRYDOCK_TEST_CLUSTER'] === 'embedded';

  test('where no node takes the VM, that is told; it moves when there is room', {
    skip: isEmbedded && 'it takes a minute there as well',
  }, async () => {
    await make(1, { migration: '1s' });
    for (const name of names.slice(1))
      await api.patch(nodePath(name), { spec: { unschedulable: true } });
    await create(api, maintenance(home));
    await untilVms(
      'nobody to take it',
      (_vms, status) => blockersOf(status).includes('NoMigrationTarget'),
      120_000,
    );
    for (const name of names.slice(1))
      await api.patch(nodePath(name), { spec: { unschedulable: false } });
    await untilDrained(60_000);
  });

  test('a migration that a user began is waited for, and not asked about', async () => {
    await make(1, { migration: '4s' });
    await api.post(
      pathOf('virtualmachineinstancemigrations', space),
      migration(space, 'by-hand', 'vm00'),
    );
    await until('it to run', async () =>
      (await kubevirt.migrations(space)).some(({ status }) => status?.phase === 'Running'),
    );
    const mark = controlPlane.audit.mark();
    await create(api, maintenance(home));
    await untilDrained();
    assert.deepEqual(Object.values(await evictions(mark)), [1], 'only what the VM left behind');
  });

  test('virt-api away: nothing is lost, and it goes on when it is back', async () => {
    await make(2, { migration: '1s' });
    await kubevirt.stopPart('virt-api');
    await create(api, maintenance(home));
    await untilVms(
      'the failure to be told',
      (_vms, status) => blockersOf(status).includes('EvictionFailed'),
      90_000,
    );
    await kubevirt.startPart('virt-api');
    const { virtualMachines } = await untilDrained(120_000);
    assert.equal(virtualMachines?.moved, 2);
  });

  test('a NodeMaintenance of the replaced operator moves VMs as well, its taint on the node', async () => {
    await make(3, { migration: '1s' });
    await create(api, seed(home));
    await untilPhase(seedPath(home), 'Succeeded', 90_000);
    assert.ok((await instances()).every(({ status }) => status?.nodeName !== home));
  });

  test('drydock drain --pod-selector=kubevirt.io=virt-launcher: VMs only, pods stay', async () => {
    await make(3, { migration: '1s' });
    await create(api, deployment('stays', { namespace: space, replicas: 1, onNodes: [home] }));
    const { code, stdout, stderr } = await harness.drydock(
      'drain',
      home,
      '--pod-selector=kubevirt.io=virt-launcher',
      '--delete-emptydir-data',
      '--ignore-daemonsets=true',
      '--force',
      '--timeout=120s',
    );
    assert.equal(code, 0, stderr);
    assert.match(stdout, new RegExp(`node/${home} drained`));
    assert.ok((await instances()).every(({ status }) => status?.nodeName !== home));
    assert.deepEqual(
      (await podsOn(api, home)).map(({ metadata }) => metadata.labels?.['app']),
      ['stays'],
    );
    await api.patch(nodePath(home), { spec: { unschedulable: false } });
    await api.delete(`/apis/apps/v1/namespaces/${space}/deployments/stays`);
  });
});
