import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import {
  OpenStack,
  OpenStackApi,
  serveOpenStack,
  simulatedEnvironment,
} from '@drydock/kube-sim/nova';
import { systemClock } from '@drydock/utils';
import { create } from '../control-plane/objects/cluster.ts';
import { until } from '../control-plane/wait.ts';
import { type OperatorHarness, skipOf, startHarness } from './harness/harness.ts';
import {
  maintenance,
  maintenancePath,
  makeNode,
  remove,
  untilMaintenance,
} from './harness/look.ts';

/**
 * Nodes that are hypervisors of an OpenStack, which is simulated here; test/nova has the same on a
 * real one.
 */

const started = await startHarness();
const skip = skipOf(started);
const harness = started as OperatorHarness;

describe('hypervisors of OpenStack', { skip, timeout: 180_000 }, () => {
  const { api } = harness;
  const hosts = ['hyper-1', 'hyper-2', 'hyper-3'];
  const cloud = new OpenStack({
    clock: systemClock,
    hosts,
    migrationMs: () => 400,
    concurrency: 2,
  });
  let close: () => Promise<void>;

  before(async () => {
    const served = await serveOpenStack(new OpenStackApi(cloud), { unref: true });
    close = () => served[Symbol.asyncDispose]();
    for (const name of [...hosts, 'plain']) await makeNode(api, name);
    await harness.startOperator({
      flags: ['--openstack'],
      environment: simulatedEnvironment(served.authUrl),
    });
  });
  after(async () => {
    await harness.stop();
    await close();
  });

  const isEnabled = (host: string): boolean => cloud.hosts.get(host)?.enabled === true;

  test('a node is drained when its hypervisor is empty, and what cannot move is a blocker with what would help', async () => {
    for (let index = 0; index < 6; index += 1)
      cloud.addServer({ name: `s${index}`, host: 'hyper-1', project: index % 2 === 0 ? 'a' : 'b' });
    const broken = cloud.addServer({ name: 'broken', host: 'hyper-1', vmState: 'error' });
    await create(api, maintenance('hyper-1', { reason: 'new disks' }));
    const stuck = await untilMaintenance(
      api,
      'hyper-1',
      'Draining',
      ({ virtualMachines: vms }) => vms?.moved === 6 && vms.cannot === 1,
    );
    assert.deepEqual(
      stuck.blockers?.map(({ reason, server }) => `${reason} ${server?.name ?? ''}`),
      ['ServerNotMovable broken'],
    );
    assert.match(stuck.blockers?.[0]?.message ?? '', /is in error, and Nova moves no such servers/);
    assert.match(cloud.hosts.get('hyper-1')?.reason ?? '', /^drydock: hyper-1: new disks \(since/);
    cloud.deleteServer(broken);
    await untilMaintenance(api, 'hyper-1', 'Drained');
    assert.deepEqual(cloud.on('hyper-1'), []);
    await remove(api, maintenancePath('hyper-1'));
    await until('the service to be enabled', async () => isEnabled('hyper-1'));
  });

  test('a node that is no hypervisor is drained without one', async () => {
    await create(api, maintenance('plain'));
    await untilMaintenance(api, 'plain', 'Drained');
    await remove(api, maintenancePath('plain'));
  });

  test('as long as OpenStack does not answer nothing is called drained', async () => {
    cloud.addServer({ name: 'left', host: 'hyper-3' });
    cloud.down = true;
    await create(api, maintenance('hyper-3'));
    const silent = await untilMaintenance(api, 'hyper-3', 'Draining', ({ blockers = [] }) =>
      blockers.some(({ reason }) => reason === 'HypervisorUnknown'),
    );
    assert.match(silent.blockers?.[0]?.remedy ?? '', /connection to OpenStack/);
    cloud.down = false;
    await untilMaintenance(api, 'hyper-3', 'Drained');
    await remove(api, maintenancePath('hyper-3'));
    await until('the service to be enabled', async () => isEnabled('hyper-3'));
  });

  test('a maintenance that only cordons keeps new servers away, and moves none', async () => {
    cloud.addServer({ name: 'stays', host: 'hyper-1' });
    const before = cloud.on('hyper-1');
    await create(api, maintenance('hyper-1', { level: 'Cordon' }));
    await until('the service to be disabled', async () => !isEnabled('hyper-1'));
    await untilMaintenance(api, 'hyper-1', 'Cordoned');
    assert.deepEqual(cloud.on('hyper-1'), before);
    await remove(api, maintenancePath('hyper-1'));
    await until('the service to be enabled', async () => isEnabled('hyper-1'));
  });

  test('policies of the object count: shut off servers may stay', async () => {
    cloud.addServer({ name: 'off', host: 'hyper-2', vmState: 'stopped' });
    await create(api, maintenance('hyper-2', { drain: { servers: { stopped: 'Leave' } } }));
    const { virtualMachines: vms } = await untilMaintenance(api, 'hyper-2', 'Drained');
    assert.equal(vms?.left, 1);
    assert.deepEqual(cloud.on('hyper-2'), ['off']);
    await remove(api, maintenancePath('hyper-2'));
  });
});
