import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, describe, test } from 'node:test';
import { tally } from '../control-plane/audit.ts';
import {
  budgetAllows,
  create,
  getNode,
  podsOn,
  podsReady,
} from '../control-plane/objects/cluster.ts';
import { budget, deployment, namespace } from '../control-plane/objects/manifests.ts';
import type { Metadata } from '../control-plane/objects/objects.ts';
import { until, waitFor } from '../control-plane/wait.ts';
import {
  drydock,
  type OperatorHarness,
  type OperatorProcess,
  skipOf,
  startHarness,
} from './harness/harness.ts';
import {
  countsOf,
  editNode,
  excludeLabel,
  faceOf,
  hasLease,
  isHeld,
  killPod,
  type Lease,
  leaseOf,
  type Maintenance,
  maintenance,
  maintenancePath,
  makeNode,
  type NodeMaintenance,
  namesOn,
  nodePatches,
  podAt,
  podCalls,
  remove,
  seed,
  seedPath,
  takeLease,
  untilEvent,
  untilFace,
  untilGone,
  untilHeld,
  untilMaintenance,
  untilPods,
  untilSeed,
  withMetadata,
} from './harness/look.ts';

/**
 * The life of the operator's process: its start, its end, its death, and what it finds when it
 * comes back. One test after the other.
 */

const started = await startHarness();
const skip = skipOf(started);
const harness = started as OperatorHarness;

const finalizer = 'foregroundDeleteNodeMaintenance';

describe('the operator process', { skip, timeout: 180_000 }, () => {
  const { api } = harness;
  let operator: OperatorProcess;
  /** The one that follows asks for short leases, so that their renewal can be seen. */
  const restart = async (signal: 'SIGTERM' | 'SIGKILL'): Promise<number> => {
    await operator.running.signal(signal);
    const code = await operator.running.ended;
    operator = await harness.startOperator({ flags: ['--node-lease-duration-seconds=8'] });
    return code;
  };
  const uidOf = async (
    path: string,
  ): Promise<{ readonly uid: string; readonly resourceVersion: string }> =>
    (await api.get<{ readonly metadata: Metadata }>(path)).metadata;

  after(() => harness.stop());

  /**
   * An object and a node as the operator before left them: no record of what was there, no mark of
   * whose it is.
   */
  const leftBehind = async (name: string): Promise<object> => {
    const face = await makeNode(api, name);
    await create(api, withMetadata(seed(name), { finalizers: [finalizer] }));
    const status = {
      phase: 'Succeeded',
      drainProgress: 100,
      evictionPods: 3,
      totalpods: 5,
      lastUpdate: '2026-01-02T03:04:05Z',
    };
    await api.patch(`${seedPath(name)}/status`, { status });
    const taints = ['node.kubernetes.io/unschedulable', 'medik8s.io/drain'].map(key => ({
      key,
      effect: 'NoSchedule',
    }));
    await editNode(api, name, {
      metadata: { labels: { [excludeLabel]: 'true' } },
      spec: { unschedulable: true, taints },
    });
    await takeLease(api, name, 'node-maintenance');
    return face;
  };

  test('takes over what the operator before has left behind, in whatever state', async () => {
    const faces = { alive: await leftBehind('alive'), dying: await leftBehind('dying') };
    await api.delete(seedPath('dying'));
    const mark = harness.controlPlane.audit.mark();
    const lease = await leaseOf(api, 'alive');
    operator = await harness.startOperator();
    await untilGone(api, seedPath('dying'));
    await untilFace(api, 'dying', faces.dying);
    assert.equal(await hasLease(api, 'dying'), false);

    await until('the object to be claimed', async () => {
      const { metadata } = await api.get<NodeMaintenance>(seedPath('alive'));
      return metadata.annotations?.['drydock.dev/claim'] === 'taken-over';
    });
    await until('the node to have a record', async () => {
      const found = await getNode(api, 'alive');
      return found.metadata.annotations?.['drydock.dev/before'] !== undefined;
    });
    const { status } = await api.get<NodeMaintenance>(seedPath('alive'));
    assert.equal(status?.phase, 'Succeeded');
    assert.equal(isHeld(await getNode(api, 'alive')), true);
    const { metadata, spec } = await leaseOf(api, 'alive');
    assert.deepEqual(
      [metadata.uid, spec.acquireTime, spec.leaseTransitions],
      [lease.metadata.uid, lease.spec.acquireTime, 1],
    );
    assert.equal(
      (await nodePatches(harness, mark, 'alive')).filter(({ subresource }) => subresource === '')
        .length,
      1,
    );
    const { uid } = await uidOf(seedPath('alive'));
    await remove(api, seedPath('alive'));
    await untilFace(api, 'alive', faces.alive);
    assert.equal(await hasLease(api, 'alive'), false);
    await untilEvent(api, uid, 'RemovedMaintenance');
    assert.deepEqual(
      await countsOf(api, uid),
      { RemovedMaintenance: 1 },
      'it has begun and succeeded before',
    );
  });

  test('ends a drain on its own when a pod has been terminating for as long as it may', async () => {
    const name = 'impatient';
    await makeNode(api, name);
    const spec = { terminationGracePeriodSeconds: 1 };
    await create(
      api,
      namespace(name),
      podAt(name, 'zombie', {
        namespace: name,
        annotations: { 'drydock.test/never-gone': 'true' },
        spec,
      }),
    );
    await untilPods(api, name, 1);
    await create(api, maintenance(name, { drain: { skipWaitForDeleteTimeoutSeconds: 13 } }));
    await untilMaintenance(
      api,
      name,
      'Draining',
      ({ blockers }) => blockers?.[0]?.reason === 'Terminating',
    );
    const drained = async (): Promise<boolean> =>
      (await api.get<Maintenance>(maintenancePath(name))).status?.phase === 'Drained';
    await until('the drain to be over although the pod is there', drained, { deadlineMs: 22_000 });
    assert.deepEqual(await namesOn(api, name), ['zombie']);
    await killPod(api, name, 'zombie');
    await remove(api, maintenancePath(name));
  });

  test('renews the lease of a held node for as long as the hold lasts', async () => {
    const name = 'renewed';
    await restart('SIGTERM');
    await makeNode(api, name);
    await create(api, seed(name));
    await untilSeed(api, name, 'Succeeded');
    const first = await leaseOf(api, name);
    assert.equal(first.spec.leaseDurationSeconds, 8);
    const { resourceVersion } = await uidOf(seedPath(name));
    const later = async (before: Lease): Promise<Lease> => {
      await until(
        'the lease to be renewed',
        async () => (await leaseOf(api, name)).spec.renewTime !== before.spec.renewTime,
      );
      return leaseOf(api, name);
    };
    const second = await later(first);
    const third = await later(second);
    for (const [before, after] of [[first, second] as const, [second, third] as const]) {
      const [was = '', is = ''] = [before.spec.renewTime, after.spec.renewTime];
      assert.ok(
        Date.parse(is) > Date.parse(was) && Date.parse(is) < Date.parse(was) + 8000,
        `${is} comes in time after ${was}`,
      );
      assert.deepEqual(
        { ...after.spec, renewTime: undefined },
        { ...before.spec, renewTime: undefined },
      );
    }
    assert.equal(
      (await uidOf(seedPath(name))).resourceVersion,
      resourceVersion,
      'nothing was written to the object for it',
    );
    await remove(api, seedPath(name));
  });

  test('leaves everything as it is when it is stopped and started again', async () => {
    const name = 'kept';
    const face = await makeNode(api, name);
    await create(api, namespace(name), podAt(name, 'one', { namespace: name }));
    await untilPods(api, name, 1);
    await create(api, seed(name));
    await untilSeed(api, name, 'Succeeded');
    const { uid, resourceVersion } = await uidOf(seedPath(name));
    await untilEvent(api, uid, 'SucceedMaintenance');
    const held = faceOf(await untilHeld(api, name));
    const mark = harness.controlPlane.audit.mark();
    assert.equal(await restart('SIGTERM'), 0, 'it ends well');
    assert.deepEqual(faceOf(await getNode(api, name)), held);
    // Another node is dealt with, so this one has been looked at as well.
    await makeNode(api, 'kept-other');
    await create(api, seed('kept-other'));
    await untilSeed(api, 'kept-other', 'Succeeded');
    assert.deepEqual(await nodePatches(harness, mark, name), []);
    assert.equal((await uidOf(seedPath(name))).resourceVersion, resourceVersion);
    await remove(api, seedPath(name));
    await untilFace(api, name, face);
    await untilEvent(api, uid, 'RemovedMaintenance');
    assert.deepEqual(await countsOf(api, uid), {
      BeginMaintenance: 1,
      SucceedMaintenance: 1,
      RemovedMaintenance: 1,
    });
    await remove(api, seedPath('kept-other'));
  });

  test('goes on where it was when it is killed in mid-drain, and counts on', async () => {
    const name = 'killed';
    await makeNode(api, name);
    await create(
      api,
      namespace(name),
      deployment('web', { namespace: name, onNodes: [name], replicas: 3 }),
    );
    await create(api, budget('web', { namespace: name, maxUnavailable: 1 }));
    await podsReady(api, name, 3);
    await budgetAllows(api, name, 'web', 1);
    const mark = harness.controlPlane.audit.mark();
    await create(api, seed(name), maintenance(name));
    await untilMaintenance(api, name, 'Draining', ({ pods }) => pods?.gone === 1);
    await untilSeed(api, name, 'Running', ({ drainProgress }) => drainProgress === 33);
    const { status: before } = await api.get<Maintenance>(maintenancePath(name));
    assert.notEqual(await restart('SIGKILL'), 0);
    await api.patch(`/apis/policy/v1/namespaces/${name}/poddisruptionbudgets/web`, {
      spec: { maxUnavailable: 3 },
    });
    const done = await untilMaintenance(api, name, 'Drained');
    assert.deepEqual(
      { ...done.pods, total: undefined },
      { toEvict: 3, gone: 3, waiting: 0, total: undefined },
    );
    assert.equal(done.startTime, before?.startTime);
    const status = await untilSeed(api, name, 'Succeeded');
    assert.deepEqual([status.evictionPods, status.drainProgress], [3, 100]);
    assert.equal(
      (await podCalls(harness, mark, [name])).filter(call => call.endsWith(' 201')).length,
      3,
    );
    assert.equal((await podsOn(api, name)).length, 0);
    const { uid } = await uidOf(seedPath(name));
    await remove(api, seedPath(name));
    await remove(api, maintenancePath(name));
    await untilEvent(api, uid, 'RemovedMaintenance');
    assert.deepEqual(await countsOf(api, uid), {
      BeginMaintenance: 1,
      SucceedMaintenance: 1,
      RemovedMaintenance: 1,
    });
  });

  test('says that it is well and ready, and counts what it does', async () => {
    const name = 'counted';
    await makeNode(api, name);
    await create(
      api,
      namespace(name),
      podAt(name, 'one', { namespace: name }),
      podAt(name, 'two', { namespace: name }),
    );
    await untilPods(api, name, 2);
    const series = async (name: string): Promise<number> => {
      const text = await (await fetch(operator.metrics)).text();
      const line = text.split('\n').find(line => line.startsWith(`${name} `));
      return line === undefined ? 0 : Number(line.slice(name.length + 1));
    };
    const accepted = 'drydock_evictions_total{method="evict",outcome="accepted"}';
    const before = await series(accepted);
    const mark = harness.controlPlane.audit.mark();
    await create(api, maintenance(name));
    await untilMaintenance(api, name, 'Drained');
    const { evictions } = tally(await harness.controlPlane.audit.since(mark, 'drydock'));
    assert.equal(evictions.accepted, 2);
    assert.equal(await series(accepted), before + evictions.accepted);
    await waitFor('the gauges to say what is', async () => {
      const [drained, held, leads, unsynced] = [
        await series('drydock_maintenances{kind="Maintenance",state="Drained"}'),
        await series('drydock_held_nodes'),
        await series('drydock_leader'),
        await series('drydock_unsynced_collections'),
      ];
      const isRight = drained === 1 && held === 1 && leads === 1 && unsynced === 0;
      return isRight
        ? { done: undefined }
        : { yet: JSON.stringify({ drained, held, leads, unsynced }) };
    });
    assert.ok((await series('drydock_writes_total{store="nodes",result="stored"}')) > 0);
    for (const page of ['healthz', 'readyz']) {
      const answer = await fetch(`${operator.health}/${page}`);
      assert.deepEqual([answer.status, await answer.text()], [200, 'ok\n']);
    }
    assert.equal((await fetch(`${operator.health}/nothing`)).status, 404);
    assert.equal((await fetch(`${operator.health}/healthz`, { method: 'POST' })).status, 405);
    await remove(api, maintenancePath(name));
  });

  test('ends with 2 and one line that names the flag when it is called wrongly', async () => {
    const wrong = [
      [
        '--metrics-bind-address=nonsense',
        /invalid value "nonsense" for --metrics-bind-address: expected host:port/,
      ],
      [
        '--leader-elect=perhaps',
        /invalid value "perhaps" for --leader-elect: expected true or false/,
      ],
      [
        '--node-lease-duration-seconds=2',
        /invalid value "2" for --node-lease-duration-seconds: expected a whole number/,
      ],
      ['--zap-log-level=loud', /invalid value "loud" for --zap-log-level: expected debug/],
      ['--kubeconfig=/there/is/none', /\/there\/is\/none/],
    ] as const;
    for (const [flag, text] of wrong) {
      const { code, stdout, stderr } = await drydock([
        'operator',
        '--kubeconfig',
        harness.controlPlane.kubeconfig,
        flag,
      ]);
      assert.deepEqual([code, stdout], [2, ''], `${flag}: ${stderr}`);
      assert.match(stderr, text);
      assert.match(stderr, /^drydock: [^\n]*\n$/, 'one line');
    }
    const unknown = await drydock(['operator', '--no-such-flag']);
    assert.equal(unknown.code, 2);
    assert.match(unknown.stderr, /unknown option '--no-such-flag'/);
  });

  test('acts alone among several, hands over when it is stopped, and is replaced when it is killed', async () => {
    await operator.running.stop();
    const flags = [
      '--leader-elect',
      '--leader-election-namespace',
      'drydock-system',
      '--node-lease-duration-seconds=8',
    ];
    const leaderPath =
      '/apis/coordination.k8s.io/v1/namespaces/drydock-system/leases/135b1886.medik8s.io';
    const holder = async (): Promise<string> =>
      (await api.get<Lease>(leaderPath)).spec.holderIdentity ?? '';
    const leads = async ({ metrics }: OperatorProcess): Promise<boolean> =>
      /^drydock_leader 1$/m.test(await (await fetch(metrics)).text());
    /** Everything that a user has changed since the mark, beside the lease of the leader. */
    const changes = async (mark: number, user: string): Promise<readonly string[]> =>
      (await harness.controlPlane.audit.since(mark, user))
        .filter(
          ({ verb, path }) =>
            !['get', 'list', 'watch'].includes(verb) &&
            !path.includes('/namespaces/drydock-system/leases'),
        )
        .map(({ verb, path }) => `${verb} ${path}`);
    const serve = async (name: string): Promise<void> => {
      await makeNode(api, name);
      await create(api, seed(name));
      await untilSeed(api, name, 'Succeeded');
      await untilHeld(api, name);
    };

    const mark = harness.controlPlane.audit.mark();
    const first = await harness.startOperator({ flags });
    await until('the first one to lead', () => leads(first));
    const second = await harness.startOperator({ flags, user: 'second' });
    await serve('led-1');
    assert.equal(await leads(second), false);
    assert.deepEqual(await changes(mark, 'second'), [], 'who does not lead changes nothing');
    const before = await holder();
    assert.notEqual(before, '');

    const handed = harness.controlPlane.audit.mark();
    await first.running.signal('SIGTERM');
    assert.equal(await first.running.ended, 0);
    assert.notEqual(await holder(), before, 'it has given the lease back before it ended');
    await until('the second one to lead', () => leads(second));
    await serve('led-2');
    assert.deepEqual(
      await changes(handed, 'drydock').then(all => all.filter(change => change.includes('led-2'))),
      [],
    );
    assert.notDeepEqual(await changes(handed, 'second'), []);

    const third = await harness.startOperator({ flags });
    const killed = harness.controlPlane.audit.mark();
    await second.running.signal('SIGKILL');
    await second.running.ended;
    await until('the third one to lead', () => leads(third), { deadlineMs: 60_000 });
    await serve('led-3');
    assert.deepEqual(
      await nodePatches(harness, killed, 'led-1'),
      [],
      'nobody lost its hold on the way',
    );
    for (const name of ['led-1', 'led-2', 'led-3']) await remove(api, seedPath(name));
    const log = readFileSync(third.running.logFile, 'utf8');
    assert.match(log, /"msg":"leading"/);
  });
});
