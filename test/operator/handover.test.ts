import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { create } from '../control-plane/objects/cluster.ts';
import { namespace } from '../control-plane/objects/manifests.ts';
import { until } from '../control-plane/wait.ts';
import { type OperatorHarness, type OperatorProcess, skipOf, startHarness } from './harness/harness.ts';
import { type Lease, maintenance, maintenancePath, makeNode, namesOn, podAt, remove, untilMaintenance, untilPods } from './harness/look.ts';

/** The operator's own pod on a node that it drains: leadership is handed over first. */

const started = await startHarness();
const skip = skipOf(started);
const harness = started as OperatorHarness;

describe('the operator on a node that is drained', { skip, timeout: 120_000 }, () => {
  const { api } = harness;
  const home = 'drydock-system';
  /** The stand-ins of the replicas are no pods that the namespace of the operator would let in. */
  const pods = 'replicas';
  const flags = ['--leader-elect', '--leader-election-namespace', home, '--webhook-port=0'];
  const holder = async (): Promise<string> => {
    const { status, body } = await api.call('GET', `/apis/coordination.k8s.io/v1/namespaces/${home}/leases/135b1886.medik8s.io`);
    return status === 200 ? ((body as Lease).spec.holderIdentity ?? '') : '';
  };
  const evictionsOf = async (name: string): Promise<readonly string[]> =>
    (await harness.controlPlane.audit.since(0))
      .filter(call => call.subresource === 'eviction' && call.name === name)
      .map(({ user }) => user);
  let firstOne: OperatorProcess | undefined;
  after(() => harness.stop());

  test('the pod of the leader goes last, and is evicted by the replica that leads then', async () => {
    await makeNode(api, 'home');
    await create(api, namespace(pods), podAt('home', 'drydock-1', { namespace: pods }), podAt('home', 'other', { namespace: pods }));
    await untilPods(api, 'home', 2);
    const environment = { POD_NAMESPACE: pods, POD_NAME: 'drydock-1' };
    firstOne = await harness.startOperator({ flags, environment });
    await until('it to lead', async () => (await holder()) !== '');
    const first = await holder();
    await harness.startOperator({ user: 'second', flags, environment: { POD_NAMESPACE: pods, POD_NAME: 'drydock-2' } });
    await create(api, maintenance('home'));
    await untilMaintenance(api, 'home', 'Drained');
    assert.notEqual(await holder(), first);
    assert.deepEqual([await evictionsOf('other'), await evictionsOf('drydock-1')], [['drydock'], ['second']]);
    await remove(api, maintenancePath('home'));
  });

  test('a lone replica waits for another to lead, and then goes all the same', async () => {
    await makeNode(api, 'alone');
    await create(api, podAt('alone', 'drydock-2', { namespace: pods }));
    await untilPods(api, 'alone', 1);
    // The first one has ended with its pod, as far as the cluster knows; here its process has to be told.
    await firstOne?.running.stop();
    await until('the second to lead', async () => (await holder()) !== '');
    await create(api, maintenance('alone'));
    await untilMaintenance(api, 'alone', 'Draining', ({ blockers = [] }) =>
      blockers.some(({ message }) => message.includes("operator's own pod")),
    );
    await untilMaintenance(api, 'alone', 'Drained');
    assert.deepEqual(await namesOn(api, 'alone'), []);
  });
});
