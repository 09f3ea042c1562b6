import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { create } from '../control-plane/objects/cluster.ts';
import {
  budget,
  deployment,
  type Manifest,
  namespace,
} from '../control-plane/objects/manifests.ts';
import { until } from '../control-plane/wait.ts';
import {
  type OperatorHarness,
  type OperatorProcess,
  skipOf,
  startHarness,
} from './harness/harness.ts';
import {
  type Lease,
  type Maintenance,
  maintenance,
  maintenancePath,
  makeNode,
  namesOn,
  podAt,
  remove,
  untilEvent,
  untilFace,
  untilMaintenance,
  untilPods,
} from './harness/look.ts';

/** The operator's own pod on a node that it drains: leadership is handed over first. */

const started = await startHarness();
const skip = skipOf(started);
const harness = started as OperatorHarness;

describe('the operator on a node that is drained', { skip, timeout: 120_000 }, () => {
  const { api } = harness;
  const home = 'drydock-system';
  /** The stand-ins of the replicas are no pods that the namespace of the operator would let in. */
  const pods = 'replicas';
  const labels = { 'app.kubernetes.io/name': 'drydock' };
  const replica = (nodeName: string, name: string): Manifest =>
    podAt(nodeName, name, { namespace: pods, labels });
  const flags = ['--leader-elect', '--leader-election-namespace', home, '--webhook-port=0'];
  const holder = async (): Promise<string> => {
    const { status, body } = await api.call(
      'GET',
      `/apis/coordination.k8s.io/v1/namespaces/${home}/leases/135b1886.medik8s.io`,
    );
    return status === 200 ? ((body as Lease).spec.holderIdentity ?? '') : '';
  };
  const evictionsOf = async (name: string): Promise<readonly string[]> =>
    (await harness.controlPlane.audit.since(0))
      .filter(call => call.subresource === 'eviction' && call.name === name)
      .map(({ user }) => user);
  let firstOne: OperatorProcess | undefined;
  let secondOne: OperatorProcess | undefined;
  after(() => harness.stop());

  test('the pod of the leader goes last, and is evicted by the replica that leads then', async () => {
    await makeNode(api, 'home');
    await makeNode(api, 'alone');
    await create(
      api,
      namespace(pods),
      replica('home', 'drydock-1'),
      podAt('home', 'other', { namespace: pods }),
      replica('alone', 'drydock-2'),
    );
    await untilPods(api, 'home', 2);
    await untilPods(api, 'alone', 1);
    const environment = { POD_NAMESPACE: pods, POD_NAME: 'drydock-1' };
    firstOne = await harness.startOperator({ flags, environment });
    await until('it to lead', async () => (await holder()) !== '');
    const first = await holder();
    secondOne = await harness.startOperator({
      user: 'second',
      flags,
      environment: { POD_NAMESPACE: pods, POD_NAME: 'drydock-2' },
    });
    await create(api, maintenance('home'));
    await untilMaintenance(api, 'home', 'Drained');
    assert.notEqual(await holder(), first);
    assert.deepEqual(
      [await evictionsOf('other'), await evictionsOf('drydock-1')],
      [['drydock'], ['second']],
    );
    await remove(api, maintenancePath('home'));
  });

  test('a lone replica waits for another to lead, and then goes all the same', async () => {
    // The first one has ended with its pod, as far as the cluster knows; here its process has to be
    // told.
    await firstOne?.running.stop();
    await until('the second to lead', async () => (await holder()) !== '');
    await create(api, maintenance('alone'));
    await untilMaintenance(api, 'alone', 'Draining', ({ blockers = [] }) =>
      blockers.some(({ message }) => message.includes("operator's own pod")),
    );
    await untilMaintenance(api, 'alone', 'Drained');
    assert.deepEqual(await namesOn(api, 'alone'), []);
  });

  test('the last replica stays on the only node that may run it: the node is drained and given back, and it goes once another node is there', async () => {
    const role = { labels: { role: 'only' } };
    const face = await makeNode(api, 'only', role);
    // What the Deployment of the operator has: two replicas, here on a kind of node of which there
    // is one, and a budget that lets one of them go.
    const options = { namespace: pods, labels, replicas: 2, spec: { nodeSelector: role.labels } };
    await create(
      api,
      deployment('operator', options),
      budget('operator', { namespace: pods, maxUnavailable: 1 }),
    );
    await untilPods(api, 'only', 2);
    const [own = '', second = ''] = await namesOn(api, 'only');
    for (const process of [firstOne, secondOne]) await process?.running.stop();
    await harness.startOperator({ flags, environment: { POD_NAMESPACE: pods, POD_NAME: own } });

    const asked = await harness.drydock('why', 'only');
    assert.match(
      asked.stdout,
      /of the operator stays on the node, for no other node may run it \(.*not picked by its node selector/,
    );
    await create(api, maintenance('only'));
    const { message = '', conditions = [] } = await untilMaintenance(api, 'only', 'Drained');
    const stays = `pod ${pods}/${own} of the operator stays on the node, for no other node may run it`;
    assert.ok(message.includes(stays), message);
    assert.ok(
      conditions.some(
        condition => condition.type === 'Drained' && condition.message.includes(stays),
      ),
      JSON.stringify(conditions),
    );
    assert.deepEqual(await namesOn(api, 'only'), [own]);
    await untilEvent(
      api,
      (await api.get<Maintenance>(maintenancePath('only'))).metadata.uid,
      'OperatorStays',
    );
    await remove(api, maintenancePath('only'));
    await untilFace(api, 'only', face);
    await untilPods(api, 'only', 2);

    await create(api, maintenance('only'));
    await untilMaintenance(
      api,
      'only',
      'Drained',
      status => status.message?.includes(stays) === true,
    );
    await makeNode(api, 'only-2', role);
    await untilMaintenance(
      api,
      'only',
      'Drained',
      status => status.message?.includes('of the operator') === false,
    );
    assert.deepEqual(await namesOn(api, 'only'), []);
    assert.deepEqual([(await evictionsOf(own)).length, (await evictionsOf(second)).length], [1, 1]);
    await remove(api, maintenancePath('only'));
    await untilFace(api, 'only', face);
  });
});
