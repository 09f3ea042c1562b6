import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { MaintenanceStatus } from '@drydock/apis/schema';
import { create, nodesReady } from '../control-plane/objects/cluster.ts';
import { node } from '../control-plane/objects/manifests.ts';
import { until, waitFor } from '../control-plane/wait.ts';
import { startBeside } from '../integrations/beside.ts';
import { otherCluster, skipOf } from '../integrations/builds.ts';
import { type OperatorProcess, startHarness } from '../operator/harness/harness.ts';
import { maintenance, maintenancePath, remove } from '../operator/harness/look.ts';
import { startOpenStack } from './bed/bed.ts';
import { Cloud, makeServer, removeServer } from './cloud.ts';

/**
 * Maintenances of nodes that are hypervisors of a real OpenStack, with a real operator on a real
 * control plane.
 */

const hosts = ['compute-1', 'compute-2', 'compute-3'] as const;
const [source] = hosts;

// Shorter than that, the services log in again for every call between them (they renew tokens with
// less than two minutes to live).
const settings = { migrationsAtOnce: 2, pageSize: 7, tokenSeconds: 150 };
const started = await startBeside(otherCluster() ?? (await startHarness()), harness =>
  startOpenStack(harness.controlPlane, hosts, settings),
);

describe('a node that is a hypervisor is drained', {
  skip: skipOf(started),
  timeout: 1_200_000,
}, () => {
  if (started.kind === 'left-out') return;
  const { ground: harness, neighbour: openStack } = started;
  const { api } = harness;
  const cloud = new Cloud(openStack.environment);
  const flags = ['--openstack', '--openstack-interface=public'];
  const startOperator = (): Promise<OperatorProcess> =>
    harness.startOperator({ flags, environment: openStack.environment });
  let operator: OperatorProcess;

  before(async () => {
    for (const name of hosts) await create(api, node(name));
    await nodesReady(api, hosts);
    await cloud.open();
    operator = await startOperator();
  });
  after(async () => {
    await openStack.stop();
    await harness.stop();
  });

  const statusOf = async (name: string): Promise<MaintenanceStatus> =>
    (await api.get<{ readonly status?: MaintenanceStatus }>(maintenancePath(name))).status ?? {};

  const untilStatus = (
    name: string,
    what: string,
    isWanted: (status: MaintenanceStatus) => boolean,
    seconds = 60,
  ): Promise<MaintenanceStatus> =>
    waitFor(
      what,
      async () => {
        const status = await statusOf(name);
        return isWanted(status) ? { done: status } : { yet: JSON.stringify(status) };
      },
      { deadlineMs: seconds * 1000, everyMs: 250 },
    );

  const moved = ({ virtualMachines }: MaintenanceStatus): number => virtualMachines?.moved ?? 0;

  const makeMany = async (count: number, name: (index: number) => string): Promise<void> => {
    const left = Array.from({ length: count }, (_, index) => index);
    const worker = async (): Promise<void> => {
      for (let index = left.shift(); index !== undefined; index = left.shift()) {
        await makeServer(cloud, {
          host: source,
          project: index % 2 === 0 ? 'own' : 'other',
          name: name(index),
        });
      }
    };
    await Promise.all([worker(), worker(), worker(), worker()]);
  };

  test('20 servers of two projects: one paused, one shut off, one in error, one that nobody takes; killed, cut off and logged out on the way', async () => {
    const group = await cloud.makeGroup();
    for (const host of hosts.slice(1))
      await makeServer(cloud, { host, group, name: `member-on-${host}` });
    const nobodyTakes = await makeServer(cloud, { host: source, group, name: 'nobody-takes' });
    const paused = await makeServer(cloud, { host: source, state: 'paused', project: 'other' });
    const stopped = await makeServer(cloud, { host: source, state: 'stopped' });
    const broken = await makeServer(cloud, { host: source, state: 'error', project: 'other' });
    await makeMany(16, index => `s${String(index).padStart(2, '0')}`);

    await create(api, maintenance(source, { reason: 'new disks' }));
    await untilStatus(source, 'five to have moved', status => moved(status) >= 5, 120);
    const service = await cloud.service(source);
    assert.equal(service.status, 'disabled');
    assert.match(service.disabled_reason ?? '', /^drydock: compute-1: new disks \(since .+\)$/);

    await operator.running.signal('SIGKILL');
    await operator.running.ended;
    operator = await startOperator();
    await untilStatus(source, 'nine to have moved', status => moved(status) >= 9, 120);

    await openStack.stopService('nova-api');
    await untilStatus(
      source,
      'the silence of Nova to be told',
      ({ blockers = [] }) => blockers.some(({ reason }) => reason === 'HypervisorUnknown'),
      60,
    );
    await new Promise(resolve => setTimeout(resolve, 30_000));
    await openStack.startService('nova-api');

    const stuck = await untilStatus(
      source,
      'all but two to have moved',
      ({ virtualMachines: vms }) => vms?.moved === 18 && vms.cannot === 2,
      240,
    );
    const blockers = (stuck.blockers ?? [])
      .map(({ reason, server, message }) => `${reason} ${server?.name ?? ''}: ${message}`)
      .sort();
    assert.equal(blockers.length, 2, blockers.join('\n'));
    assert.match(
      blockers.join('\n'),
      /ServerNotMovable drydock-error: server drydock-error: is in error/,
    );
    assert.match(blockers.join('\n'), /ServerNotMovable nobody-takes: .*No valid host was found/);
    const { stdout } = await harness.drydock('status', source);
    assert.match(stdout, /20 VMs: 18 moved, 2 that cannot move/);

    await removeServer(cloud, broken);
    await cloud.deleteNamed(`member-on-${hosts[2]}`);
    await untilStatus(source, 'the node to be drained', ({ phase }) => phase === 'Drained', 300);
    assert.deepEqual(await cloud.serversOn(source), []);
    assert.equal((await cloud.server(paused)).status, 'PAUSED');
    assert.equal((await cloud.server(stopped)).status, 'SHUTOFF');
    assert.notEqual((await cloud.server(nobodyTakes)).host, source);
    const times = await cloud.goodMigrationsFrom(source);
    assert.equal(times.size, 19);
    assert.deepEqual(
      [...times.values()].filter(count => count !== 1),
      [],
      'each moved once',
    );

    await remove(api, maintenancePath(source));
    await until(
      'the service to be enabled',
      async () => (await cloud.service(source)).status === 'enabled',
      { deadlineMs: 30_000 },
    );
    assert.equal((await cloud.service(source)).disabled_reason, null);
    for (const name of ['nobody-takes', `member-on-${hosts[1]}`]) await cloud.deleteNamed(name);
  });

  test('a service that an administrator disabled is emptied, and stays his', async () => {
    const [, host] = hosts;
    await cloud.disable(host, 'broken fan');
    await create(api, maintenance(host));
    await untilStatus(host, 'the node to be drained', ({ phase }) => phase === 'Drained', 300);
    assert.deepEqual(await cloud.serversOn(host), []);
    await remove(api, maintenancePath(host));
    await new Promise(resolve => setTimeout(resolve, 12_000));
    const { status, disabled_reason: reason } = await cloud.service(host);
    assert.deepEqual([status, reason], ['disabled', 'broken fan']);
    await cloud.enable(host);
  });

  test('given up in the middle: what Nova has not begun is called off, and new servers come again', async () => {
    const [, , host] = hosts;
    const before = (await cloud.serversOn(host)).length;
    assert.ok(before >= 6, `${before} servers are there`);
    await create(api, maintenance(host));
    await untilStatus(
      host,
      'some to move',
      ({ virtualMachines: vms }) => (vms?.migrating ?? 0) >= 3,
      60,
    );
    await remove(api, maintenancePath(host));
    await until(
      'the service to be enabled',
      async () => (await cloud.service(host)).status === 'enabled',
      { deadlineMs: 60_000 },
    );
    await until('nothing to move', async () => (await cloud.openMigrations(host)).length === 0, {
      deadlineMs: 60_000,
    });
    assert.ok((await cloud.serversOn(host)).length >= before - 4, 'most have stayed');
  });

  test('a NodeMaintenance of the replaced operator waits for the hypervisor as well', async () => {
    const path = '/apis/nodemaintenance.medik8s.io/v1beta1/nodemaintenances/old';
    await create(api, {
      apiVersion: 'nodemaintenance.medik8s.io/v1beta1',
      kind: 'NodeMaintenance',
      metadata: { name: 'old' },
      spec: { nodeName: hosts[2], reason: 'as before' },
    });
    const done = await waitFor(
      'the NodeMaintenance to succeed',
      async () => {
        const { status } = await api.get<{ readonly status?: { readonly phase?: string } }>(path);
        return status?.phase === 'Succeeded' ? { done: status } : { yet: JSON.stringify(status) };
      },
      { deadlineMs: 300_000, everyMs: 250 },
    );
    assert.equal(done.phase, 'Succeeded');
    assert.deepEqual(await cloud.serversOn(hosts[2]), []);
    await remove(api, path);
  });

  test('a server that hangs in a task keeps its node alone, with what to do; the others move, and so does it when it is let go', async () => {
    const [, , host] = hosts;
    await until(
      'the service to be enabled',
      async () => (await cloud.service(host)).status === 'enabled',
      { deadlineMs: 60_000 },
    );
    const hanging = await makeServer(cloud, { host, name: 'hanging' });
    const other = await makeServer(cloud, { host, name: 'other' });
    await openStack.abandon(hanging, 'powering-off');
    await create(api, maintenance(host));
    const { blockers = [] } = await untilStatus(
      host,
      'the other one to have moved and this one to be told',
      ({ virtualMachines: vms }) => vms?.moved === 1 && vms.cannot === 1,
      120,
    );
    assert.deepEqual(
      blockers.map(({ reason, message, remedy }) => [
        reason,
        message,
        remedy?.includes('openstack server set --state active'),
      ]),
      [
        [
          'ServerNotMovable',
          'server hanging: hangs: Nova has been at powering-off for more than ten minutes',
          true,
        ],
      ],
    );
    assert.notEqual((await cloud.server(other)).host, host);
    await cloud.nova('POST', `/servers/${hanging}/action`, {
      'os-resetState': { state: 'active' },
    });
    await untilStatus(host, 'the node to be drained', ({ phase }) => phase === 'Drained', 300);
    assert.notEqual((await cloud.server(hanging)).host, host);
    await remove(api, maintenancePath(host));
  });
});
