import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { create, getNode } from '../control-plane/objects/cluster.ts';
import { until } from '../control-plane/wait.ts';
import { type OperatorHarness, skipOf, startHarness } from './harness/harness.ts';
import {
  hasLease,
  isHeld,
  maintenance,
  maintenancePath,
  makeNode,
  ourTaints,
  remove,
  seed,
  seedPath,
  untilFace,
  untilMaintenance,
  untilSeed,
  withMetadata,
} from './harness/look.ts';

/** The quorum of the control plane, kept by the operator itself: there is no webhook here. */

const started = await startHarness();
const skip = skipOf(started);
const harness = started as OperatorHarness;

describe('the quorum', { skip, timeout: 120_000 }, () => {
  const { api } = harness;
  const names = ['cp-1', 'cp-2', 'cp-3'];
  let faces: readonly object[] = [];
  before(async () => {
    faces = await Promise.all(
      names.map(name =>
        makeNode(api, name, { labels: { 'node-role.kubernetes.io/control-plane': '' } }),
      ),
    );
    await harness.startOperator();
  });
  after(() => harness.stop());
  const heldNodes = async (): Promise<readonly string[]> => {
    const found = await Promise.all(
      names.map(async name => [name, isHeld(await getNode(api, name), ourTaints)] as const),
    );
    return found.filter(([, held]) => held).map(([name]) => name);
  };

  test('of three control-plane nodes one is out at a time, however many are asked for at once', async () => {
    await create(api, ...names.map(name => maintenance(name)));
    const begun = performance.now();
    for (let left = [...names]; left.length > 0; ) {
      await until('one of them to be held', async () => (await heldNodes()).length > 0);
      const [going = ''] = await heldNodes();
      await untilMaintenance(api, going, 'Drained');
      assert.deepEqual(await heldNodes(), [going], 'no other one is');
      for (const waiting of left.filter(name => name !== going)) {
        const status = await untilMaintenance(
          api,
          waiting,
          'Pending',
          ({ message }) => message?.includes('etcd quorum') === true,
        );
        assert.match(
          status.message ?? '',
          /2 of 3 control-plane nodes must stay.*drydock\.dev\/allow-quorum-loss/,
        );
        assert.equal(
          await hasLease(api, waiting),
          false,
          'who waits does not keep others from the node',
        );
      }
      await remove(api, maintenancePath(going));
      await untilFace(api, going, faces[names.indexOf(going)] ?? {});
      left = left.filter(name => name !== going);
    }
    assert.ok(
      performance.now() - begun < 20_000,
      'who waits is woken by the node that comes back, not by the clock',
    );
  });

  test('a kubelet that is down counts as out, and its own node may be worked on', async () => {
    await makeNode(api, 'down', { labels: { 'node-role.kubernetes.io/control-plane': '' } });
    await remove(api, '/api/v1/nodes/cp-3');
    await api.patch('/api/v1/nodes/down', {
      metadata: { annotations: { 'kwok.x-k8s.io/node': null } },
    });
    const unknown = {
      type: 'Ready',
      status: 'False',
      reason: 'Test',
      message: 'down',
      lastTransitionTime: new Date().toISOString(),
    };
    await api.patch('/api/v1/nodes/down/status', { status: { conditions: [unknown] } });
    await create(api, maintenance('cp-1'));
    await untilMaintenance(
      api,
      'cp-1',
      'Pending',
      ({ message }) => message?.includes('will violate etcd quorum') === true,
    );
    await create(api, maintenance('down', { drain: { waitForVolumeDetach: false } }));
    await until('the node that is down to be held', async () =>
      isHeld(await getNode(api, 'down'), ourTaints),
    );
    await remove(api, maintenancePath('down'));
    await remove(api, maintenancePath('cp-1'));
    // As their operators did, off OpenShift.
    await create(api, seed('cp-1'));
    await untilSeed(api, 'cp-1', 'Succeeded');
    await remove(api, seedPath('cp-1'));
  });

  test('whoever takes the loss upon himself gets the node', async () => {
    await create(
      api,
      withMetadata(maintenance('cp-1'), {
        annotations: { 'drydock.dev/allow-quorum-loss': 'true' },
      }),
    );
    await untilMaintenance(api, 'cp-1', 'Drained');
    await remove(api, maintenancePath('cp-1'));
  });
});
