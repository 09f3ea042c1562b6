import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Reply } from '../control-plane/objects/api.ts';
import { create, failureIn, getNode, nodesReady } from '../control-plane/objects/cluster.ts';
import { type Manifest, node } from '../control-plane/objects/manifests.ts';
import { until } from '../control-plane/wait.ts';
import { type OperatorHarness, skipOf, startHarness } from '../operator/harness/harness.ts';
import { maintenance } from '../operator/harness/look.ts';
import { plan, planPath, untilPlan } from '../operator/plans/plan-work.ts';

/**
 * Who may do what with plans, on a real API server: whoever runs one does not change its work,
 * whoever writes one does not approve it.
 */

const rbac = 'rbac.authorization.k8s.io';
const users = { runner: [], author: [], approver: [], editor: [] };
const started = await startHarness({ users, roles: ['plans'] });
const skip = skipOf(started);
const harness = started as OperatorHarness;

function bound(name: string, user: string): Manifest {
  return {
    apiVersion: `${rbac}/v1`,
    kind: 'ClusterRoleBinding',
    metadata: { name: `${name}-${user}` },
    roleRef: { apiGroup: rbac, kind: 'ClusterRole', name },
    subjects: [{ kind: 'User', apiGroup: rbac, name: user }],
  };
}

describe('rights to plans', { skip, timeout: 120_000 }, () => {
  const { api, controlPlane } = harness;
  const plans = '/apis/drydock.dev/v1alpha1/maintenanceplans';
  const as = (
    user: keyof typeof users,
    method: 'POST' | 'PATCH',
    path: string,
    body: unknown,
  ): Promise<Reply> =>
    controlPlane
      .apiOf(user)
      .call(method, path, body, method === 'PATCH' ? 'application/merge-patch+json' : undefined);

  before(async () => {
    await create(
      api,
      bound('drydock-plan-operator', 'runner'),
      bound('drydock-plan-author', 'author'),
      bound('drydock-plan-approver', 'approver'),
      bound('drydock-maintenance-editor', 'editor'),
      plan('guarded', 'guarded', { state: 'Paused' }),
    );
    const editsWork = (): Promise<Reply> =>
      as('runner', 'PATCH', `${planPath('guarded')}?dryRun=All`, { spec: { due: null } });
    await until('the policy to be in force', async () => (await editsWork()).status === 403);
    const asking = plan('probe', 'probe', { state: 'Paused', approval: { run: 'Required' } });
    await create(api, asking);
    const takesAway = (): Promise<Reply> =>
      as('author', 'PATCH', `${planPath('probe')}?dryRun=All`, { spec: { approval: null } });
    await until(
      'the policy of approvals to be in force',
      async () => (await takesAway()).status === 403,
    );
  });
  after(() => harness.stop());

  test('whoever runs a plan pauses, limits, retries and skips; its nodes and its work need write-work', async () => {
    const edit = (spec: object): Promise<Reply> =>
      as('runner', 'PATCH', `${planPath('guarded')}?dryRun=All`, { spec });
    const podSpec = { containers: [{ name: 'c', image: 'example.test/own:1' }] };
    for (const spec of [
      { state: 'Running' },
      { concurrency: { maxInFlight: 2 } },
      { retries: [{ name: '*', before: '2026-11-21T08:00:00Z' }] },
      { skipNodes: [{ name: 'n1' }] },
      { state: 'Aborted', runID: '2' },
      { order: { by: ['Age'], first: ['n1'] } },
    ])
      assert.equal((await edit(spec)).status, 200, JSON.stringify(spec));
    for (const spec of [
      { work: { job: null, none: {} } },
      { nodeSelector: { matchLabels: { group: 'another' } } },
      { due: { expression: 'true' } },
      { done: { expression: 'true' } },
      { template: { maintenance: { drain: { force: false } } } },
      { approval: { run: 'NotRequired' } },
      { gates: [{ name: 'g', workloads: {} }] },
      { prepare: { job: { podSpec } } },
      { hooks: [{ name: 'h', at: 'BeforeRun', job: { podSpec } }] },
      { rehearse: { image: 'example.test/own:1' } },
      { controlPlane: 'Last' },
      { membership: 'Snapshot' },
      { windows: 'Ignore' },
      { order: { expression: '[1, 2].all(a, a > 0) ? 1 : 2' } },
      { rollback: { due: { expression: 'true' }, work: { job: { podSpec } } } },
    ]) {
      const reply = await edit(spec);
      assert.equal(reply.status, 403, JSON.stringify(spec));
      assert.match(
        failureIn(reply).message,
        /needs the right write-work on maintenanceplans\.drydock\.dev/,
      );
    }
    assert.equal(
      (await as('runner', 'POST', `${plans}?dryRun=All`, plan('own', 'own'))).status,
      403,
    );
  });

  test('whoever writes a plan does not approve it, and deletes pods past their budgets with a right only', async () => {
    const approval = {
      apiVersion: 'drydock.dev/v1alpha1',
      kind: 'MaintenanceApproval',
      metadata: { name: 'a' },
      spec: { planName: 'guarded', runID: '1', revision: 'r' },
    };
    const path = '/apis/drydock.dev/v1alpha1/maintenanceapprovals?dryRun=All';
    assert.equal((await as('author', 'POST', path, approval)).status, 403);
    assert.equal((await as('runner', 'POST', path, approval)).status, 201);
    const spec = { template: { maintenance: { drain: { disableEviction: true } } } };
    assert.equal(
      (await as('author', 'POST', `${plans}?dryRun=All`, plan('own', 'own', spec))).status,
      201,
    );
    await api.patch(`/apis/${rbac}/v1/clusterroles/drydock-plan-author`, {
      rules: [
        {
          apiGroups: ['drydock.dev'],
          resources: ['maintenanceplans'],
          verbs: ['create', 'patch', 'write-work'],
        },
      ],
    });
    const createOne = (): Promise<Reply> =>
      as('author', 'POST', `${plans}?dryRun=All`, plan('own', 'own', spec));
    await until('the right to be gone', async () => (await createOne()).status === 403);
    assert.match(
      failureIn(await createOne()).message,
      /needs the right delete-pods on maintenanceplans\.drydock\.dev/,
    );
  });

  test('whoever may only approve creates approvals and changes nothing else', async () => {
    const approvals = '/apis/drydock.dev/v1alpha1/maintenanceapprovals';
    const approval = {
      apiVersion: 'drydock.dev/v1alpha1',
      kind: 'MaintenanceApproval',
      metadata: { name: 'own' },
      spec: { planName: 'guarded', runID: '1', revision: 'r' },
    };
    const approver = controlPlane.apiOf('approver');
    assert.equal((await as('approver', 'POST', approvals, approval)).status, 201);
    // The API server answers 429 for a kind that it has just begun to store.
    for (const path of [
      plans,
      planPath('guarded'),
      approvals,
      `${approvals}/own`,
      '/apis/drydock.dev/v1alpha1/maintenanceplanrecords',
    ])
      await until(
        `${path} to be readable`,
        async () => (await approver.call('GET', path)).status === 200,
      );
    assert.equal(
      (await as('approver', 'PATCH', planPath('guarded'), { spec: { state: 'Running' } })).status,
      403,
    );
    assert.equal(
      (await as('approver', 'PATCH', `${approvals}/own`, { spec: { runID: '2' } })).status,
      403,
    );
    assert.equal((await as('approver', 'POST', plans, plan('own', 'own'))).status, 403);
    for (const path of [`${approvals}/own`, planPath('guarded')])
      assert.equal((await approver.call('DELETE', path)).status, 403, path);
    await api.delete(`${approvals}/own`);
  });

  test('whoever writes a plan does not take away the approval that it asks for, and whoever may approve does', async () => {
    const stages = [{ name: 'canary', limit: 1, soakSeconds: 3600, approveAfter: true }];
    await create(
      api,
      plan('asking', 'asking', { state: 'Paused', stages, approval: { run: 'Required' } }),
    );
    const edit = (user: 'author' | 'runner', spec: object): Promise<Reply> =>
      as(user, 'PATCH', `${planPath('asking')}?dryRun=All`, { spec });
    const [stage] = stages;
    for (const spec of [
      { approval: { run: 'NotRequired' } },
      { approval: null },
      { approval: { expiresAfterSeconds: 1_000_000 } },
      { stages: [] },
      { stages: null },
      { stages: [{ ...stage, approveAfter: false }] },
      { stages: [{ ...stage, soakSeconds: 0 }] },
      { stages: [{ ...stage, limit: 100 }] },
      { stages: [{ name: 'before' }, stage] },
      { nodeSelector: { matchLabels: { group: 'everything' } } },
      { controlPlane: 'Last' },
      { membership: 'Snapshot' },
    ]) {
      const reply = await edit('author', spec);
      assert.equal(reply.status, 403, JSON.stringify(spec));
      assert.match(
        failureIn(reply).message,
        /needs the right to create maintenanceapprovals\.drydock\.dev/,
      );
    }
    assert.equal(
      (await edit('author', { concurrency: { maxInFlight: 2 }, due: { expression: 'true' } }))
        .status,
      200,
    );
    assert.equal((await edit('runner', { stages: [{ ...stage, limit: 100 }] })).status, 200);
    const free = await as('author', 'PATCH', `${planPath('guarded')}?dryRun=All`, {
      spec: { stages, approval: { run: 'Required' } },
    });
    assert.equal(free.status, 200, 'whoever adds a question may');
  });

  test('nobody but the operator says that a Maintenance is part of a plan', async () => {
    const own = maintenance('m1');
    const path = '/apis/drydock.dev/v1alpha1/maintenances?dryRun=All';
    assert.equal((await as('editor', 'POST', path, own)).status, 201);
    const forged = {
      ...own,
      metadata: { ...own.metadata, annotations: { 'drydock.dev/maintenance-plan': 'guarded' } },
    };
    const reply = await as('editor', 'POST', path, forged);
    assert.equal(reply.status, 403);
    assert.match(failureIn(reply).message, /be-part/);
  });

  test('the annotation of the lease stops all plans and says why; when it is gone they go on', async () => {
    await create(api, node('halted-1', { labels: { group: 'halted' } }));
    await nodesReady(api, ['halted-1']);
    const lease = {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name: '135b1886.medik8s.io' },
      spec: {},
    };
    const leases = '/apis/coordination.k8s.io/v1/namespaces/drydock-system/leases';
    await api.post(leases, {
      ...lease,
      metadata: { ...lease.metadata, annotations: { 'drydock.dev/halt': 'power is low' } },
    });
    await harness.startOperator();
    await create(
      api,
      plan('halted', 'halted', {
        work: { none: {} },
        due: { expression: 'true' },
        done: { expression: 'true' },
      }),
    );
    const { message } = await untilPlan(api, 'halted', 'halted', ({ phase }) => phase === 'Halted');
    assert.match(message ?? '', /all plans are halted: power is low/);
    assert.equal((await getNode(api, 'halted-1')).spec.unschedulable ?? false, false);
    await api.patch(`${leases}/135b1886.medik8s.io`, {
      metadata: { annotations: { 'drydock.dev/halt': null } },
    });
    await untilPlan(api, 'halted', 'complete', ({ phase }) => phase === 'Complete');
  });
});
