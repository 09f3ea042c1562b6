import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { defaultNamespace as home } from '@drydock/cli/install';
import { clientsFor } from '../control-plane/objects/api.ts';
import {
  budgetAllows,
  collectionOf,
  cordon,
  create,
  evict,
  getNode,
  nodePath,
  podPath,
  pods,
  podsOn,
  podsReady,
} from '../control-plane/objects/cluster.ts';
import { budget, namespace } from '../control-plane/objects/manifests.ts';
import type { Pod } from '../control-plane/objects/objects.ts';
import type { Outcome } from '../control-plane/processes/command.ts';
import { until, waitFor } from '../control-plane/wait.ts';
import { operatorsOn } from '../operator/harness/harness.ts';
import {
  maintenance,
  maintenancePath,
  remove,
  untilMaintenance,
} from '../operator/harness/look.ts';
import { installShipped, operatorUsers } from '../operator/harness/shipped.ts';
import { type NodeBed, skipOf, startBed } from './bed.ts';
import { figure, seconds, tokenOf } from './figures.ts';
import {
  type Habits,
  lifeIn,
  podGone,
  podReady,
  realDeployment,
  realPod,
  staticPod,
} from './pods.ts';
import { onBed } from './product.ts';

/** How pods end on real nodes, whoever drains them; the operator runs from its sources. */

const started = await startBed({ nodes: 2, users: operatorUsers });
const skip = skipOf(started);
const bed = started as NodeBed;

describe('pods that are processes', { skip, timeout: 240_000 }, () => {
  const { api, controlPlane } = bed;
  const node = skip === false ? bed.node('node-1') : undefined;
  before(async () => {
    await installShipped(controlPlane);
    await operatorsOn(controlPlane)();
  });
  /** Whatever a test that failed has left behind. */
  afterEach(async () => {
    await api.call(
      'PATCH',
      podPath('ends', 'bound'),
      { metadata: { finalizers: null } },
      'application/merge-patch+json',
    );
    for (const name of ['ends', 'tenant']) await remove(api, maintenancePath(name));
    for (const { name } of bed.nodes) await cordon(api, name, false);
  });
  after(() => bed.stop());

  /**
   * What a pod's process has said, once it is gone: kubelet removes the log with the pod, so it is
   * followed.
   */
  const lives = (space: string, names: readonly string[]): Promise<readonly string[]> =>
    Promise.all(
      names.map(async name => {
        const { body } = await api.call('GET', `${podPath(space, name)}/log?follow=true`);
        return String(body);
      }),
    );

  test('a preStop hook, a long grace period, a process that heeds no SIGTERM, an emptyDir, a finalizer and a static pod', async t => {
    const space = 'ends';
    await create(api, namespace(space));
    const habits: Readonly<Record<string, Partial<Habits>>> = {
      hooked: { preStopSeconds: 3 },
      slow: { termSeconds: 6, graceSeconds: 60 },
      deaf: { termSeconds: 'never', graceSeconds: 4 },
      local: { localData: true },
      bound: { finalizers: ['example.test/bound'] },
    };
    const names = Object.keys(habits);
    for (const [name, more] of Object.entries(habits))
      await create(api, realPod(name, { namespace: space, onNode: 'node-1', ...more }));
    if (node !== undefined) staticPod(node, 'still', space);
    await podsReady(api, space, names.length + 1);
    const logs = lives(space, names);
    const since = Date.now();
    await create(api, maintenance('ends', { nodeName: 'node-1' }));
    const [hooked = {}, slow = {}, deaf = {}, local = {}] = (await logs).map(lifeIn);
    const after = (at = 0): number => at - since;
    assert.ok(
      after(hooked.SIGTERM) >= 3000,
      `SIGTERM comes after the hook: ${after(hooked.SIGTERM)} ms`,
    );
    assert.ok((slow.ended ?? 0) - (slow.SIGTERM ?? 0) >= 6000);
    assert.deepEqual([deaf.SIGTERM === undefined, deaf.ended], [false, undefined]);
    assert.ok(local.ended);
    for (const name of names.filter(one => one !== 'bound')) await podGone(api, space, name);
    // Its process is gone, and the object waits for whoever put the finalizer there.
    const status = await untilMaintenance(
      api,
      'ends',
      'Draining',
      ({ blockers }) => blockers?.[0]?.pod?.name === 'bound',
    );
    figure(t, 'what is said of a pod that a finalizer holds', JSON.stringify(status.blockers));
    await api.patch(podPath(space, 'bound'), { metadata: { finalizers: null } });
    await untilMaintenance(api, 'ends', 'Drained');
    assert.deepEqual(
      (await podsOn(api, 'node-1')).map(({ metadata }) => metadata.name),
      ['still-node-1'],
    );
    await remove(api, maintenancePath('ends'));
  });

  /**
   * Four pods of a budget that lets one go, all on a node that is drained then; how long that took,
   * and in which order they heard of it.
   */
  const drainOf = async (
    space: string,
    from: string,
    to: string,
    drain: () => Promise<Outcome>,
  ): Promise<{ readonly tookMs: number; readonly log: readonly string[] }> => {
    await create(api, namespace(space), budget('web', { namespace: space, maxUnavailable: 1 }));
    await cordon(api, to);
    await create(
      api,
      realDeployment('web', 4, { namespace: space, termSeconds: 1, readySeconds: 1 }),
    );
    await create(
      api,
      realPod('slow', { namespace: space, termSeconds: 3, onNode: from, localData: true }),
    );
    await podsReady(api, space, 5);
    await cordon(api, to, false);
    await budgetAllows(api, space, 'web', 1);
    const names = (await pods(api, space)).map(({ metadata }) => metadata.name);
    const followed = lives(space, names);
    const since = performance.now();
    const done = await drain();
    const tookMs = performance.now() - since;
    assert.equal(done.code, 0, done.stdout + done.stderr);
    const heard = (await followed).map((log, at) => ({ name: names[at] ?? '', ...lifeIn(log) }));
    assert.ok(heard.every(({ ended }) => ended !== undefined));
    const first = Math.min(...heard.map(({ SIGTERM = 0 }) => SIGTERM));
    const log = heard
      .toSorted((one, other) => (one.SIGTERM ?? 0) - (other.SIGTERM ?? 0))
      .map(({ name, SIGTERM = 0 }) => `${name.split('-')[0]} +${seconds(SIGTERM - first)}`);
    assert.deepEqual(
      (await podsOn(api, from)).filter(({ metadata }) => metadata.namespace === space),
      [],
    );
    return { tookMs, log };
  };

  test('drydock drain beside kubectl drain: the same pods go, each in its own time', async t => {
    const flags = ['--ignore-daemonsets', '--delete-emptydir-data', '--force'];
    const theirs = await drainOf('by-kubectl', 'node-1', 'node-2', () =>
      controlPlane.kubectl(['drain', 'node-1', ...flags]),
    );
    await controlPlane.kubectl(['uncordon', 'node-1']);
    const ours = await drainOf('by-drydock', 'node-2', 'node-1', () =>
      onBed(bed, 'drain', 'node-2', ...flags, '--pod-selector', 'app'),
    );
    for (const [who, { tookMs, log }] of Object.entries({
      'kubectl drain': theirs,
      'drydock drain': ours,
    }))
      figure(t, who, `${seconds(tookMs)}; SIGTERM: ${log.join(', ')}`);
    const names = (log: readonly string[]): string =>
      log
        .map(line => line.split(' ')[0] ?? '')
        .toSorted((one, other) => one.localeCompare(other))
        .join();
    assert.equal(names(ours.log), names(theirs.log));
    await onBed(bed, 'uncordon', 'node-2');
  });

  test('a tenant, by the token of his pod: nobody’s node is his, and his pod with the longest of grace periods stops no drain', async () => {
    const space = 'tenant';
    await create(api, namespace(space), {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'RoleBinding',
      metadata: { name: 'all', namespace: space },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'admin' },
      subjects: [{ kind: 'ServiceAccount', name: 'default', namespace: space }],
    });
    await create(api, realPod('base', { namespace: space, onNode: 'node-2' }));
    const clients = clientsFor(() => ({ ...controlPlane.accessOf('admin'), token: tokenOf(base) }));
    const base = await podReady(api, space, 'base');
    const tenant = clients.apiOf('tenant');
    const path = `/api/v1/namespaces/${space}/pods`;
    // A year is kept; of centuries kubelet's arithmetic overflows, and it kills such a pod at once,
    // without a SIGTERM.
    for (const [name, graceSeconds] of [
      ['year', 31_536_000],
      ['centuries', 9_000_000_000_000],
    ] as const) {
      const pod = realPod(name, {
        namespace: space,
        onNode: 'node-1',
        termSeconds: 'never',
        graceSeconds,
      });
      assert.equal((await tenant.call('POST', path, pod)).status, 201);
      await podReady(api, space, name);
    }
    const merge = 'application/merge-patch+json';
    const refused = [
      await tenant.call(
        'POST',
        collectionOf('drydock.dev/v1alpha1', 'Maintenance'),
        maintenance('tenant', { nodeName: 'node-1' }),
      ),
      await tenant.call('PATCH', nodePath('node-1'), { spec: { unschedulable: true } }, merge),
      await evict(tenant, 'default', 'web'),
    ];
    assert.deepEqual(
      refused.map(({ status }) => status),
      [403, 403, 403],
    );
    clients.close();
    const log = lives(space, ['centuries']);
    const { body } = await api.call('DELETE', `${path}/centuries`);
    assert.ok(
      Date.parse((body as Pod).metadata.deletionTimestamp ?? '') < Date.now(),
      'the sum of the API server overflows as well',
    );
    await create(
      api,
      maintenance('tenant', { nodeName: 'node-1', drain: { gracePeriodSeconds: 2 } }),
    );
    await untilMaintenance(api, 'tenant', 'Drained');
    for (const name of ['year', 'centuries']) await podGone(api, space, name);
    // Where the drain was quick, the pod has been given two seconds in place of the centuries, and
    // with them a SIGTERM.
    const [first, ...more] = Object.keys(lifeIn((await log)[0] ?? ''));
    assert.equal(first, 'started');
    assert.ok(
      more.every(word => word === 'SIGTERM'),
      more.join(),
    );
  });

  test('a real reboot is seen by its boot ID: the machine maintenance that waits for it ends', async () => {
    const path = `/apis/machinemaintenance.managed.openshift.io/v1alpha1/namespaces/${home}/machinemaintenances`;
    const event = {
      provider: 'test',
      id: 'reboot-1',
      kind: 'reboot',
      state: 'Scheduled',
      source: 'test',
    };
    const spec = {
      maintenancescheduled: false,
      machineid: 'i-1',
      machinelink: 'node-2',
      machineRef: { kind: 'Node', name: 'node-2' },
    };
    await api.post(path, {
      apiVersion: 'machinemaintenance.managed.openshift.io/v1alpha1',
      kind: 'MachineMaintenance',
      metadata: { name: 'reboot', namespace: home },
      spec: { ...spec, events: [event] },
    });
    const untilSaid = (pattern: RegExp): Promise<void> =>
      waitFor(`the machine maintenance to say ${String(pattern)}`, async () => {
        const { status } = await api.get<{
          readonly status?: { readonly phase?: string; readonly message?: string };
        }>(`${path}/reboot`);
        const said = `${status?.phase ?? ''}: ${status?.message ?? ''}`;
        return pattern.test(said) ? { done: undefined } : { yet: said };
      });
    await untilSaid(
      /^Drained: The node is drained and held until the cloud reports the end of reboot/,
    );
    await api.patch(`${path}/reboot`, { spec: { events: [{ ...event, state: 'Completed' }] } });
    await untilSaid(/^Drained: The event is over, and node node-2 has not rebooted yet/);
    await bed.node('node-2').reboot();
    await untilSaid(/^Succeeded: The event is over and the node is back, rebooted/);
    await until(
      'the node to be back in service',
      async () => (await getNode(api, 'node-2')).spec.unschedulable !== true,
    );
  });
});
