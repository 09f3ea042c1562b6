import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { MaintenancePlanStatus } from '@drydock/apis/schema';
import { create, nodePath, nodesReady } from '../control-plane/objects/cluster.ts';
import {
  type OperatorHarness,
  type OperatorProcess,
  skipOf,
  startHarness,
} from '../operator/harness/harness.ts';
import { dueNode, plan, untilPlan } from '../operator/plans/plan-work.ts';

/**
 * What the operator may not read any more it does without, and says so; what it may read again it
 * takes up again. An API server that has just begun refuses, for its first moments, what it allows
 * a second later, so that this happens wherever one is upgraded.
 */

const started = await startHarness({ roles: ['plans'] });
const skip = skipOf(started);
const harness = started as OperatorHarness;

describe('a right that is taken away while the operator runs', { skip, timeout: 180_000 }, () => {
  const { api, controlPlane } = harness;
  const binding = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/drydock-plans';
  let operator: OperatorProcess;

  before(async () => {
    operator = await harness.startOperator();
  });
  after(async () => {
    await operator.running.stop();
    // Refusals are part of this: the harness would call them a lack of the shipped roles.
    await controlPlane.stop();
  });

  const valid = ({ conditions = [] }: MaintenancePlanStatus) =>
    conditions.find(({ type }) => type === 'Valid');

  test('and given back: the plan that was at work says what is missing, and goes on to its end', async () => {
    await create(api, dueNode('withdrawn', { labels: { group: 'withdrawn' } }));
    await nodesReady(api, ['withdrawn']);
    const patched = "'patched' in node.metadata.labels";
    const external = { finished: { expression: patched }, timeoutSeconds: 86_400 };
    await create(
      api,
      plan('withdrawn', 'withdrawn', { due: { expression: `!(${patched})` }, work: { external } }),
    );
    await untilPlan(
      api,
      'withdrawn',
      'at work',
      ({ inFlight }) => inFlight?.[0]?.state === 'Working',
    );

    const { roleRef, subjects } = await api.get<{
      readonly roleRef: unknown;
      readonly subjects: unknown;
    }>(binding);
    await api.delete(binding);
    // Watches that are open stay open: only a server that begins anew refuses them.
    await controlPlane.restart('kube-apiserver');
    // Collections are refused one after the other, as their watches end.
    const all =
      /^Drydock may not read .*maintenanceplanrecords\.drydock\.dev.*: install the rights of plans/;
    const told = await untilPlan(api, 'withdrawn', 'told all that is missing', status =>
      all.test(valid(status)?.message ?? ''),
    );
    assert.equal(valid(told)?.status, 'False');
    assert.equal(told.inFlight?.[0]?.state, 'Working', 'it keeps what it has');

    const [apiVersion, kind] = ['rbac.authorization.k8s.io/v1', 'ClusterRoleBinding'];
    await create(api, { apiVersion, kind, metadata: { name: 'drydock-plans' }, roleRef, subjects });
    await untilPlan(api, 'withdrawn', 'valid again', status => valid(status)?.status === 'True');
    await api.patch(nodePath('withdrawn'), { metadata: { labels: { patched: 'yes' } } });
    const { nodes } = await untilPlan(
      api,
      'withdrawn',
      'complete',
      ({ phase }) => phase === 'Complete',
    );
    assert.deepEqual([nodes?.done, nodes?.failed], [1, 0]);
  });
});
