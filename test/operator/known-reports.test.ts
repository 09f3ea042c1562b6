import assert from 'node:assert/strict';
import { after, before, describe, type TestContext, test } from 'node:test';
import type { MaintenanceStatus } from '@drydock/apis/schema';
import { Hooks } from '../conformance/hook.ts';
import { create, getNode, podsOn } from '../control-plane/objects/cluster.ts';
import {
  budget,
  deployment,
  job,
  type Manifest,
  namespace,
  statefulSet,
} from '../control-plane/objects/manifests.ts';
import type { Metadata } from '../control-plane/objects/objects.ts';
import { until, waitFor } from '../control-plane/wait.ts';
import { type OperatorHarness, skipOf, startHarness } from './harness/harness.ts';
import { lackingEmbedded } from './harness/lacking.ts';
import {
  attachment,
  editNode,
  eventsOf,
  getPod,
  leasePath,
  maintenance,
  maintenancePath,
  makeNode,
  namesOn,
  podAt,
  seed,
  seedPath,
  storage,
  untilMaintenance,
  untilPods,
  withMetadata,
} from './harness/look.ts';

/**
 * What people have reported of tools that drain nodes (docs/known-reports.md), played on a real
 * control plane: each has a node and a namespace of its own.
 */

const started = await startHarness();
const skip = skipOf(started);
const harness = started as OperatorHarness;

type Blocker = NonNullable<MaintenanceStatus['blockers']>[number];
type Leaving = { readonly metadata: Metadata & { readonly deletionGracePeriodSeconds?: number } };

const registration = '/apis/admissionregistration.k8s.io/v1';
const evictions = [
  { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods/eviction'] },
];

describe('known reports', { skip, concurrency: 10, timeout: 240_000 }, () => {
  const { api } = harness;
  let hooks: Hooks;

  before(async () => {
    hooks = await Hooks.start(harness.controlPlane.folder);
    await harness.startOperator();
  });
  after(async () => {
    await harness.stop();
    await hooks.stop();
  });

  const prepare = async (name: string, ...objects: readonly Manifest[]): Promise<void> => {
    await makeNode(api, name);
    await create(api, namespace(name), ...objects);
  };
  const statusOf = async (name: string): Promise<MaintenanceStatus> =>
    (await api.get<{ readonly status?: MaintenanceStatus }>(maintenancePath(name))).status ?? {};
  const blockerOf = (
    name: string,
    isWanted: (blocker: Blocker) => boolean = () => true,
    deadlineMs = 60_000,
  ): Promise<Blocker> =>
    waitFor(
      `a blocker of ${name}`,
      async () => {
        const status = await statusOf(name);
        const found = status.blockers?.find(isWanted);
        return found === undefined ? { yet: JSON.stringify(status) } : { done: found };
      },
      { deadlineMs },
    );
  /** What `drydock why` says, on record with the test. */
  const why = async (t: TestContext, ...args: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await harness.drydock('why', ...args);
    t.diagnostic(`drydock why ${args.join(' ')}: ${stdout.trim()}${stderr.trim()}`);
    assert.equal(code, 0, stderr);
    return stdout;
  };
  const graceOf = async (name: string, pod: string): Promise<number | undefined> =>
    (await getPod<Leaving>(api, name, pod)).metadata.deletionGracePeriodSeconds;
  const long = (name: string, seconds: number): Manifest =>
    podAt(name, 'slow', {
      namespace: name,
      annotations: { 'drydock.test/never-gone': 'true' },
      spec: { terminationGracePeriodSeconds: seconds },
    });

  test('a pod that is terminating already is in reach of the ladder, whoever has begun it', async t => {
    const name = 'reach-ladder';
    await prepare(name, long(name, 3600));
    await untilPods(api, name, 1);
    await api.delete(`/api/v1/namespaces/${name}/pods/slow`);
    assert.equal(await graceOf(name, 'slow'), 3600);
    await create(
      api,
      maintenance(name, {
        drain: { ladder: [{ afterSeconds: 6, action: 'Delete', gracePeriodSeconds: 10 }] },
      }),
    );
    const { message, remedy } = await blockerOf(name, ({ reason }) => reason === 'Terminating');
    assert.match(message, /^is terminating, and has until .* \(grace period 3600 s\)$/);
    assert.match(remedy ?? '', /drain\.ladder/);
    await why(t, name);
    await until(
      'the grace period to be shortened',
      async () => (await graceOf(name, 'slow')) === 10,
    );
  });

  test('and of a shorter grace period, as with kubectl', async () => {
    const sides = { kubectl: 'reach-kubectl', drydock: 'reach-drydock' };
    for (const name of Object.values(sides)) {
      await prepare(name, long(name, 3600));
      await untilPods(api, name, 1);
      await api.delete(`/api/v1/namespaces/${name}/pods/slow`);
    }
    const flags = ['--force', '--grace-period=5', '--timeout=4s'];
    if (harness.lacksKubectl === false)
      await harness.controlPlane.kubectl(['drain', sides.kubectl, ...flags]);
    await harness.drydock('drain', sides.drydock, ...flags);
    // The API server says 1 where the shorter time is over already.
    for (const side of harness.lacksKubectl === false
      ? (['drydock', 'kubectl'] as const)
      : (['drydock'] as const)) {
      const grace = await graceOf(sides[side], 'slow');
      assert.ok(grace === 5 || grace === 1, `${side}: ${grace}`);
    }
  });

  test('and of a drain that deletes: the time that the pod asks for, where somebody gave it more', async () => {
    const name = 'reach-delete';
    await prepare(name, long(name, 20));
    await untilPods(api, name, 1);
    await api.delete(`/api/v1/namespaces/${name}/pods/slow`, {
      apiVersion: 'v1',
      kind: 'DeleteOptions',
      gracePeriodSeconds: 7200,
    });
    await create(api, maintenance(name, { drain: { disableEviction: true } }));
    await until(
      'the grace period to be shortened',
      async () => (await graceOf(name, 'slow')) === 20,
    );
  });

  test('a pod is waited for as long past its deletionTimestamp as --skip-wait-for-delete-timeout says, as with kubectl', async () => {
    const sides = { kubectl: 'skip-kubectl', drydock: 'skip-drydock' };
    const seconds: Record<string, number> = {};
    const drain = async (side: keyof typeof sides): Promise<void> => {
      const name = sides[side];
      await prepare(name, long(name, 10));
      await untilPods(api, name, 1);
      const args = ['drain', name, '--force', '--skip-wait-for-delete-timeout=3'];
      const begun = performance.now();
      const { code, stderr } =
        side === 'kubectl'
          ? await harness.controlPlane.kubectl(args)
          : await harness.drydock(...args);
      seconds[side] = (performance.now() - begun) / 1000;
      assert.equal(code, 0, stderr);
    };
    const kubectl = harness.lacksKubectl === false ? (['kubectl'] as const) : [];
    await Promise.all([...kubectl, 'drydock' as const].map(drain));
    for (const [side, took] of Object.entries(seconds))
      assert.ok(took > 13 && took < 25, `${side}: ${took} s`);
  });

  test('a Lease that an operator has left behind slows nothing: pods that were there are no late ones', async () => {
    const name = 'old-lease';
    await makeNode(api, name);
    await api.post(leasePath(name).replace(/\/[^/]+$/, ''), {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name: `node-${name}` },
      spec: {
        holderIdentity: 'node-maintenance',
        leaseDurationSeconds: 3600,
        acquireTime: '2026-01-01T00:00:00.000000Z',
        renewTime: '2026-01-01T00:00:00.000000Z',
      },
    });
    const there = { namespace: name, spec: { nodeSelector: { 'kubernetes.io/hostname': name } } };
    await create(api, namespace(name), deployment('web', { ...there, replicas: 6 }));
    await untilPods(api, name, 6);
    const begun = performance.now();
    await create(api, maintenance(name));
    await untilMaintenance(api, name, 'Drained');
    assert.ok(performance.now() - begun < 20_000);
  });

  test('an eviction that is accepted and changes nothing is told', {
    skip: lackingEmbedded('mutating webhooks'),
  }, async t => {
    const name = 'ignored';
    await prepare(name, podAt(name, 'one', { namespace: name }));
    await untilPods(api, name, 1);
    const patch = [{ op: 'add', path: '/deleteOptions', value: { dryRun: ['All'] } }];
    const response = {
      allowed: true,
      patchType: 'JSONPatch',
      patch: Buffer.from(JSON.stringify(patch)).toString('base64'),
    };
    await api.post(`${registration}/mutatingwebhookconfigurations`, {
      metadata: { name },
      webhooks: [
        {
          name: 'graceful.shop.example.test',
          clientConfig: hooks.at(`/${name}`, () => ({ response })),
          rules: evictions,
          sideEffects: 'None',
          admissionReviewVersions: ['v1'],
          namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': name } },
        },
      ],
    });
    const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'one' } };
    await until('evictions to change nothing', async () => {
      await api.call('POST', `/api/v1/namespaces/${name}/pods/one/eviction?dryRun=All`, eviction);
      return true;
    });
    await create(api, maintenance(name));
    const { message, remedy } = await blockerOf(name, ({ reason }) => reason === 'EvictionIgnored');
    assert.match(message, /was accepted.*and it is not being deleted/);
    assert.match(remedy ?? '', /mutatingwebhookconfigurations/);
    assert.match(await why(t, 'one', '-n', name), /EvictionIgnored/);
  });

  test('what an answer has taught stays while the pod is asked for again: blocker, since and one event', async t => {
    const name = 'taught';
    await prepare(name, podAt(name, 'one', { namespace: name }));
    await untilPods(api, name, 1);
    await api.post(`${registration}/validatingadmissionpolicies`, {
      metadata: { name },
      spec: {
        matchConstraints: {
          resourceRules: evictions,
          namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': name } },
        },
        validations: [{ expression: 'false', message: 'month-end closing' }],
      },
    });
    await api.post(`${registration}/validatingadmissionpolicybindings`, {
      metadata: { name },
      spec: { policyName: name, validationActions: ['Deny'] },
    });
    const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'one' } };
    await until(
      'evictions to be refused',
      async () =>
        (
          await api.call(
            'POST',
            `/api/v1/namespaces/${name}/pods/one/eviction?dryRun=All`,
            eviction,
          )
        ).status === 422,
    );
    await create(api, maintenance(name));
    const first = await blockerOf(name);
    for (let round = 0; round < 40; round += 1) {
      const { blockers = [] } = await statusOf(name);
      assert.deepEqual(
        blockers.map(({ reason, startTime }) => [reason, startTime]),
        [[first.reason, first.startTime]],
      );
      await new Promise(resolve => void setTimeout(resolve, 500));
    }
    const { metadata } = await api.get<{ readonly metadata: { readonly uid: string } }>(
      maintenancePath(name),
    );
    const counts = (await eventsOf(api, metadata.uid))
      .filter(({ reason }) => reason === 'DrainBlocked')
      .map(({ count }) => count);
    assert.deepEqual(counts, [1]);
    assert.match(await why(t, 'one', '-n', name), /AdmissionDenied/);
  });

  test('a volume that is not detached: its driver and what that says; the time limit holds for it', async t => {
    const name = 'stuck-volume';
    const volumes = [{ name: 'data', persistentVolumeClaim: { claimName: name } }];
    await prepare(
      name,
      ...storage(name, name),
      withMetadata(attachment(name, name), { finalizers: ['attacher/nobody'] }),
    );
    await create(api, podAt(name, 'db', { namespace: name, spec: { volumes } }));
    await untilPods(api, name, 1);
    const path = `/apis/storage.k8s.io/v1/volumeattachments/attached-${name}`;
    const detachError = { time: '2026-11-27T10:00:00Z', message: 'volume vol-1 is busy' };
    await api.call(
      'PATCH',
      `${path}/status`,
      { status: { attached: true, detachError } },
      'application/merge-patch+json',
    );
    await create(api, maintenance(name, { drain: { timeoutSeconds: 8 } }));
    const { message, remedy } = await blockerOf(name, ({ volume }) => volume === name);
    assert.match(
      message,
      /its driver nobody\.example\.test cannot detach it: volume vol-1 is busy/,
    );
    assert.match(remedy ?? '', new RegExp(`kubectl describe volumeattachment attached-${name}`));
    await why(t, name);
    const { failure, blockers } = await untilMaintenance(api, name, 'Failed');
    assert.deepEqual(
      [failure, blockers?.map(({ volume }) => volume)],
      ['DeadlineExceeded', [name]],
    );
    await api.patch(path, { metadata: { finalizers: null } });
  });

  test('a budget that an operator keeps is waited for; one over a Job waits for the Job', async t => {
    const [kept, guarded] = ['kept-budget', 'guarded-job'];
    await prepare(
      kept,
      deployment('osd', {
        namespace: kept,
        spec: { nodeSelector: { 'kubernetes.io/hostname': kept } },
      }),
    );
    const owner = await api.post<{ readonly metadata: { readonly uid: string } }>(
      `/api/v1/namespaces/${kept}/configmaps`,
      {
        metadata: { name: 'cluster' },
      },
    );
    const ownerReferences = [
      {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        name: 'cluster',
        uid: owner.metadata.uid,
        controller: true,
      },
    ];
    await create(
      api,
      withMetadata(budget('osd', { namespace: kept, maxUnavailable: 0 }), { ownerReferences }),
    );
    await prepare(
      guarded,
      job('backup', { namespace: guarded, onNodes: [guarded] }),
      budget('backup', { namespace: guarded, minAvailable: 1 }),
    );
    for (const name of [kept, guarded]) {
      await untilPods(api, name, 1);
      await create(api, maintenance(name));
    }
    const told = await blockerOf(kept, ({ remedy }) => remedy !== undefined);
    assert.equal(told.reason, 'DisruptionBudget');
    assert.match(
      told.remedy ?? '',
      /^wait for ConfigMap cluster, whose controller keeps the budget/,
    );
    assert.match((await blockerOf(guarded)).remedy ?? '', /^wait for Job backup to end/);
    for (const name of [kept, guarded])
      assert.doesNotMatch(await why(t, name), /kubectl [^.]*\b(edit|delete)\b/);
  });

  test('two pods with local volumes on one node: that the first finds no node any more is said, in the scheduler’s words', {
    skip: lackingEmbedded('StorageClasses'),
  }, async t => {
    const name = 'local-volumes';
    await makeNode(api, name);
    const storageClassName = name;
    const volume = (index: number): Manifest => ({
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name: `${name}-${index}` },
      spec: {
        capacity: { storage: '1Gi' },
        accessModes: ['ReadWriteOnce'],
        storageClassName,
        local: { path: `/d${index}` },
        claimRef: { namespace: name, name: `data-db-${index}` },
        nodeAffinity: {
          required: {
            nodeSelectorTerms: [
              {
                matchExpressions: [
                  { key: 'kubernetes.io/hostname', operator: 'In', values: [name] },
                ],
              },
            ],
          },
        },
      },
    });
    const storageClass = {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'StorageClass',
      metadata: { name: storageClassName },
      provisioner: 'kubernetes.io/no-provisioner',
      volumeBindingMode: 'WaitForFirstConsumer',
    };
    const set = statefulSet('db', { namespace: name, replicas: 2 });
    const claim = {
      metadata: { name: 'data' },
      spec: {
        accessModes: ['ReadWriteOnce'],
        storageClassName,
        resources: { requests: { storage: '1Gi' } },
      },
    };
    await create(api, namespace(name), storageClass, volume(0), volume(1));
    const spec = set.spec as { readonly template: { readonly spec: object } };
    const volumes = [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }];
    const template = { ...spec.template, spec: { ...spec.template.spec, volumes } };
    await create(api, { ...set, spec: { ...spec, template, volumeClaimTemplates: [claim] } });
    await create(api, budget('db', { namespace: name, maxUnavailable: 1 }));
    await untilPods(api, name, 2);
    await create(api, maintenance(name));
    const { message, remedy } = await blockerOf(
      name,
      ({ reason }) => reason === 'ReplacementUnschedulable',
    );
    assert.match(
      message,
      /budget db needs 1 healthy pods and has 1, and pod local-volumes\/db-\d of it finds no node: 0\/\d+ nodes are available/,
    );
    assert.match(remedy ?? '', /release its maintenance/, message);
    assert.match(await why(t, name), /finds no node/);
    assert.match(JSON.stringify((await statusOf(name)).conditions), /Blocked/);
  });

  test('of many blockers each reason is named and counted, in status, why and condition', async t => {
    const name = 'many-causes';
    await prepare(
      name,
      deployment('many', { namespace: name, replicas: 22, onNodes: [name] }),
      budget('many', { namespace: name, maxUnavailable: 0 }),
    );
    await create(
      api,
      withMetadata(
        podAt(name, 'held', { namespace: name, spec: { terminationGracePeriodSeconds: 1 } }),
        {
          finalizers: ['example.com/hold'],
        },
      ),
    );
    await untilPods(api, name, 23);
    await create(api, maintenance(name));
    const stuck = await blockerOf(name, ({ pod }) => pod?.name === 'held', 90_000);
    assert.ok(['Terminating', 'StuckTerminating'].includes(stuck.reason));
    const { blockers, blockerCount, blockerReasons } = await statusOf(name);
    assert.deepEqual([blockers?.length, blockerCount], [20, 23]);
    assert.deepEqual(
      new Map(blockerReasons?.map(({ reason, count }) => [reason, count])),
      new Map([
        ['BudgetNeverAllows', 22],
        [stuck.reason, 1],
      ]),
    );
    assert.match(await why(t, name), /many-causes\/held: /);
    for (const pod of (await namesOn(api, name)).slice(-3))
      assert.doesNotMatch(await why(t, pod, '-n', name), /Nothing keeps it|on its way out/);
    await api.patch(`/api/v1/namespaces/${name}/pods/held`, { metadata: { finalizers: null } });
  });

  test('replicas that may not be together, and no third node: what the budget misses is said', async t => {
    const [name, second] = ['apart', 'apart-2'];
    await Promise.all([name, second].map(one => makeNode(api, one)));
    const podAntiAffinity = {
      requiredDuringSchedulingIgnoredDuringExecution: [
        { labelSelector: { matchLabels: { app: 'web' } }, topologyKey: 'kubernetes.io/hostname' },
      ],
    };
    const values = [name, second];
    const nodeSelectorTerms = [
      { matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values }] },
    ];
    const affinity = {
      podAntiAffinity,
      nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } },
    };
    await create(
      api,
      namespace(name),
      deployment('web', { namespace: name, replicas: 2, spec: { affinity } }),
    );
    await create(api, budget('web', { namespace: name, maxUnavailable: 1 }));
    await Promise.all(values.map(one => untilPods(api, one, 1)));
    await create(api, maintenance(name));
    await untilMaintenance(api, name, 'Drained');
    await create(api, maintenance(second));
    const { message, remedy } = await blockerOf(
      second,
      ({ reason }) => reason === 'ReplacementUnschedulable',
    );
    assert.match(message, /finds no node: 0\/\d+ nodes are available/);
    assert.match(remedy ?? '', /bring back a node/);
    await why(t, second);
  });

  test('no grace period for pods that are terminating already, as with kubectl', async () => {
    const sides = { kubectl: 'none-kubectl', drydock: 'none-drydock' };
    const drain = async (side: keyof typeof sides): Promise<void> => {
      const name = sides[side];
      await prepare(name, long(name, 600));
      await untilPods(api, name, 1);
      await api.delete(`/api/v1/namespaces/${name}/pods/slow`);
      const args = ['drain', name, '--force', '--grace-period=0', '--timeout=20s'];
      const { code, stderr } =
        side === 'kubectl'
          ? await harness.controlPlane.kubectl(args)
          : await harness.drydock(...args);
      assert.equal(code, 0, `${side}: ${stderr}`);
      assert.deepEqual(await namesOn(api, name), []);
    };
    await Promise.all(
      [...(harness.lacksKubectl === false ? (['kubectl'] as const) : []), 'drydock' as const].map(
        drain,
      ),
    );
  });

  test('drydock drain is patient with a denial for half a minute, and a NodeMaintenance tells it from then on', async () => {
    const [name, older] = ['patience', 'patience-older'];
    const here = { key: 'kubernetes.io/metadata.name', operator: 'In', values: [name, older] };
    await Promise.all(
      [name, older].map(one => prepare(one, podAt(one, 'one', { namespace: one }))),
    );
    await Promise.all([name, older].map(one => untilPods(api, one, 1)));
    const denied = { code: 403, message: 'ask the owner' };
    await api.post(`${registration}/validatingwebhookconfigurations`, {
      metadata: { name },
      webhooks: [
        {
          name: 'denies.shop.example.test',
          clientConfig: hooks.at(`/${name}`, () => ({
            response: { allowed: false, status: denied },
          })),
          rules: evictions,
          sideEffects: 'None',
          admissionReviewVersions: ['v1'],
          namespaceSelector: { matchExpressions: [here] },
        },
      ],
    });
    const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'one' } };
    for (const one of [name, older])
      await until(
        'evictions to be denied',
        async () =>
          (
            await api.call(
              'POST',
              `/api/v1/namespaces/${one}/pods/one/eviction?dryRun=All`,
              eviction,
            )
          ).status === 403,
      );
    await create(api, seed(older));
    const begun = performance.now();
    const { code, stderr } = await harness.drydock('drain', name, '--force');
    const took = (performance.now() - begun) / 1000;
    assert.equal(code, 1, stderr);
    assert.ok(took > 28 && took < 45, `${took} s`);
    const lastError = async (): Promise<string> =>
      (await api.get<{ readonly status?: { readonly lastError?: string } }>(seedPath(older))).status
        ?.lastError ?? '';
    await until(
      'the error to be told',
      async () => (await lastError()).includes('denied the request'),
      { deadlineMs: 20_000 },
    );
    for (let round = 0; round < 40; round += 1) {
      assert.match(await lastError(), /denied the request: ask the owner/);
      await new Promise(resolve => void setTimeout(resolve, 500));
    }
  });

  test('a node that is gone: its maintenance says so, and why says what to do', async t => {
    const name = 'doomed';
    await prepare(name);
    await create(api, maintenance(name));
    await untilMaintenance(api, name, 'Drained');
    await api.delete(`/api/v1/nodes/${name}`);
    await untilMaintenance(api, name, 'Failed');
    assert.match(
      await why(t, name),
      /^Node doomed does not exist \(any more\)\. .*kubectl delete maintenances\.drydock\.dev doomed/,
    );
  });

  test('somebody who takes marks away again and again is named in event, status and why', {
    skip: lackingEmbedded('managedFields of whoever does not apply'),
  }, async t => {
    const name = 'cordon-war';
    await prepare(name);
    await create(api, maintenance(name));
    await untilMaintenance(api, name, 'Drained');
    const uid = (await getNode(api, name)).metadata.uid;
    for (let round = 0; round < 3; round += 1) {
      // The taint of the cordon stays: where it is missing kube-controller-manager writes the
      // taints too, and they are its own then.
      const taints = [
        { key: 'pool', value: `v${round}`, effect: 'NoSchedule' },
        { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' },
      ];
      await api.call(
        'PATCH',
        `/api/v1/nodes/${name}?fieldManager=pool-manager`,
        { spec: { taints } },
        'application/merge-patch+json',
      );
      await until(
        'the marks to be back',
        async () =>
          (await getNode(api, name)).spec.taints?.some(({ key }) => key === 'drydock.dev/drain') ===
          true,
      );
    }
    await until(
      'it to be told',
      async () => (await statusOf(name)).message?.includes('by pool-manager as it seems') === true,
      {
        deadlineMs: 90_000,
      },
    );
    const events = await eventsOf(api, uid);
    assert.ok(
      events.some(
        ({ reason, message }) =>
          reason === 'HoldRestored' && message.includes('(pool-manager wrote to it last)'),
      ),
    );
    assert.match(
      await why(t, name),
      /removed from the node .* by pool-manager as it seems, and put back/,
    );
  });

  test('a node that is silent: why says one thing of it, of the pod and of the node', async t => {
    const name = 'silent';
    await makeNode(api, name);
    await create(api, namespace(name), long(name, 1));
    await untilPods(api, name, 1);
    const conditions = [
      {
        type: 'Ready',
        status: 'Unknown',
        reason: 'NodeStatusUnknown',
        message: 'Kubelet stopped posting node status.',
      },
    ];
    await editNode(api, name, { metadata: { annotations: { 'drydock.test/dead': 'true' } } });
    await api.call(
      'PATCH',
      `/api/v1/nodes/${name}/status`,
      { status: { conditions } },
      'application/strategic-merge-patch+json',
    );
    await create(api, maintenance(name));
    await blockerOf(name, ({ reason }) => reason === 'NodeNotReady');
    for (const args of [[name], ['slow', '-n', name]]) {
      const said = await why(t, ...args);
      assert.match(said, /out-of-service=nodeshutdown:NoExecute/);
      assert.doesNotMatch(said, /delete the pod by force/);
    }
    const { stderr } = await harness.drydock('drain', name, '--force', '--timeout=3s');
    assert.match(stderr, /node silent is not Ready/);
  });

  test('a node with the longest name that nodes can have', async () => {
    const name = `${'long.'.repeat(50)}end`;
    assert.equal(name.length, 253);
    await makeNode(api, name, { labels: { 'kubernetes.io/hostname': 'long' } });
    await create(api, {
      ...maintenance('longest'),
      spec: { nodeName: name, drain: { force: true } },
    });
    await untilMaintenance(api, 'longest', 'Drained');
    await api.delete(maintenancePath('longest'));
    await until(
      'it to be released',
      async () => (await getNode(api, name)).spec.unschedulable !== true,
    );
  });

  test('a pod whose owner is not marked as its controller is refused, and the owner is named', async t => {
    const name = 'half-owned';
    await makeNode(api, name);
    await create(api, namespace(name));
    const owner = await api.post<{ readonly metadata: { readonly uid: string } }>(
      `/api/v1/namespaces/${name}/configmaps`,
      {
        metadata: { name: 'kafka' },
      },
    );
    const ownerReferences = [
      { apiVersion: 'v1', kind: 'ConfigMap', name: 'kafka', uid: owner.metadata.uid },
    ];
    await create(api, withMetadata(podAt(name, 'one', { namespace: name }), { ownerReferences }));
    await untilPods(api, name, 1);
    await create(api, maintenance(name, { drain: { force: false } }));
    const { message } = await blockerOf(name);
    assert.equal(
      message,
      'has no controller that would recreate it: its owner ConfigMap kafka is not marked as one',
    );
    assert.match(await why(t, name), /its owner ConfigMap kafka/);
    assert.equal((await podsOn(api, name)).length, 1);
  });
});
