import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { MaintenancePlanStatus } from '@drydock/apis/schema';
import { create, nodesReady, podsReady } from '../../control-plane/objects/cluster.ts';
import { budget, deployment, namespace } from '../../control-plane/objects/manifests.ts';
import { type OperatorHarness, skipOf, startHarness } from '../harness/harness.ts';
import { operatorUsers } from '../harness/shipped.ts';
import { dueNode, plan, planPath, untilPlan, Work } from './plan-work.ts';

/**
 * Gates of plans on a real control plane: over an object that Drydock is given the right to read,
 * and over the budgets of workloads.
 */

const started = await startHarness({ roles: ['plans'] });
const skip = skipOf(started);
const harness = started as OperatorHarness;

const health = '/api/v1/namespaces/storage/configmaps/health';

function objectGate(name: string, more: object = {}): object {
  return {
    name,
    object: {
      apiVersion: 'v1',
      resource: 'configmaps',
      namespace: 'storage',
      name: 'health',
      expression: "object.data.status == 'OK'",
    },
    ...more,
  };
}

describe('gates of a MaintenancePlan', { skip, concurrency: 4, timeout: 120_000 }, () => {
  const { api } = harness;
  let work: Work;
  before(async () => {
    await harness.startOperator();
    work = new Work(api, () => ({ kernel: '6.12.9' }));
    await create(api, namespace('storage'));
    await create(api, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'health', namespace: 'storage' },
      data: { status: 'WARN' },
    });
  });
  after(async () => {
    await work.stop();
    // What Drydock may not read is part of this: the harness would call a refusal a lack of the
    // shipped roles.
    await harness.controlPlane.stop();
  });

  const fleet = async (group: string, many: number): Promise<void> => {
    const names = Array.from({ length: many }, (_, index) => `${group}-${index + 1}`);
    for (const name of names) await create(api, dueNode(name, { labels: { group } }));
    await nodesReady(api, names);
  };
  const told = ({ waiting }: MaintenancePlanStatus): string =>
    `${waiting?.[0]?.reason}: ${waiting?.[0]?.message}`;
  const untilTold = (name: string, what: RegExp): Promise<MaintenancePlanStatus> =>
    untilPlan(api, name, `told ${what.source}`, status => what.test(told(status)));
  const set = (status: string): Promise<unknown> => api.patch(health, { data: { status } });

  test('an object: it may not be read, is not as it should be, is; halts; and is set aside', async () => {
    await fleet('object', 3);
    await create(
      api,
      plan('object', 'object', { gates: [objectGate('ceph', { onFalse: 'Halt' })] as never }),
    );
    await untilTold(
      'object',
      /^GateUnknown: gate ceph is unknown: Drydock may not read configmaps storage\/health: give its service account/,
    );
    const rules = [
      {
        apiGroups: [''],
        resources: ['configmaps'],
        resourceNames: ['health'],
        verbs: ['get', 'list', 'watch'],
      },
    ];
    const rbac = { apiVersion: 'rbac.authorization.k8s.io/v1' };
    const metadata = { name: 'drydock-gates', namespace: 'storage' };
    await create(api, { ...rbac, kind: 'Role', metadata, rules });
    const [, , space = '', name = ''] = operatorUsers.drydock.name.split(':');
    const subjects = [{ kind: 'ServiceAccount', namespace: space, name }];
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'drydock-gates' };
    await create(api, { ...rbac, kind: 'RoleBinding', metadata, subjects, roleRef });
    const closed = await untilTold('object', /^Gate: gate ceph: its expression is false$/);
    assert.deepEqual(
      [closed.phase, closed.nodes?.done, closed.gates?.[0]?.value],
      ['Running', 0, 'False'],
      'nothing was done: no halt',
    );
    await set('OK');
    await untilPlan(
      api,
      'object',
      'at work',
      ({ inFlight = [], nodes }) => inFlight.length > 0 || (nodes?.done ?? 0) > 0,
    );
    await set('WARN');
    const halted = await untilPlan(api, 'object', 'halted', ({ phase }) => phase === 'Halted');
    assert.deepEqual(
      [halted.haltedBy?.gate, halted.haltedBy?.message],
      ['ceph', 'its expression is false'],
    );
    await set('OK');
    await untilPlan(api, 'object', 'open again', ({ gates }) => gates?.[0]?.value === 'True');
    assert.equal((await untilPlan(api, 'object', 'still halted', () => true)).phase, 'Halted');
    const { code, stdout, stderr } = await harness.drydock('plan', 'retry', 'object', '--failed');
    assert.deepEqual(
      [code, stdout],
      [0, 'gate ceph is cleared: the plan continues when the gate is true\n'],
      stderr,
    );
    const done = await untilPlan(api, 'object', 'complete', ({ phase }) => phase === 'Complete');
    assert.deepEqual([done.nodes?.done, done.haltedBy], [3, undefined]);
  });

  test('workloads: a budget with too few healthy pods is named, and waited for', async () => {
    await fleet('loads', 2);
    await create(
      api,
      namespace('loads'),
      deployment('web', { namespace: 'loads', replicas: 2 }),
      budget('web', { namespace: 'loads', minAvailable: 3 }),
    );
    await podsReady(api, 'loads', 2);
    await create(
      api,
      plan('loads', 'loads', {
        gates: [{ name: 'healthy', workloads: { namespaces: ['loads'] } }],
      }),
    );
    await untilTold('loads', /^Gate: gate healthy: budget loads\/web has 2 healthy pods of 3$/);
    await api.patch('/apis/apps/v1/namespaces/loads/deployments/web', { spec: { replicas: 4 } });
    await untilPlan(api, 'loads', 'complete', ({ phase }) => phase === 'Complete');
  });

  test('metrics: an operator that has been given no source says so, and waits', async () => {
    await fleet('metrics', 1);
    await create(
      api,
      plan('metrics', 'metrics', {
        gates: [{ name: 'errors', promql: { query: 'errors', expression: 'value < 0.01' } }],
      }),
    );
    await untilTold(
      'metrics',
      /^GateUnknown: gate errors is unknown: the operator knows no source of metrics and alerts: .*--monitoring-config/,
    );
    await api.delete(planPath('metrics'));
  });

  test('what cannot be meant is refused by the API server, and nobody reads Secrets so', async () => {
    const refused = async (gate: object): Promise<string> => {
      const asked = {
        ...plan('no', 'no'),
        spec: { ...(plan('no', 'no').spec as object), gates: [gate] },
      };
      const { status, body } = await api.call(
        'POST',
        '/apis/drydock.dev/v1alpha1/maintenanceplans?dryRun=All',
        asked,
      );
      return status === 201 ? '' : ((body as { readonly message?: string }).message ?? '');
    };
    const object = { apiVersion: 'v1', resource: 'configmaps', name: 'x', expression: 'true' };
    assert.equal(await refused({ name: 'g', object }), '');
    assert.match(
      await refused({ name: 'g', object: { ...object, resource: 'secrets' } }),
      /a gate cannot read Secrets/,
    );
    assert.match(
      await refused({ name: 'g', object: { ...object, resource: 'pods/log' } }),
      /resource/,
    );
    assert.match(
      await refused({ name: 'g', object: { ...object, apiVersion: 'v1/../..' } }),
      /apiVersion/,
    );
    assert.match(
      await refused({ name: 'g', object, workloads: {} }),
      /exactly one of workloads, object, promql and alerts/,
    );
    const promql = { query: 'up', expression: 'value == 1.0' };
    assert.equal(await refused({ name: 'g', promql }), '');
    assert.match(
      await refused({ name: 'g', promql, object }),
      /exactly one of workloads, object, promql and alerts/,
    );
    assert.match(
      await refused({ name: 'g', promql: { ...promql, source: 'http://169.254.169.254' } }),
      /source/,
    );
    assert.match(await refused({ name: 'g', promql: { ...promql, minSamples: 0 } }), /minSamples/);
    assert.equal(
      await refused({
        name: 'g',
        alerts: { matchers: ['severity=~"page|critical"', 'team!="x"'] },
      }),
      '',
    );
    assert.match(await refused({ name: 'g', alerts: { matchers: [] } }), /matchers/);
    assert.match(await refused({ name: 'g', alerts: { matchers: ['severity'] } }), /matchers/);
    assert.match(
      await refused({ name: 'g' }),
      /exactly one of workloads, object, promql and alerts/,
    );
    const wrong = {
      ...plan('typo', 'typo'),
      spec: {
        ...(plan('typo', 'typo').spec as object),
        gates: [{ name: 'g', object: { ...object, expression: 'object.data ==' } }],
      },
    };
    await create(api, wrong);
    const { message } = await untilPlan(api, 'typo', 'pending', ({ phase }) => phase === 'Pending');
    assert.match(message ?? '', /^spec\.gates\[g\]\.object\.expression: ERROR: /);
    await api.delete(planPath('typo'));
  });
});
