import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { nodePath, nodesReady } from '../control-plane/objects/cluster.ts';
import { isReady, type Node } from '../control-plane/objects/objects.ts';
import { until, waitFor } from '../control-plane/wait.ts';
import { skipOf } from './builds.ts';
import { instanceIn, nodeTag, startFakeKubelets } from './fake-kubelets.ts';
import { type Neighbourhood, startNeighbourhood } from './neighbourhood.ts';
import type { Repeated } from './repeat.ts';

const started = await startNeighbourhood();
const skip = skipOf(started);
const { controlPlane, ec2 } = started as Neighbourhood;

type Registered = Node & {
  readonly spec: { readonly providerID?: string };
  readonly status: { readonly nodeInfo?: { readonly bootID: string } };
};

describe('nodes that are instances', { skip, timeout: 120_000 }, () => {
  const { api } = controlPlane ?? {};
  let kubelets: Repeated;
  let id = '';
  let name = '';
  before(async () => {
    kubelets = startFakeKubelets(api, ec2, { vanishAfterMs: 500, bootMs: 500 });
    [id = ''] = await ec2.runInstances(1, { [nodeTag]: 'worker', Name: 'a' }, 'us-east-1b');
    name = (await ec2.instances()).find(instance => instance.id === id)?.dns ?? '';
    await nodesReady(api, [name]);
  });
  after(async () => {
    await kubelets.stop();
    await (started as Neighbourhood).stop();
  });
  const look = (): Promise<Registered> => api.get<Registered>(nodePath(name));
  const bootId = async (): Promise<string> => (await look()).status.nodeInfo?.bootID ?? '';
  const untilReady = (wanted: boolean): Promise<void> =>
    until(
      `the node to be ${wanted ? 'Ready' : 'not Ready'}`,
      async () => isReady(await look()) === wanted,
    );

  test('it has the instance’s id, zone and role; an instance without the tag is none', async () => {
    await ec2.runInstances(1);
    const { metadata, spec } = await look();
    assert.equal(spec.providerID, `aws:///us-east-1b/${id}`);
    assert.equal(instanceIn(spec.providerID), id);
    assert.equal(metadata.labels?.['topology.kubernetes.io/zone'], 'us-east-1b');
    assert.equal(metadata.labels?.['node-role.kubernetes.io/worker'], '');
    assert.equal(
      (await api.get<{ readonly items: readonly unknown[] }>('/api/v1/nodes')).items.length,
      1,
    );
    assert.notEqual(await bootId(), '');
  });

  test('a reboot is a moment of silence and another boot id; what others have said of the node stays', async () => {
    const first = await bootId();
    const theirs = {
      type: 'Drained',
      status: 'True',
      reason: 'Test',
      message: 'somebody else says so',
    };
    const conditions = { status: { conditions: [theirs] } };
    await api.call(
      'PATCH',
      `${nodePath(name)}/status`,
      conditions,
      'application/strategic-merge-patch+json',
    );
    await api.patch(nodePath(name), { spec: { unschedulable: true } });
    await ec2.reboot(id);
    await untilReady(false);
    await untilReady(true);
    assert.notEqual(await bootId(), first);
    const { spec, status } = await look();
    assert.equal(spec.unschedulable, true);
    assert.equal(
      status.conditions?.find(({ type }) => type === 'Drained')?.message,
      'somebody else says so',
    );
    await api.patch(nodePath(name), { spec: { unschedulable: null } });
  });

  test('stopped, it is not Ready and tainted as shut down; started, all goes on', async () => {
    const first = await bootId();
    await ec2.stopInstances(id);
    await untilReady(false);
    const keys = async (): Promise<readonly string[]> =>
      ((await look()).spec.taints ?? []).map(({ key }) => key);
    await waitFor('both taints', async () => {
      const seen = (await keys()).toSorted();
      const both = ['node.cloudprovider.kubernetes.io/shutdown', 'node.kubernetes.io/unreachable'];
      return both.every(key => seen.includes(key)) ? { done: undefined } : { yet: seen.join() };
    });
    await ec2.startInstances(id);
    await untilReady(true);
    assert.notEqual(await bootId(), first);
    await until('the taints to be gone', async () => (await keys()).length === 0);
  });

  test('it vanishes with its instance', async () => {
    await ec2.terminate(id);
    await until(
      'the node to be gone',
      async () => (await api.call('GET', `/api/v1/nodes/${name}`)).status === 404,
    );
  });
});
