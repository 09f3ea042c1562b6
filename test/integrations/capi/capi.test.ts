import assert from 'node:assert/strict';
import { after, before, describe, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  budgetAllows,
  clearNamespaces,
  create,
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
  type ClusterApi,
  capiBuild,
  isAvailable,
  type Machine,
  type MachineGroup,
  startCapi,
} from './capi.ts';

/** What Drydock relies on when it replaces machines of Cluster API, on its real controllers. */

const started = await startNeighbourhood(capiBuild);
const clusterApi =
  started.kind === 'left-out' ? started : await startCapi(started.controlPlane, started.ec2);
if (clusterApi.kind === 'left-out' && started.kind === 'started') await started.stop();
const skip = skipOf(clusterApi);
const { controlPlane, ec2 } = started as Neighbourhood;
const capi = clusterApi as ClusterApi;

const shop = 'shop';
const pool = 'workers';
const replicas = 3;
function preDrain(name: string): string {
  return `pre-drain.delete.hook.machine.cluster.x-k8s.io/${name}`;
}
const preTerminate = 'pre-terminate.delete.hook.machine.cluster.x-k8s.io/drydock';
const mark = 'cluster.x-k8s.io/delete-machine';
const taint = { key: 'drydock.dev/maintenance', effect: 'NoSchedule' };

describe('Cluster API', { skip, timeout: 900_000 }, () => {
  const { api } = controlPlane ?? {};
  const path = (machine: Machine): string => capi.pathOf('machines', machine.metadata.name);
  const nodeOf = ({ status }: Machine): string => status?.nodeRef?.name ?? '';
  const nameOf = ({ metadata }: Machine): string => metadata.name;
  const look = (machine: Machine): Promise<Machine> => api.get<Machine>(path(machine));
  const isThere = async (machine: Machine): Promise<boolean> =>
    (await api.call('GET', path(machine))).status === 200;
  const untilGone = (machine: Machine): Promise<void> =>
    until(`${nameOf(machine)} to be gone`, async () => !(await isThere(machine)), {
      deadlineMs: 120_000,
    });
  const annotate = (
    machine: Machine,
    annotations: Readonly<Record<string, string | null>>,
  ): Promise<unknown> => api.patch(path(machine), { metadata: { annotations } });
  const deletingOf = async (machine: Machine) =>
    (await look(machine)).status?.conditions?.find(({ type }) => type === 'Deleting');
  const untilStage = (machine: Machine, reason: string, patience = {}): Promise<string> =>
    waitFor(
      `${nameOf(machine)} to be at ${reason}`,
      async () => {
        const seen = await deletingOf(machine);
        return seen?.reason === reason
          ? { done: seen.message ?? '' }
          : { yet: JSON.stringify(seen) };
      },
      patience,
    );
  const instanceState = async ({ spec }: Machine): Promise<string | undefined> =>
    (await ec2.instances()).find(({ id }) => id === instanceIn(spec.providerID))?.state;
  const busy = async (machines: readonly Machine[]): Promise<Machine> => {
    for (const machine of machines)
      if ((await podsOn(api, nodeOf(machine))).length > 0) return machine;
    throw new Error('no node has pods');
  };
  const deployed = (): Promise<MachineGroup> =>
    api.get<MachineGroup>(capi.pathOf('machinedeployments', pool));
  /** Waits until so many Machines of the pool are Available, whatever the others are. */
  const available = (count: number): Promise<void> =>
    until(
      `${count} Available`,
      async () => (await capi.machines(pool)).filter(isAvailable).length === count,
      { deadlineMs: 60_000 },
    );
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
    await capi.makePool(pool, replicas);
    await create(api, namespaced(shop));
  });
  after(async () => {
    await capi.stop();
    await (started as Neighbourhood).stop();
  });

  test('a Machine that is deleted counts until it is gone: only then is there another one', async context => {
    const machines = await capi.poolReady(pool, replicas);
    const [old] = machines;
    await annotate(old!, { [preDrain('drydock')]: '' });
    await api.delete(path(old!));
    assert.match(
      await untilStage(old!, 'WaitingForPreDrainHook'),
      /hooks: pre-drain\.delete\.hook\.machine\.cluster\.x-k8s\.io\/drydock/,
    );
    await sleep(3000);
    assert.deepEqual(
      (await capi.machines(pool)).map(nameOf).toSorted(),
      machines.map(nameOf).toSorted(),
      'nothing was made',
    );
    assert.equal((await deployed()).status?.replicas, replicas);
    assert.equal((await getNode(api, nodeOf(old!))).spec.unschedulable, undefined);
    assert.equal(await instanceState(old!), 'running');

    // Unlike in OpenShift a hook can be added late, and all of them are waited for.
    await annotate(old!, { [preDrain('late')]: '' });
    await annotate(old!, { [preDrain('drydock')]: null });
    await waitFor('the late hook to hold it', async () => {
      const message = await untilStage(old!, 'WaitingForPreDrainHook');
      return message.includes('/late') && !message.includes('/drydock')
        ? { done: undefined }
        : { yet: message };
    });
    await annotate(old!, { [preDrain('late')]: null });
    await timed(context, 'gone once the hooks were removed, node without pods', () =>
      untilGone(old!),
    );
    await timed(context, 'replaced after that', () => capi.poolReady(pool, replicas));
  });

  test('an empty node that is held by somebody else goes at once, without the rhythm of drains, and keeps its taint to the end', async context => {
    const [old] = await capi.poolReady(pool, replicas);
    await api.patch(`/api/v1/nodes/${nodeOf(old!)}`, {
      spec: { unschedulable: true, taints: [taint] },
    });
    await api.delete(path(old!));
    const seen = new Set<string>();
    await timed(context, 'gone', () =>
      until('the Machine to be gone', async () => {
        const { status, body } = await api.call('GET', `/api/v1/nodes/${nodeOf(old!)}`);
        const { taints = [] } =
          status === 200
            ? (body as { spec: { taints?: { key: string }[] } }).spec
            : { taints: [taint] };
        seen.add(String(taints.some(({ key }) => key === taint.key)));
        return !(await isThere(old!));
      }),
    );
    assert.deepEqual([...seen], ['true']);
    await capi.poolReady(pool, replicas);
  });

  test('before the termination a hook holds a drained node, whose instance runs on', async () => {
    const [old] = await capi.poolReady(pool, replicas);
    await annotate(old!, { [preTerminate]: '' });
    await api.delete(path(old!));
    await untilStage(old!, 'WaitingForPreTerminateHook');
    assert.equal((await getNode(api, nodeOf(old!))).spec.unschedulable, true);
    assert.equal(await instanceState(old!), 'running');
    await annotate(old!, { [preTerminate]: null });
    await untilGone(old!);
    await capi.poolReady(pool, replicas);
  });

  test('marked for deletion, one more, one less: exactly the marked one goes, even when another one is not healthy', async context => {
    const machines = await capi.poolReady(pool, replicas);
    const [marked, sick, healthy] = machines;
    await ec2.stopInstances(instanceIn(sick!.spec.providerID));
    await until('it to be not Available', async () => !isAvailable(await look(sick!)));
    await annotate(marked!, { [mark]: 'drydock' });
    await capi.scale(pool, replicas + 1);
    await timed(context, 'one more Available', () => available(replicas));
    await capi.scale(pool, replicas);
    await timed(context, 'the marked one gone', () => untilGone(marked!));
    const left = (await capi.machines(pool)).map(nameOf);
    for (const machine of [sick!, healthy!]) assert.ok(left.includes(nameOf(machine)));
    await ec2.startInstances(instanceIn(sick!.spec.providerID));
    await capi.poolReady(pool, replicas);
  });

  test('while another one is being deleted, one less is that one: the marked one stays', async () => {
    const machines = await capi.poolReady(pool, replicas);
    const [marked, leaving] = machines;
    await annotate(leaving!, { [preDrain('somebody')]: '' });
    await api.delete(path(leaving!));
    await annotate(marked!, { [mark]: 'drydock' });
    await capi.scale(pool, replicas + 1);
    await available(replicas);
    await capi.scale(pool, replicas);
    await until('it to be seen', async () => (await deployed()).status?.replicas === replicas + 1);
    await sleep(3000);
    assert.equal((await look(marked!)).metadata.deletionTimestamp, undefined);
    await annotate(leaving!, { [preDrain('somebody')]: null });
    await untilGone(leaving!);
    const ready = await capi.poolReady(pool, replicas);
    assert.ok(ready.map(nameOf).includes(nameOf(marked!)), 'nor does it go later');
    await annotate(marked!, { [mark]: null });
  });

  test('marked and deleted under a hook, then one less, then the hook removed: exactly that one goes, whatever else is being deleted', async () => {
    const machines = await capi.poolReady(pool, replicas);
    const [old, leaving, other] = machines;
    await annotate(leaving!, { [preDrain('somebody')]: '' });
    await api.delete(path(leaving!));
    await capi.scale(pool, replicas + 1);
    await available(replicas);
    const [made] = (await capi.machines(pool)).filter(
      machine => !machines.map(nameOf).includes(nameOf(machine)),
    );
    // The mark is for a controller that hears of the smaller number before it hears of the
    // deletion.
    await annotate(old!, { [preDrain('drydock')]: '', [mark]: 'drydock' });
    await api.delete(path(old!));
    await capi.scale(pool, replicas);
    await annotate(old!, { [preDrain('drydock')]: null });
    await untilGone(old!);
    await sleep(2000);
    const left = await capi.machines(pool);
    assert.deepEqual(left.map(nameOf).toSorted(), [leaving!, other!, made!].map(nameOf).toSorted());
    await annotate(leaving!, { [preDrain('somebody')]: null });
    await untilGone(leaving!);
    const ready = (await capi.poolReady(pool, replicas)).map(nameOf);
    assert.ok(
      [other!, made!].map(nameOf).every(name => ready.includes(name)),
      'nobody else went',
    );
  });

  test('replicas and an annotation go in one write, guarded, without a rollout; the MachineSet below gets the annotation too', async () => {
    const before = (await capi.poolReady(pool, replicas)).map(nameOf);
    const target = capi.pathOf('machinedeployments', pool);
    const note = 'drydock.dev/surge';
    const { metadata } = await deployed();
    const guarded = {
      metadata: { resourceVersion: metadata.resourceVersion, annotations: { [note]: 'm-1' } },
      spec: { replicas: replicas + 1 },
    };
    await api.patch(target, guarded);
    const again = await api.call('PATCH', target, guarded, 'application/merge-patch+json');
    assert.equal(again.status, 409);
    const surged = (await capi.poolReady(pool, replicas + 1)).map(nameOf);
    assert.ok(before.every(name => surged.includes(name)));
    const sets = await api.get<List<MachineGroup>>(capi.pathOf('machinesets'));
    assert.deepEqual(
      sets.items.map(({ metadata, spec }) => [metadata.annotations?.[note], spec.replicas]),
      [['m-1', replicas + 1]],
    );
    const steps = (was: number, to: number): readonly object[] => [
      { op: 'test', path: '/spec/replicas', value: was },
      { op: 'replace', path: '/spec/replicas', value: to },
      { op: 'remove', path: '/metadata/annotations/drydock.dev~1surge' },
    ];
    const wrong = await api.call(
      'PATCH',
      target,
      steps(replicas, replicas - 1),
      'application/json-patch+json',
    );
    assert.equal(wrong.status, 422);
    assert.equal((await deployed()).spec.replicas, replicas + 1, 'nothing was written');
    assert.equal(
      (
        await api.call(
          'PATCH',
          target,
          steps(replicas + 1, replicas),
          'application/json-patch+json',
        )
      ).status,
      200,
    );
    await capi.poolReady(pool, replicas);
    assert.equal((await deployed()).metadata.annotations?.[note], undefined);
  });

  test('it can be scaled through its subresource', async () => {
    const target = `${capi.pathOf('machinedeployments', pool)}/scale`;
    await api.patch(target, { spec: { replicas: replicas + 1 } });
    await capi.poolReady(pool, replicas + 1);
    await api.patch(target, { spec: { replicas } });
    await capi.poolReady(pool, replicas);
  });

  test('an instance that is terminated behind its back is told by a condition, and nothing replaces it until somebody deletes the Machine', async context => {
    const [old] = await capi.poolReady(pool, replicas);
    await ec2.terminate(instanceIn(old!.spec.providerID));
    await waitFor('NodeHealthy to say so', async () => {
      const { status } = await look(old!);
      const seen = status?.conditions?.find(({ type }) => type === 'NodeHealthy');
      return status?.phase === 'Running' && seen?.reason === 'NodeDeleted'
        ? { done: undefined }
        : { yet: JSON.stringify(seen) };
    });
    await sleep(2000);
    assert.equal((await capi.machines(pool)).length, replicas);
    await api.delete(path(old!));
    await timed(context, 'replaced once it was deleted', () => capi.poolReady(pool, replicas));
  });

  test('a budget holds its drain, its condition says why, and it looks again every 20 s only', async context => {
    await create(api, deployment('web', { namespace: shop, replicas: 3 }));
    await podsReady(api, shop, 3);
    await create(api, budget('web', { namespace: shop, minAvailable: 3 }));
    await budgetAllows(api, shop, 'web', 0);
    const old = await busy(await capi.poolReady(pool, replicas));
    await api.delete(path(old));
    const message = await untilStage(old, 'DrainingNode', { deadlineMs: 60_000 });
    assert.match(
      message,
      /^Drain not completed yet \(started at .*\):\n\* Pods? shop\/web-.*cannot evict pod as it would violate the pod's disruption budget/,
    );
    assert.equal(
      (await look(old)).metadata.annotations?.['machine.cluster.x-k8s.io/exclude-node-draining'],
      undefined,
    );
    await api.delete(`/apis/policy/v1/namespaces/${shop}/poddisruptionbudgets/web`);
    await timed(context, 'gone once there was no budget', () => untilGone(old));
    await podsReady(api, shop, 3);
    await capi.poolReady(pool, replicas);
  });

  test('draining can be left out, also when it has begun: its pods then end with their node', async context => {
    await create(api, budget('web', { namespace: shop, minAvailable: 3 }));
    await budgetAllows(api, shop, 'web', 0);
    const old = await busy(await capi.poolReady(pool, replicas));
    await api.delete(path(old));
    await untilStage(old, 'DrainingNode', { deadlineMs: 60_000 });
    await annotate(old, { 'machine.cluster.x-k8s.io/exclude-node-draining': '' });
    await timed(context, 'gone once draining was left out', () => untilGone(old));
    await clearNamespaces(api, [shop]);
    await capi.poolReady(pool, replicas);
  });
});
