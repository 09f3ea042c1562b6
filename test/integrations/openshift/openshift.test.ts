import assert from 'node:assert/strict';
import { after, before, describe, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  budgetAllows,
  clearNamespaces,
  cordon,
  create,
  failureIn,
  getNode,
  podsOn,
  podsReady,
} from '../../control-plane/objects/cluster.ts';
import {
  budget,
  deployment,
  namespace as namespaced,
} from '../../control-plane/objects/manifests.ts';
import type { List } from '../../control-plane/objects/objects.ts';
import { until, waitFor } from '../../control-plane/wait.ts';
import { skipOf } from '../builds.ts';
import { instanceIn } from '../fake-kubelets.ts';
import { type Neighbourhood, startNeighbourhood } from '../neighbourhood.ts';
import {
  type Machine,
  type MachineApi,
  type MachineSet,
  machineApiBuild,
  startMachineApi,
} from './openshift.ts';

/** What Drydock relies on when it replaces machines of OpenShift, on its real controllers. */

const started = await startNeighbourhood(machineApiBuild);
const machineApi =
  started.kind === 'left-out' ? started : await startMachineApi(started.controlPlane, started.ec2);
if (machineApi.kind === 'left-out' && started.kind === 'started') await started.stop();
const skip = skipOf(machineApi);
const { controlPlane, ec2 } = started as Neighbourhood;
const openshift = machineApi as MachineApi;

const shop = 'shop';
const pool = 'c1-worker';
const replicas = 3;
const hook = { name: 'HoldForDrydock', owner: 'drydock' };
const taint = { key: 'drydock.dev/maintenance', effect: 'NoSchedule' };

describe('the machine API of OpenShift', { skip, timeout: 600_000 }, () => {
  const { api } = controlPlane ?? {};
  const pathOf = (machine: Machine): string => openshift.pathOf('machines', machine.metadata.name);
  const nodeOf = ({ status }: Machine): string => status?.nodeRef?.name ?? '';
  const instanceState = async ({ spec }: Machine): Promise<string | undefined> =>
    (await ec2.instances()).find(({ id }) => id === instanceIn(spec.providerID))?.state;
  const isThere = async (machine: Machine): Promise<boolean> =>
    (await api.call('GET', pathOf(machine))).status === 200;
  const untilGone = (machine: Machine): Promise<void> =>
    until(`${machine.metadata.name} to be gone`, async () => !(await isThere(machine)), {
      deadlineMs: 90_000,
    });
  const look = (machine: Machine): Promise<Machine> => api.get<Machine>(pathOf(machine));
  const condition = ({ status }: Machine, wanted: string) =>
    status?.conditions?.find(({ type }) => type === wanted);
  const isCordoned = async (machine: Machine): Promise<boolean> =>
    (await getNode(api, nodeOf(machine))).spec.unschedulable === true;
  const annotate = (
    machine: Machine,
    annotations: Readonly<Record<string, string | null>>,
  ): Promise<unknown> => api.patch(pathOf(machine), { metadata: { annotations } });
  const hooked = (machine: Machine, preDrain: readonly object[]): Promise<unknown> =>
    api.patch(pathOf(machine), { spec: { lifecycleHooks: { preDrain } } });
  const eventsOf = async ({
    metadata,
  }: Machine): Promise<
    readonly { readonly reason: string; readonly message: string; readonly type: string }[]
  > => {
    type Event = {
      readonly reason: string;
      readonly message: string;
      readonly type: string;
      readonly involvedObject: { readonly name: string };
    };
    const { items } = await api.get<List<Event>>(
      `/api/v1/namespaces/${openshift.namespace}/events`,
    );
    return items.filter(({ involvedObject }) => involvedObject.name === metadata.name);
  };
  /** Waits for a Machine of the pool that was not there before, with a Ready node. */
  const replacement = (before: readonly Machine[]): Promise<Machine> =>
    waitFor('the replacement to be Running', async () => {
      const names = new Set(before.map(({ metadata }) => metadata.name));
      const made = (await openshift.machines(pool)).find(
        ({ metadata }) => !names.has(metadata.name),
      );
      if (made === undefined) return { yet: 'there is none' };
      return made.status?.phase === 'Running'
        ? { done: made }
        : { yet: `${made.metadata.name} ${made.status?.phase}` };
    });
  /** The Machine whose node has pods of the shop. */
  const busy = async (machines: readonly Machine[]): Promise<Machine> => {
    for (const machine of machines)
      if ((await podsOn(api, nodeOf(machine))).length > 0) return machine;
    throw new Error('no node has pods');
  };
  const timed = async <T>(
    context: TestContext,
    what: string,
    work: () => Promise<T>,
  ): Promise<T> => {
    const since = performance.now();
    const result = await work();
    context.diagnostic(`${what}: ${((performance.now() - since) / 1000).toFixed(1)} s`);
    return result;
  };

  before(async () => {
    await openshift.makePool(pool, replicas);
    await create(api, namespaced(shop));
  });
  after(async () => {
    await openshift.stop();
    await (started as Neighbourhood).stop();
  });

  test('a Machine that is deleted no longer counts: its replacement is made at once', async context => {
    const machines = await openshift.poolReady(pool, replicas);
    const [old] = machines;
    await hooked(old!, [hook]);
    await api.delete(pathOf(old!));
    const made = await timed(context, 'replacement Running', () => replacement(machines));
    assert.equal(made.metadata.deletionTimestamp, undefined);
    assert.equal(await isThere(old!), true, 'the old one is still there');
    const set = await api.get<MachineSet>(openshift.pathOf('machinesets', pool));
    assert.equal(set.status?.replicas, replicas, 'and is not counted');
    assert.equal((await openshift.machines(pool)).length, replicas + 1);

    // A hook before the drain: nothing whatever happens to the old node in the meantime.
    assert.equal(await isCordoned(old!), false);
    assert.equal(await instanceState(old!), 'running');
    const blocked = condition(await look(old!), 'Drainable');
    assert.deepEqual(
      [blocked?.status, blocked?.severity, blocked?.reason],
      ['False', 'Warning', 'HookPresent'],
    );
    assert.match(blocked?.message ?? '', /Name:HoldForDrydock Owner:drydock/);

    const late = await api.call(
      'PATCH',
      pathOf(old!),
      { spec: { lifecycleHooks: { preTerminate: [hook] } } },
      'application/merge-patch+json',
    );
    assert.equal(late.status, 403);
    assert.match(
      failureIn(late).message,
      /pre-terminate hooks are immutable when machine is marked for deletion.*HoldForDrydock/,
    );

    await hooked(old!, []);
    await timed(context, 'gone once the hook was removed, node without pods', () =>
      untilGone(old!),
    );
    assert.equal(await instanceState(old!), 'terminated');
    await openshift.poolReady(pool, replicas);
  });

  test('a node that somebody else has cordoned, tainted and emptied goes within seconds, its taints never touched', async context => {
    const machines = await openshift.poolReady(pool, replicas);
    const [old] = machines;
    await hooked(old!, [hook]);
    await api.delete(pathOf(old!));
    await replacement(machines);
    await api.patch(`/api/v1/nodes/${nodeOf(old!)}`, {
      spec: { unschedulable: true, taints: [taint] },
    });
    await hooked(old!, []);
    await timed(context, 'gone', async () => {
      const keys = new Set<string>();
      await until('the Machine to be gone', async () => {
        const { status, body } = await api.call('GET', `/api/v1/nodes/${nodeOf(old!)}`);
        if (status === 200)
          keys.add(
            ((body as { spec: { taints?: { key: string }[] } }).spec.taints ?? [])
              .map(({ key }) => key)
              .join(),
          );
        return !(await isThere(old!));
      });
      assert.ok(
        [...keys].every(seen => seen.split(',').includes(taint.key)),
        [...keys].join(' | '),
      );
    });
    assert.deepEqual(
      (await eventsOf(old!))
        .map(({ reason }) => reason)
        .filter(reason => reason.startsWith('Drain')),
      ['DrainBlocked', 'DrainProceeds', 'DrainSucceeded'],
    );
    await openshift.poolReady(pool, replicas);
  });

  test('a node that somebody else has cordoned is drained like any other: the machine API takes it over without asking', async context => {
    await create(api, deployment('web', { namespace: shop, replicas: 3 }));
    await podsReady(api, shop, 3);
    const machines = await openshift.poolReady(pool, replicas);
    const old = await busy(machines);
    await cordon(api, nodeOf(old));
    await api.delete(pathOf(old));
    await timed(context, 'drained and gone', () => untilGone(old));
    await podsReady(api, shop, 3);
    await openshift.poolReady(pool, replicas);
  });

  test('a budget holds its drain, no condition says why, only an event does; the replacement runs meanwhile', async context => {
    const machines = await openshift.poolReady(pool, replicas);
    await create(api, budget('web', { namespace: shop, minAvailable: 3 }));
    await budgetAllows(api, shop, 'web', 0);
    const old = await busy(machines);
    await api.delete(pathOf(old));
    await replacement(machines);
    await until(
      'the event',
      async () => (await eventsOf(old)).some(({ reason }) => reason === 'DrainRequeued'),
      { deadlineMs: 60_000 },
    );
    const event = (await eventsOf(old)).find(({ reason }) => reason === 'DrainRequeued');
    assert.equal(event?.type, 'Normal');
    assert.match(event?.message ?? '', /error when evicting pods.*global timeout reached: 20s/);
    const held = await look(old);
    assert.equal(held.status?.phase, 'Deleting');
    assert.equal(condition(held, 'Drained'), undefined);
    assert.equal(await isCordoned(old), true);
    await api.delete(`/apis/policy/v1/namespaces/${shop}/poddisruptionbudgets/web`);
    // It backs off for 5 s to a quarter of an hour, but any change of the Machine wakes it.
    await annotate(old, { 'drydock.test/look': 'now' });
    await timed(context, 'gone once there was no budget and its Machine was touched', () =>
      untilGone(old),
    );
    await podsReady(api, shop, 3);
    await openshift.poolReady(pool, replicas);
  });

  test('draining can be left out, even when it has begun: its pods then end with their node', async context => {
    const machines = await openshift.poolReady(pool, replicas);
    await create(api, budget('web', { namespace: shop, minAvailable: 3 }));
    await budgetAllows(api, shop, 'web', 0);
    const old = await busy(machines);
    await api.delete(pathOf(old));
    await until(
      'the event',
      async () => (await eventsOf(old)).some(({ reason }) => reason === 'DrainRequeued'),
      { deadlineMs: 60_000 },
    );
    await annotate(old, { 'machine.openshift.io/exclude-node-draining': '' });
    await timed(context, 'gone once draining was left out', () => untilGone(old));
    assert.ok((await eventsOf(old)).some(({ reason }) => reason === 'DrainSkipped'));
    await clearNamespaces(api, [shop]);
    await openshift.poolReady(pool, replicas);
  });

  test('marked for deletion, one more, one less: exactly the marked one goes, whatever else is being deleted', async context => {
    const machines = await openshift.poolReady(pool, replicas);
    const [marked, leaving, ...others] = machines;
    await hooked(leaving!, [hook]);
    await api.delete(pathOf(leaving!));
    await replacement(machines);
    await annotate(marked!, { 'machine.openshift.io/delete-machine': 'drydock' });
    await openshift.scale(pool, replicas + 1);
    await until('all to be Running', async () => {
      const now = await openshift.machines(pool);
      return (
        now.length === replicas + 2 &&
        now.filter(
          ({ metadata, status }) =>
            metadata.deletionTimestamp === undefined && status?.phase === 'Running',
        ).length ===
          replicas + 1
      );
    });
    await openshift.scale(pool, replicas);
    await timed(context, 'the marked one gone', () => untilGone(marked!));
    const left = (await openshift.machines(pool)).map(({ metadata }) => metadata.name);
    for (const machine of [leaving!, ...others])
      assert.ok(left.includes(machine.metadata.name), `${machine.metadata.name} stays`);
    await hooked(leaving!, []);
    await openshift.poolReady(pool, replicas);
  });

  test('a set can be scaled through its subresource, guarded by a resourceVersion', async () => {
    const path = `${openshift.pathOf('machinesets', pool)}/scale`;
    type Scale = {
      readonly metadata: { readonly resourceVersion: string };
      readonly spec: { readonly replicas: number };
    };
    const scale = await api.get<Scale>(path);
    assert.equal(scale.spec.replicas, replicas);
    await api.put(path, { ...scale, spec: { replicas: replicas + 1 } });
    await openshift.poolReady(pool, replicas + 1);
    const stale = await api.call('PUT', path, { ...scale, spec: { replicas: replicas + 2 } });
    assert.equal(stale.status, 409);
    await openshift.scale(pool, replicas);
    await openshift.poolReady(pool, replicas);
  });

  test('an instance that is terminated behind its back makes its Machine Failed, and nothing replaces it until somebody deletes it', async context => {
    const [old] = await openshift.poolReady(pool, replicas);
    await ec2.terminate(instanceIn(old!.spec.providerID));
    // It looks every ten minutes, and whenever the Machine changes.
    await annotate(old!, { 'drydock.test/look': 'now' });
    await until('it to be Failed', async () => (await look(old!)).status?.phase === 'Failed');
    assert.match((await look(old!)).status?.errorMessage ?? '', /find created instance/);
    await sleep(2000);
    assert.equal((await openshift.machines(pool)).length, replicas);
    await api.delete(pathOf(old!));
    await timed(context, 'replaced once it was deleted', () => openshift.poolReady(pool, replicas));
  });

  test('without capacity the replacement waits, and an event of its own says why', async () => {
    const machines = await openshift.poolReady(pool, replicas);
    const [old] = machines;
    await ec2.fault({
      action: 'RunInstances',
      code: 'InsufficientInstanceCapacity',
      message: 'We have no m5.large today.',
      status: 500,
      times: 1000,
      of: 'harness',
    });
    await hooked(old!, [hook]);
    await api.delete(pathOf(old!));
    const made = await waitFor('the replacement to be there', async () => {
      const found = (await openshift.machines(pool)).find(({ metadata }) =>
        machines.every(machine => machine.metadata.name !== metadata.name),
      );
      return found === undefined ? { yet: 'no' } : { done: found };
    });
    await until('its event', async () =>
      (await eventsOf(made)).some(({ message }) => message.includes('We have no m5.large today')),
    );
    const waiting = await look(made);
    assert.equal(waiting.status?.phase, 'Provisioning');
    assert.equal(await isThere(old!), true);
    await ec2.clearFaults();
    await hooked(old!, []);
    await openshift.poolReady(pool, replicas);
  });

  test('a control plane node is drained only while no other one is cordoned, unless it is cordoned itself', async context => {
    const [first, second] = [
      await openshift.makeMachine('c1-master-0', 'master'),
      await openshift.makeMachine('c1-master-1', 'master'),
    ];
    await cordon(api, nodeOf(second));
    await api.delete(pathOf(first));
    await until('the drain to be refused', async () =>
      (await eventsOf(first)).some(
        ({ reason, message }) =>
          reason === 'DrainRequeued' && message.includes('drain not permitted'),
      ),
    );
    assert.equal(await isCordoned(first), false);
    await cordon(api, nodeOf(first));
    await annotate(first, { 'drydock.test/look': 'now' });
    await timed(context, 'gone once it was cordoned itself and its Machine was touched', () =>
      untilGone(first),
    );
    await sleep(1000);
    assert.equal(
      (await openshift.machines()).some(
        ({ metadata }) =>
          metadata.name.startsWith('c1-master') && metadata.name !== second.metadata.name,
      ),
      false,
      'nothing replaces it',
    );
  });
});
