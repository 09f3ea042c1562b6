import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { NodeMaintenanceStatus } from '@drydock/apis/schema';
import type { Audited } from '../control-plane/audit.ts';
import {
  budgetAllows,
  create,
  deleteNodes,
  getNode,
  nodePath,
  pods,
  podsOn,
  podsReady,
} from '../control-plane/objects/cluster.ts';
import {
  budget,
  daemonSet,
  deployment,
  namespace,
  node,
  pod,
  statefulSet,
} from '../control-plane/objects/manifests.ts';
import type { Pod } from '../control-plane/objects/objects.ts';
import { until, waitFor } from '../control-plane/wait.ts';
import { type OperatorHarness, skipOf, startHarness } from './harness/harness.ts';
import {
  countsOf,
  editNode,
  eventsOf,
  excludeLabel,
  faceOf,
  getPod,
  hasLease,
  killPod,
  leaseOf,
  leasePath,
  maintenance,
  maintenancePath,
  makeNode,
  type NodeMaintenance,
  namesOn,
  nodePatches,
  ourTaints,
  podAt,
  podCalls,
  remove,
  seed,
  seedPath,
  seedTaints,
  statusesOf,
  taintsOf,
  takeLease,
  untilEvent,
  untilFace,
  untilGone,
  untilHeld,
  untilMaintenance,
  untilNames,
  untilPods,
  untilSeed,
  withMetadata,
} from './harness/look.ts';

/**
 * The contract of nodemaintenance.medik8s.io/v1beta1 on a real control plane. Every test has nodes
 * and namespaces of its own.
 */

const started = await startHarness();
const skip = skipOf(started);
const harness = started as OperatorHarness;

describe('a NodeMaintenance', { skip, concurrency: 16, timeout: 180_000 }, () => {
  const { api } = harness;
  const uidOf = async (name: string): Promise<string> =>
    (await api.get<NodeMaintenance>(seedPath(name))).metadata.uid;
  /** Changes of the node itself, not of what its conditions say. */
  const holdPatches = async (name: string, mark: number): Promise<readonly Audited[]> =>
    (await nodePatches(harness, mark, name)).filter(({ subresource }) => subresource === '');
  const nodeUid = async (name: string): Promise<string> => (await getNode(api, name)).metadata.uid;

  before(async () => {
    await harness.startOperator();
  });
  after(() => harness.stop());

  /** One attempt of the operator before took 30 seconds; what failed it is the last error. */
  const lastErrorOf = (name: string): Promise<NodeMaintenanceStatus> =>
    waitFor(
      `the last error of ${name}`,
      async () => {
        const { status } = await api.get<NodeMaintenance>(seedPath(name));
        return status?.lastError === undefined ? { yet: JSON.stringify(status) } : { done: status };
      },
      { deadlineMs: 45_000, everyMs: 200 },
    );

  test('tells as its last error which budget has blocked it for as long as an attempt may take', async () => {
    const name = 'told';
    await makeNode(api, name);
    await create(api, namespace(name), podAt(name, 'precious', { namespace: name }));
    await create(api, budget('precious', { namespace: name, minAvailable: 1 }));
    await podsReady(api, name, 1);
    await budgetAllows(api, name, 'precious', 0);
    await create(api, seed(name));
    const status = await lastErrorOf(name);
    assert.equal(status.phase, 'Running');
    assert.match(
      status.lastError ?? '',
      /^error when evicting pods\/"precious" -n "told": .*budget precious/,
    );
    await remove(api, seedPath(name));
  });

  test('waits for a pod that does not end, names it, and is done when it is gone', async () => {
    const name = 'stuck';
    const face = await makeNode(api, name);
    const spec = { terminationGracePeriodSeconds: 1 };
    const there = { namespace: name, annotations: { 'drydock.test/never-gone': 'true' }, spec };
    await create(
      api,
      namespace(name),
      podAt(name, 'zombie', there),
      podAt(name, 'fine', { namespace: name }),
    );
    await untilPods(api, name, 2);
    const mark = harness.controlPlane.audit.mark();
    await create(api, seed(name), maintenance(name));
    const { blockers = [] } = await untilMaintenance(
      api,
      name,
      'Draining',
      status => status.blockers?.[0]?.reason === 'StuckTerminating',
    );
    assert.equal(blockers.length, 1);
    assert.deepEqual(blockers[0]?.pod, { namespace: name, name: 'zombie' });
    assert.match(blockers[0]?.message ?? '', /past its grace period/);
    assert.match(blockers[0]?.remedy ?? '', /kubelet/);
    const status = await lastErrorOf(name);
    assert.match(status.lastError ?? '', /pods\/"zombie" -n "stuck"/);
    assert.deepEqual(status.pendingPods, ['zombie']);
    assert.equal(status.drainProgress, 50);
    await killPod(api, name, 'zombie');
    const done = await untilSeed(api, name, 'Succeeded');
    assert.equal(done.lastError, undefined, 'an error that is over is not told any more');
    await untilMaintenance(api, name, 'Drained', ({ blockers }) => blockers === undefined);
    assert.deepEqual((await podCalls(harness, mark, [name])).toSorted(), [
      'evict fine 201',
      'evict zombie 201',
    ]);
    await remove(api, seedPath(name));
    await remove(api, maintenancePath(name));
    await untilFace(api, name, face);
  });

  test('names its node as what keeps a pod when the kubelet has fallen silent, and no longer once it is back', async () => {
    const name = 'silent';
    const face = await makeNode(api, name);
    const there = {
      namespace: name,
      annotations: { 'drydock.test/never-gone': 'true' },
      spec: { terminationGracePeriodSeconds: 600 },
    };
    await create(api, namespace(name), podAt(name, 'left', there));
    await untilPods(api, name, 1);
    await create(api, maintenance(name));
    await untilMaintenance(
      api,
      name,
      'Draining',
      ({ blockers }) => blockers?.[0]?.reason === 'Terminating',
    );
    // As the node controller says it of a real kubelet that has lost its power (test:nodes).
    const ready = (status: string, reason: string, message: string): object => ({
      type: 'Ready',
      status,
      reason,
      message,
    });
    const say = async (condition: object): Promise<void> => {
      const { status } = await getNode(api, name);
      const others = (status.conditions ?? []).filter(({ type }) => type !== 'Ready');
      await api.patch(`${nodePath(name)}/status`, {
        status: { conditions: [...others, condition] },
      });
    };
    await editNode(api, name, { metadata: { annotations: { 'drydock.test/dead': 'true' } } });
    await say(ready('Unknown', 'NodeStatusUnknown', 'Kubelet stopped posting node status.'));
    const { blockers } = await untilMaintenance(
      api,
      name,
      'Draining',
      status => status.blockers?.[0]?.reason === 'NodeNotReady',
    );
    assert.match(
      blockers?.[0]?.message ?? '',
      /^node silent is not Ready.*Kubelet stopped posting node status.*nobody ends its pods$/,
    );
    assert.match(
      blockers?.[0]?.remedy ?? '',
      /out-of-service=nodeshutdown:NoExecute, or replace the machine$/,
    );
    await say(ready('True', 'KubeletReady', 'kubelet is posting ready status'));
    await untilMaintenance(
      api,
      name,
      'Draining',
      status => status.blockers?.[0]?.reason === 'Terminating',
    );
    await killPod(api, name, 'left');
    await untilMaintenance(api, name, 'Drained');
    await remove(api, maintenancePath(name));
    await editNode(api, name, { metadata: { annotations: { 'drydock.test/dead': null } } });
    await untilFace(api, name, face);
  });

  test('empties and marks its node, and gives it back exactly as it was', async () => {
    const name = 'valid';
    const mark = harness.controlPlane.audit.mark();
    const face = await makeNode(api, name, {
      labels: { dummyLabel: 'dummy' },
      taints: [{ key: 'dummy-key', value: 'dummy', effect: 'PreferNoSchedule' }],
    });
    await create(
      api,
      namespace(name),
      podAt(name, 'one', { namespace: name }),
      podAt(name, 'two', { namespace: name }),
    );
    await untilPods(api, name, 2);
    const statuses = await statusesOf<NodeMaintenanceStatus>(api, seedPath(name));
    await create(api, seed(name));
    const { lastUpdate, ...status } = await untilSeed(api, name, 'Succeeded');
    assert.deepEqual(status, {
      phase: 'Succeeded',
      drainProgress: 100,
      evictionPods: 2,
      totalpods: 2,
    });
    assert.ok(
      Math.abs(Date.now() - Date.parse(lastUpdate ?? '')) < 120_000,
      `lastUpdate ${lastUpdate} is a time of today`,
    );

    const [first] = statuses.seen;
    assert.deepEqual(
      { ...first, lastUpdate: undefined },
      {
        phase: 'Running',
        evictionPods: 2,
        totalpods: 2,
        pendingPods: ['one', 'two'],
        pendingPodsRefs: [
          { namespace: name, name: 'one' },
          { namespace: name, name: 'two' },
        ],
        lastUpdate: undefined,
      },
    );
    assert.deepEqual(
      statuses.seen.flatMap(({ lastError }) => lastError ?? []),
      [],
    );

    const held = await getNode(api, name);
    assert.equal(held.spec.unschedulable, true);
    assert.deepEqual(taintsOf(held), ['dummy-key:PreferNoSchedule', ...seedTaints]);
    assert.equal(held.metadata.labels?.[excludeLabel], 'true');
    assert.equal(held.metadata.labels?.['dummyLabel'], 'dummy');
    assert.deepEqual((await api.get<NodeMaintenance>(seedPath(name))).metadata.finalizers, [
      'foregroundDeleteNodeMaintenance',
    ]);

    const lease = await leaseOf(api, name);
    const { acquireTime, renewTime, ...spec } = lease.spec;
    assert.deepEqual(spec, {
      holderIdentity: 'node-maintenance',
      leaseDurationSeconds: 3600,
      leaseTransitions: 0,
    });
    assert.match(acquireTime ?? '', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
    assert.equal(renewTime, acquireTime);
    assert.deepEqual(lease.metadata.ownerReferences, [
      { apiVersion: 'v1', kind: 'Node', name, uid: held.metadata.uid },
    ]);

    const uid = await uidOf(name);
    await remove(api, seedPath(name));
    await untilFace(api, name, face);
    assert.equal(await hasLease(api, name), false);
    await untilEvent(api, uid, 'RemovedMaintenance');
    assert.deepEqual(await countsOf(api, uid), {
      BeginMaintenance: 1,
      SucceedMaintenance: 1,
      RemovedMaintenance: 1,
    });
    const events = await eventsOf(api, uid);
    assert.deepEqual(
      [...new Set(events.map(({ reportingComponent }) => reportingComponent))],
      ['NodeMaintenance'],
    );
    assert.deepEqual(
      events.map(({ type, message }) => `${type} ${message}`),
      [
        'Normal Begin a node maintenance',
        'Normal Node maintenance was succeeded',
        'Normal Removed a node maintenance',
      ],
    );
    const uncordon = await untilEvent(api, held.metadata.uid, 'UncordonNode');
    assert.deepEqual(
      [uncordon.type, uncordon.message, uncordon.count, uncordon.reportingComponent],
      ['Normal', 'Uncordon a node', 1, 'NodeMaintenance'],
    );
    assert.deepEqual((await podCalls(harness, mark, [name])).toSorted(), [
      'evict one 201',
      'evict two 201',
    ]);
    await statuses.stop();
  });

  test('of a missing node fails, and goes on when the node appears', async () => {
    const name = 'missing';
    await create(api, seed(name));
    const { lastUpdate, ...status } = await untilSeed(api, name, 'Failed');
    assert.deepEqual(status, { phase: 'Failed', lastError: `nodes "${name}" not found` });
    assert.notEqual(lastUpdate, undefined);
    const uid = await uidOf(name);
    await untilEvent(api, uid, 'FailedMaintenance');
    assert.deepEqual(await countsOf(api, uid), { BeginMaintenance: 1, FailedMaintenance: 1 });
    assert.equal(await hasLease(api, name), false);

    await create(api, node(name));
    const after = await untilSeed(api, name, 'Succeeded');
    assert.equal(after.lastError, undefined);
    await untilHeld(api, name);
    await remove(api, seedPath(name));
    await untilEvent(api, uid, 'RemovedMaintenance');
    assert.deepEqual(await countsOf(api, uid), {
      BeginMaintenance: 1,
      FailedMaintenance: 1,
      SucceedMaintenance: 1,
      RemovedMaintenance: 1,
    });
  });

  test('fails when its node is deleted in mid-drain, and can be deleted then', async () => {
    const name = 'vanishing';
    await makeNode(api, name);
    await create(api, namespace(name), deployment('web', { namespace: name, onNodes: [name] }));
    await create(api, budget('web', { namespace: name, maxUnavailable: 0 }));
    await podsReady(api, name, 1);
    await budgetAllows(api, name, 'web', 0);
    await create(api, seed(name));
    await untilSeed(api, name, 'Running', ({ pendingPods }) => pendingPods?.length === 1);
    await deleteNodes(api, [name]);
    const status = await untilSeed(api, name, 'Failed');
    assert.equal(status.lastError, `nodes "${name}" not found`);
    const uid = await uidOf(name);
    await remove(api, seedPath(name));
    await untilGone(api, leasePath(name));
    await untilEvent(api, uid, 'RemovedMaintenance');
    assert.deepEqual(await countsOf(api, uid), {
      BeginMaintenance: 1,
      FailedMaintenance: 1,
      RemovedMaintenance: 1,
    });
  });

  test('fails when its node is deleted after it succeeded, and holds a new node of that name', async () => {
    const name = 'replaced';
    await makeNode(api, name);
    await create(api, seed(name));
    await untilSeed(api, name, 'Succeeded');
    await deleteNodes(api, [name]);
    await untilSeed(
      api,
      name,
      'Failed',
      ({ lastError }) => lastError === `nodes "${name}" not found`,
    );
    await untilGone(api, leasePath(name));
    await create(api, node(name));
    await untilSeed(api, name, 'Succeeded', ({ lastError }) => lastError === undefined);
    const held = await untilHeld(api, name);
    const lease = await leaseOf(api, name);
    assert.deepEqual(lease.metadata.ownerReferences, [
      { apiVersion: 'v1', kind: 'Node', name, uid: held.metadata.uid },
    ]);
    await remove(api, seedPath(name));
    await until(
      'the new node to be open',
      async () => (await getNode(api, name)).spec.unschedulable !== true,
    );
    assert.equal(await hasLease(api, name), false);
  });

  test('waits without touching its node while somebody else has the lease', async () => {
    const name = 'foreign-lease';
    const face = await makeNode(api, name);
    await create(api, namespace(name), podAt(name, 'one', { namespace: name }));
    await untilPods(api, name, 1);
    const mark = harness.controlPlane.audit.mark();
    await takeLease(api, name);
    await create(api, seed(name));
    const waiting = await untilSeed(
      api,
      name,
      'Running',
      ({ lastError }) => lastError !== undefined,
    );
    assert.match(waiting.lastError ?? '', /failed to obtain a lease that is not owned by us/);
    assert.match(waiting.lastError ?? '', /held by different owner: somebody-else/);
    assert.equal(waiting.errorOnLeaseCount, undefined);
    // The holder renews it: that is another look at it, with the same answer.
    await takeLease(api, name);
    const kept = await leaseOf(api, name);
    await api.patch(seedPath(name), { spec: { reason: 'look again' } });
    await waitFor('the node to say what is planned', async () => {
      const planned = (await getNode(api, name)).status.conditions?.find(
        ({ type }) => type === 'MaintenancePlanned',
      );
      return planned?.message?.includes('look again') === true
        ? { done: undefined }
        : { yet: JSON.stringify(planned) };
    });
    assert.deepEqual(await holdPatches(name, mark), []);
    assert.deepEqual(await podCalls(harness, mark, [name]), []);
    assert.deepEqual(
      { ...faceOf(await getNode(api, name)), conditions: [] },
      { ...face, conditions: [] },
    );
    assert.deepEqual((await leaseOf(api, name)).spec, kept.spec);

    await api.delete(leasePath(name));
    const { lastError, errorOnLeaseCount, drainProgress } = await untilSeed(api, name, 'Succeeded');
    assert.deepEqual(
      { lastError, errorOnLeaseCount, drainProgress },
      { lastError: undefined, errorOnLeaseCount: undefined, drainProgress: 100 },
    );
    await untilHeld(api, name);
    const uid = await uidOf(name);
    await untilEvent(api, uid, 'SucceedMaintenance');
    assert.deepEqual(await countsOf(api, uid), { BeginMaintenance: 1, SucceedMaintenance: 1 });
    await remove(api, seedPath(name));
    await untilFace(api, name, face);
  });

  test('that loses its lease and gets it back in time keeps its node, and has not failed', async () => {
    const name = 'lease-back';
    await makeNode(api, name);
    await create(api, seed(name));
    await untilSeed(api, name, 'Succeeded');
    const statuses = await statusesOf<NodeMaintenanceStatus>(api, seedPath(name));
    const mark = harness.controlPlane.audit.mark();
    await takeLease(api, name);
    const lost = await waitFor('the loss to be told', async () => {
      const found = statuses.seen.find(({ lastError }) => lastError !== undefined);
      return found === undefined ? { yet: JSON.stringify(statuses.seen) } : { done: found };
    });
    assert.match(lost.lastError ?? '', /failed to extend a lease that used to be owned by us/);
    assert.equal(lost.errorOnLeaseCount, 1);
    await api.delete(leasePath(name));
    await untilSeed(
      api,
      name,
      'Succeeded',
      ({ lastError, errorOnLeaseCount }) =>
        lastError === undefined && errorOnLeaseCount === undefined,
    );
    assert.equal((await leaseOf(api, name)).spec.holderIdentity, 'node-maintenance');
    await untilHeld(api, name);
    assert.deepEqual(await holdPatches(name, mark), [], 'the node was held all the time');
    assert.ok(!statuses.seen.some(({ phase }) => phase === 'Failed'));
    const uid = await uidOf(name);
    await statuses.stop();
    await remove(api, seedPath(name));
    await untilEvent(api, uid, 'RemovedMaintenance');
    assert.equal((await countsOf(api, uid))['FailedMaintenance'], undefined);
  });

  test('that loses its lease for good fails and gives its node back, and begins again when the lease is free', async () => {
    const name = 'lease-lost';
    const face = await makeNode(api, name);
    await create(api, namespace(name), podAt(name, 'one', { namespace: name }));
    await untilPods(api, name, 1);
    await create(api, seed(name));
    await untilSeed(api, name, 'Succeeded');
    const statuses = await statusesOf<NodeMaintenanceStatus>(api, seedPath(name));
    await takeLease(api, name);
    const failed = await untilSeed(api, name, 'Failed');
    assert.match(
      failed.lastError ?? '',
      /^maintenance failed: lease could not be extended after \d+ attempts$/,
    );
    assert.ok(
      (failed.errorOnLeaseCount ?? 0) > 3,
      `${failed.errorOnLeaseCount} attempts are more than 3`,
    );
    const counted = new Set(
      statuses.seen.flatMap(({ errorOnLeaseCount }) => errorOnLeaseCount ?? []),
    );
    assert.deepEqual([...counted], [1, 2, 3, 4]);
    await untilFace(api, name, face);
    assert.equal((await leaseOf(api, name)).spec.holderIdentity, 'somebody-else');
    const uid = await uidOf(name);
    await untilEvent(api, uid, 'FailedMaintenance');
    assert.equal((await untilEvent(api, await nodeUid(name), 'UncordonNode')).count, 1);
    await statuses.stop();

    await api.delete(leasePath(name));
    await untilSeed(
      api,
      name,
      'Succeeded',
      ({ lastError, errorOnLeaseCount }) =>
        lastError === undefined && errorOnLeaseCount === undefined,
    );
    await untilHeld(api, name);
    await remove(api, seedPath(name));
    await untilFace(api, name, face);
    await untilEvent(api, uid, 'RemovedMaintenance');
    assert.deepEqual(await countsOf(api, uid), {
      BeginMaintenance: 1,
      FailedMaintenance: 1,
      SucceedMaintenance: 2,
      RemovedMaintenance: 1,
    });
  });

  test('that is deleted lets go although somebody else keeps the object, and its node stays free', async () => {
    const name = 'foreign-finalizer';
    const face = await makeNode(api, name);
    await create(api, withMetadata(seed(name), { finalizers: ['example.test/keeps'] }));
    await untilSeed(api, name, 'Succeeded');
    await api.delete(seedPath(name));
    await until('our finalizer to be gone', async () => {
      const { metadata } = await api.get<NodeMaintenance>(seedPath(name));
      return JSON.stringify(metadata.finalizers) === '["example.test/keeps"]';
    });
    await untilFace(api, name, face);
    const mark = harness.controlPlane.audit.mark();
    // Two more looks at the object and at the node change nothing.
    await api.patch(seedPath(name), {
      metadata: { annotations: { 'example.test/look': 'again' } },
    });
    await editNode(api, name, { metadata: { labels: { look: 'again' } } });
    await editNode(api, name, { metadata: { labels: { look: null } } });
    const mine = 'foreign-finalizer-clock';
    await makeNode(api, mine);
    await create(api, seed(mine));
    await untilSeed(api, mine, 'Succeeded');
    assert.deepEqual(await nodePatches(harness, mark, name), []);
    assert.equal(await hasLease(api, name), false);
    await untilFace(api, name, face);
    await api.patch(seedPath(name), { metadata: { finalizers: null } });
    await untilGone(api, seedPath(name));
    await remove(api, seedPath(mine));
  });

  test('that is deleted in mid-drain gives its node back at once, and nothing is evicted after that', async () => {
    const name = 'changed-mind';
    const face = await makeNode(api, name);
    await create(
      api,
      namespace(name),
      deployment('web', { namespace: name, onNodes: [name, 'changed-mind-2'], replicas: 5 }),
    );
    await create(api, budget('web', { namespace: name, maxUnavailable: 1 }));
    await podsReady(api, name, 5);
    await budgetAllows(api, name, 'web', 1);
    await makeNode(api, 'changed-mind-2');
    const mark = harness.controlPlane.audit.mark();
    await create(api, seed(name));
    await until('the first pod to be gone', async () => (await namesOn(api, name)).length < 5);
    await remove(api, seedPath(name));
    await untilFace(api, name, face);
    // The budget allows one more again and all are Ready: whoever still wanted to evict would have
    // done so.
    await podsReady(api, name, 5);
    await budgetAllows(api, name, 'web', 1);
    assert.ok((await namesOn(api, name)).length > 0, 'pods are left on the node');
    const asked = (await harness.controlPlane.audit.since(mark, 'drydock')).filter(
      event => event.subresource === 'eviction' && event.namespace === name,
    );
    const [, given] = await holdPatches(name, mark);
    assert.ok(given !== undefined, 'the node was held and released');
    assert.ok(asked.length > 0);
    assert.deepEqual(
      asked.filter(({ receivedAt }) => receivedAt > given.receivedAt),
      [],
    );
  });

  test('tells how far it is while it drains', async () => {
    const name = 'progress';
    await makeNode(api, name);
    // Slowly, so that more than one status is due on the way.
    const annotations = { 'drydock.test/ready-after': '1s' };
    await create(
      api,
      namespace(name),
      deployment('web', {
        namespace: name,
        onNodes: [name, 'progress-2'],
        replicas: 8,
        annotations,
      }),
    );
    await create(api, budget('web', { namespace: name, maxUnavailable: 1 }));
    await podsReady(api, name, 8);
    await budgetAllows(api, name, 'web', 1);
    await makeNode(api, 'progress-2');
    const statuses = await statusesOf<NodeMaintenanceStatus>(api, seedPath(name));
    await create(api, seed(name));
    await untilSeed(api, name, 'Succeeded');
    await statuses.stop();
    const told = statuses.seen.map(({ drainProgress = 0 }) => drainProgress);
    assert.ok(
      told.some(percent => percent > 0 && percent < 100),
      `progress was told: ${told.join(', ')}`,
    );
    assert.deepEqual(
      told,
      told.toSorted((one, other) => one - other),
      'it never falls',
    );
    for (const { drainProgress = 0, evictionPods, pendingPods = [] } of statuses.seen) {
      assert.equal(evictionPods, 8);
      assert.equal(drainProgress, Math.trunc(((8 - pendingPods.length) * 100) / 8));
    }
    await remove(api, seedPath(name));
  });

  test('that loses the lease to nobody makes a new one, and its node stays held', async () => {
    const name = 'lease-deleted';
    await makeNode(api, name);
    await create(api, seed(name));
    await untilSeed(api, name, 'Succeeded');
    const { metadata } = await leaseOf(api, name);
    const mark = harness.controlPlane.audit.mark();
    await api.delete(leasePath(name));
    await until(
      'a new lease',
      async () =>
        (await hasLease(api, name)) && (await leaseOf(api, name)).metadata.uid !== metadata.uid,
    );
    await api.patch(seedPath(name), { spec: { reason: 'look again' } });
    await untilSeed(api, name, 'Succeeded');
    await untilHeld(api, name);
    assert.deepEqual(await holdPatches(name, mark), [], 'the node was held all the time');
    await remove(api, seedPath(name));
  });

  test('puts back what somebody takes off its node, and says so', async () => {
    const name = 'guarded';
    const face = await makeNode(api, name);
    await create(api, seed(name));
    await untilSeed(api, name, 'Succeeded');
    const uid = await nodeUid(name);
    const restored = async (what: RegExp): Promise<void> => {
      await untilHeld(api, name);
      await until(`an event about ${what.source}`, async () =>
        (await eventsOf(api, uid)).some(
          ({ reason, message }) => reason === 'HoldRestored' && what.test(message),
        ),
      );
    };
    await editNode(api, name, { spec: { unschedulable: null } });
    await restored(/the cordon/);
    await editNode(api, name, {
      spec: {
        taints: (await getNode(api, name)).spec.taints?.filter(
          ({ key }) => key !== 'medik8s.io/drain',
        ),
      },
    });
    await restored(/the taint medik8s\.io\/drain:NoSchedule/);
    await editNode(api, name, { metadata: { labels: { [excludeLabel]: null } } });
    await restored(/the label remediation/);
    await untilSeed(api, name, 'Succeeded');
    await remove(api, seedPath(name));
    await untilFace(api, name, face);
  });

  test('evicts pods that come late, whichever way they come', async () => {
    const name = 'latecomers';
    await makeNode(api, name);
    await create(api, namespace(name));
    await create(api, seed(name));
    await untilSeed(api, name, 'Succeeded');
    const statuses = await statusesOf<NodeMaintenanceStatus>(api, seedPath(name));
    const mark = harness.controlPlane.audit.mark();
    const tolerations = [{ operator: 'Exists' }];
    await create(
      api,
      pod('tolerant', { namespace: name, onNodes: [name], spec: { tolerations } }),
      podAt(name, 'bound', { namespace: name }),
    );
    await waitFor('both to be evicted', async () => {
      const calls = (await podCalls(harness, mark, [name])).toSorted();
      return JSON.stringify(calls) === '["evict bound 201","evict tolerant 201"]'
        ? { done: undefined }
        : { yet: calls.join(', ') };
    });
    await until('both to be gone', async () => (await pods(api, name)).length === 0);
    const status = await untilSeed(api, name, 'Succeeded');
    assert.deepEqual(
      [status.pendingPods, status.pendingPodsRefs, status.drainProgress],
      [undefined, undefined, 100],
    );
    for (const { drainProgress = 0 } of statuses.seen)
      assert.ok(drainProgress >= 0 && drainProgress <= 100);
    assert.ok(statuses.seen.some(({ phase }) => phase === 'Running'));
    await statuses.stop();
    await remove(api, seedPath(name));
  });

  const drainTaint = { key: 'medik8s.io/drain', value: 'mine', effect: 'NoSchedule' };
  const priors = [
    ['was cordoned', 'prior-cordon', { unschedulable: true }],
    ['had the label', 'prior-label', { labels: { [excludeLabel]: 'true' } }],
    [
      'had the label with another value',
      'prior-value',
      { labels: { [excludeLabel]: 'until-friday' } },
    ],
    ['had one of the taints', 'prior-taint', { taints: [drainTaint] }],
  ] as const;
  for (const [what, name, options] of priors) {
    test(`leaves a node that ${what} before as it was`, async () => {
      const face = await makeNode(api, name, options);
      await create(api, seed(name));
      await untilSeed(api, name, 'Succeeded');
      await untilHeld(api, name);
      await remove(api, seedPath(name));
      await untilFace(api, name, face);
      if (name === 'prior-cordon') {
        const uid = await nodeUid(name);
        await untilEvent(api, uid, 'NodeReleased');
        assert.equal((await countsOf(api, uid))['UncordonNode'], undefined);
      }
    });
  }

  test('shares its node with another one: the last to go gives it back', async () => {
    const name = 'shared';
    const face = await makeNode(api, name);
    await create(api, seed('shared-1', name), seed('shared-2', name));
    for (const one of ['shared-1', 'shared-2']) await untilSeed(api, one, 'Succeeded');
    const mark = harness.controlPlane.audit.mark();
    await remove(api, seedPath('shared-1'));
    await untilHeld(api, name);
    assert.deepEqual(await holdPatches(name, mark), [], 'the hold was not touched');
    assert.equal((await leaseOf(api, name)).spec.holderIdentity, 'node-maintenance');
    await untilSeed(api, 'shared-2', 'Succeeded');
    await remove(api, seedPath('shared-2'));
    await untilFace(api, name, face);
    assert.equal(await hasLease(api, name), false);
  });

  test('shares its node with a Maintenance: each takes off only what the other does not want', async () => {
    const name = 'mixed';
    const face = await makeNode(api, name);
    await create(api, seed(name), maintenance(name));
    await untilSeed(api, name, 'Succeeded');
    await untilMaintenance(api, name, 'Drained');
    const both = await untilHeld(api, name, [...seedTaints, ...ourTaints]);
    assert.equal(taintsOf(both).length, 3);
    await remove(api, seedPath(name));
    const left = await untilHeld(api, name, ourTaints);
    assert.deepEqual(taintsOf(left), ourTaints);
    assert.equal((await leaseOf(api, name)).spec.holderIdentity, 'node-maintenance');
    await untilMaintenance(api, name, 'Drained');
    await remove(api, maintenancePath(name));
    await untilFace(api, name, face);
    assert.equal(await hasLease(api, name), false);
  });

  test('does not wait for the maintenance of another node that is blocked', async () => {
    const names = ['crowd-1', 'crowd-2', 'crowd-3', 'crowd-4', 'crowd-5', 'crowd-6'];
    await create(api, namespace('crowd'));
    await Promise.all(names.map(name => makeNode(api, name)));
    await create(api, ...names.map(name => podAt(name, `on-${name}`, { namespace: 'crowd' })));
    await create(api, budget('on-crowd-1', { namespace: 'crowd', minAvailable: 1 }));
    await podsReady(api, 'crowd', names.length);
    await budgetAllows(api, 'crowd', 'on-crowd-1', 0);
    await create(api, ...names.map(name => seed(name)));
    for (const name of names.slice(1)) await untilSeed(api, name, 'Succeeded');
    await untilSeed(
      api,
      'crowd-1',
      'Running',
      ({ pendingPods }) => pendingPods?.[0] === 'on-crowd-1',
    );
    assert.deepEqual(await namesOn(api, 'crowd-1'), ['on-crowd-1']);
    for (const name of names) await remove(api, seedPath(name));
    assert.deepEqual(await namesOn(api, 'crowd-1'), ['on-crowd-1']);
  });

  test('that a budget blocks goes on running, and on as soon as the budget allows it', async () => {
    const name = 'blocked';
    await makeNode(api, name);
    await create(
      api,
      namespace(name),
      deployment('web', { namespace: name, onNodes: [name], replicas: 2 }),
    );
    await create(api, budget('web', { namespace: name, minAvailable: 2 }));
    await podsReady(api, name, 2);
    await budgetAllows(api, name, 'web', 0);
    const mark = harness.controlPlane.audit.mark();
    await create(api, seed(name));
    const blocked = await untilSeed(
      api,
      name,
      'Running',
      ({ pendingPods }) => pendingPods?.length === 2,
    );
    assert.equal(blocked.evictionPods, 2);
    await api.patch(seedPath(name), { spec: { reason: 'edited meanwhile' } });
    await editNode(api, name, { metadata: { labels: { look: 'again' } } });
    assert.deepEqual(
      await podCalls(harness, mark, [name]),
      [],
      'a budget that allows nothing is not asked',
    );
    await api.patch(`/apis/policy/v1/namespaces/${name}/poddisruptionbudgets/web`, {
      spec: { minAvailable: 0 },
    });
    const done = await untilSeed(api, name, 'Succeeded');
    assert.deepEqual([done.drainProgress, done.pendingPods], [100, undefined]);
    assert.deepEqual(
      (await podCalls(harness, mark, [name])).map(call => call.replace(/web-\S+/, 'web')),
      ['evict web 201', 'evict web 201'],
    );
    assert.equal(
      (await api.get<{ readonly spec: { readonly reason: string } }>(seedPath(name))).spec.reason,
      'edited meanwhile',
    );
    await remove(api, seedPath(name));
  });

  test('never evicts more than a budget allows', async () => {
    const name = 'in-step';
    await Promise.all([makeNode(api, name), makeNode(api, 'in-step-2')]);
    await create(
      api,
      namespace(name),
      deployment('web', { namespace: name, onNodes: [name], replicas: 4 }),
    );
    await create(api, budget('web', { namespace: name, maxUnavailable: 2 }));
    await podsReady(api, name, 4);
    await budgetAllows(api, name, 'web', 2);
    const mark = harness.controlPlane.audit.mark();
    await create(api, seed(name));
    // What was evicted cannot come back here, so the budget is used up.
    const status = await untilSeed(
      api,
      name,
      'Running',
      ({ pendingPods }) => pendingPods?.length === 2,
    );
    assert.equal(status.drainProgress, 50);
    await budgetAllows(api, name, 'web', 0);
    const calls = await podCalls(harness, mark, [name]);
    assert.equal(calls.filter(call => call.endsWith(' 201')).length, 2, calls.join(', '));
    assert.equal((await podsOn(api, name)).length, 2);
    await remove(api, seedPath(name));
    await podsReady(api, name, 4);
  });

  test('evicts what kubectl drain would, and leaves DaemonSet and mirror pods where they are', async () => {
    const name = 'menagerie';
    await makeNode(api, name);
    const there = { namespace: name };
    await create(
      api,
      namespace(name),
      daemonSet('agent', { ...there, onNodes: [name] }),
      podAt(name, 'mirror', { ...there, annotations: { 'kubernetes.io/config.mirror': 'abc' } }),
      podAt(name, 'finished', { ...there, annotations: { 'drydock.test/done-after': '100ms' } }),
      podAt(name, 'bare', there),
      podAt(name, 'local', { ...there, localData: true }),
      deployment('web', { ...there, onNodes: [name] }),
    );
    await untilPods(api, name, 6);
    await until(
      'one pod to be over',
      async () => (await getPod<Pod>(api, name, 'finished')).status.phase === 'Succeeded',
    );
    const mark = harness.controlPlane.audit.mark();
    await create(api, seed(name));
    const status = await untilSeed(api, name, 'Succeeded');
    assert.deepEqual([status.totalpods, status.evictionPods], [6, 4]);
    const left = await namesOn(api, name);
    assert.equal(left.length, 2);
    assert.match(left[0] ?? '', /^agent-/);
    assert.equal(left[1], 'mirror');
    const calls = (await podCalls(harness, mark, [name])).map(call =>
      call.replace(/web-\S+/, 'web'),
    );
    assert.deepEqual(calls.toSorted(), [
      'evict bare 201',
      'evict finished 201',
      'evict local 201',
      'evict web 201',
    ]);
    await remove(api, seedPath(name));
  });

  test('evicts a DaemonSet pod whose DaemonSet is gone', async () => {
    const name = 'orphaned';
    await makeNode(api, name);
    await keepFromGarbageCollector(name);
    const ownerReferences = [
      {
        apiVersion: 'apps/v1',
        kind: 'DaemonSet',
        name: 'gone',
        uid: '11111111-2222-3333-4444-555555555555',
        controller: true,
      },
    ];
    await create(
      api,
      withMetadata(podAt(name, 'orphan', { namespace: name }), { ownerReferences }),
    );
    await untilPods(api, name, 1);
    const mark = harness.controlPlane.audit.mark();
    await create(api, seed(name));
    await untilSeed(api, name, 'Succeeded');
    assert.deepEqual(await podCalls(harness, mark, [name]), ['evict orphan 201']);
    await untilNames(api, name, []);
    await remove(api, seedPath(name));
  });

  /**
   * Pods of this namespace whose owner is missing stay: the garbage collector may not delete them.
   */
  const keepFromGarbageCollector = async (name: string): Promise<void> => {
    const admission = 'admissionregistration.k8s.io/v1';
    await create(
      api,
      namespace(name),
      {
        apiVersion: admission,
        kind: 'ValidatingAdmissionPolicy',
        metadata: { name },
        spec: {
          matchConstraints: {
            resourceRules: [
              { apiGroups: [''], apiVersions: ['v1'], operations: ['DELETE'], resources: ['pods'] },
            ],
          },
          validations: [
            {
              expression: `request.namespace != "${name}" || request.userInfo.username != "kube-controller-manager"`,
            },
          ],
        },
      },
      {
        apiVersion: admission,
        kind: 'ValidatingAdmissionPolicyBinding',
        metadata: { name },
        spec: { policyName: name, validationActions: ['Deny'] },
      },
      podAt('nowhere', 'probe', { namespace: name }),
    );
    const collector = harness.controlPlane.apiOf('kube-controller-manager', 1);
    const path = `/api/v1/namespaces/${name}/pods/probe?dryRun=All`;
    await until(
      'the garbage collector to be kept out',
      async () => (await collector.call('DELETE', path)).status >= 400,
    );
    await killPod(api, name, 'probe');
  };

  test('gets its work done while somebody else changes the node all the time', async () => {
    const name = 'busy';
    const face = await makeNode(api, name);
    await create(api, namespace(name), podAt(name, 'one', { namespace: name }));
    await untilPods(api, name, 1);
    const done = new AbortController();
    const scribble = async (): Promise<number> => {
      let count = 0;
      for (; !done.signal.aborted; count += 1)
        await editNode(api, name, { metadata: { labels: { count: String(count) } } });
      return count;
    };
    const scribbling = scribble();
    await create(api, seed(name));
    await untilSeed(api, name, 'Succeeded');
    await untilHeld(api, name);
    await remove(api, seedPath(name));
    done.abort();
    const last = (await scribbling) - 1;
    assert.ok(last > 10, `${last} changes are enough to get in the way`);
    assert.equal(
      (await getNode(api, name)).metadata.labels?.['count'],
      String(last),
      'none of them was lost',
    );
    await editNode(api, name, { metadata: { labels: { count: null } } });
    await untilFace(api, name, face);
  });

  test('does not evict the successor of the same name that a StatefulSet makes elsewhere', async () => {
    const name = 'stateful';
    await makeNode(api, name);
    await create(
      api,
      namespace(name),
      statefulSet('db', { namespace: name, onNodes: [name, 'stateful-2'], replicas: 2 }),
    );
    await podsReady(api, name, 2);
    await makeNode(api, 'stateful-2');
    const before = await pods(api, name);
    const mark = harness.controlPlane.audit.mark();
    await create(api, seed(name));
    await untilSeed(api, name, 'Succeeded');
    const successors = await podsReady(api, name, 2);
    await api.patch(seedPath(name), { spec: { reason: 'look again' } });
    await untilSeed(api, name, 'Succeeded');
    assert.deepEqual((await podCalls(harness, mark, [name])).toSorted(), [
      'evict db-0 201',
      'evict db-1 201',
    ]);
    const old = new Set(before.map(({ metadata }) => metadata.uid));
    assert.ok(
      successors.every(
        ({ metadata, spec }) => !old.has(metadata.uid) && spec.nodeName === 'stateful-2',
      ),
    );
    assert.deepEqual(
      (await pods(api, name)).map(({ metadata }) => metadata.uid),
      successors.map(({ metadata }) => metadata.uid),
    );
    await remove(api, seedPath(name));
  });
});
