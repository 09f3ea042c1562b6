import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { create, nodesReady } from '../../control-plane/objects/cluster.ts';
import { budget, deployment } from '../../control-plane/objects/manifests.ts';
import type { List, Metadata } from '../../control-plane/objects/objects.ts';
import { until } from '../../control-plane/wait.ts';
import { type OperatorHarness, skipOf, startHarness } from '../harness/harness.ts';
import { dueNode, isRehearsal, plan, planPath, untilPlan, Work } from './plan-work.ts';
import { Rehearsals, rehearsalPods } from './rehearsals.ts';

/**
 * Plans that are rehearsed before they begin. kwok runs the pod that rehearses; what its container
 * does is done here, with the rights of its account.
 */

const started = await startHarness({ roles: ['plans'] });
const skip = skipOf(started);
const harness = started as OperatorHarness;

type Pod = { readonly metadata: Metadata; readonly status?: { readonly phase?: string } };

describe('plans that are rehearsed', { skip, timeout: 240_000 }, () => {
  const { api } = harness;
  const image = 'example.test/drydock:1';
  let work: Work;
  let rehearsals: Rehearsals;
  before(async () => {
    await harness.startOperator();
    work = new Work(api);
    rehearsals = new Rehearsals(api, harness.controlPlane.kubeconfig);
  });
  after(async () => {
    await rehearsals.stop();
    await work.stop();
    await harness.stop();
  });

  test('a plan whose nodes would get stuck does not begin, says who blocks, and begins when that is mended', async () => {
    const names = ['calm-1', 'calm-2'];
    for (const name of names) await create(api, dueNode(name, { labels: { group: 'calm' } }));
    await nodesReady(api, names);
    await create(api, deployment('web', { replicas: 2 }), budget('web', { minAvailable: 2 }));
    await until('the pods to run', async () => {
      const { items } = await api.get<List<Pod>>('/api/v1/namespaces/default/pods');
      return items.length === 2 && items.every(({ status }) => status?.phase === 'Running');
    });
    const rehearse = { image, refuse: ['BlockedNodes' as const], workSeconds: 5, rebootSeconds: 5 };
    await create(api, plan('calm', 'calm', { rehearse, order: { by: ['Cost', 'Name'] } }));
    const refused = await untilPlan(
      api,
      'calm',
      'refused',
      ({ waitingFor }) => waitingFor === 'Forecast',
    );
    assert.match(refused.waiting?.[0]?.message ?? '', /gets? stuck \(calm-\d: .*default\/web/);
    assert.deepEqual(
      [refused.forecast?.finishes, refused.inFlight, rehearsals.count],
      [false, [], 1],
    );
    const shown = await harness.drydock('plan', 'status', 'calm');
    assert.match(shown.stdout, /\nRehearsed at .*\n {2}calm-\d gets stuck: .*default\/web/);

    await api.patch('/apis/policy/v1/namespaces/default/poddisruptionbudgets/web', {
      spec: { minAvailable: 1 },
    });
    assert.equal(
      (await harness.drydock('plan', 'retry', 'calm', '--failed')).stdout,
      'plan calm is rehearsed again\n',
    );
    const { forecast, rehearsal } = await untilPlan(
      api,
      'calm',
      'complete',
      ({ phase }) => phase === 'Complete',
    );
    assert.deepEqual(
      [forecast?.finishes, forecast?.blockedNodes, forecast?.nodes, rehearsal],
      [true, 0, 2, undefined],
      JSON.stringify(forecast),
    );
    assert.ok(
      forecast?.estimatedCompletionTime !== undefined &&
        forecast.firstEstimatedCompletionTime !== undefined &&
        (forecast.podsMoved ?? 0) >= 2,
    );
    await until('its pods to be gone', async () =>
      (await api.get<List<Pod>>(rehearsalPods)).items.every(
        ({ metadata }) => !isRehearsal(metadata.name),
      ),
    );
  });

  test('a rehearsal that fails is named, and keeps the plan; without an image the plan says what is missing', async () => {
    await create(api, plan('none', 'none', { rehearse: {} }));
    const unknown = await untilPlan(
      api,
      'none',
      'told',
      ({ message }) => message?.includes('spec.rehearse') === true,
    );
    assert.match(unknown.message ?? '', /^spec\.rehearse: the image of the operator is not known/);
    await create(api, dueNode('odd-1', { labels: { group: 'odd' } }));
    await nodesReady(api, ['odd-1']);
    // Nodes of the second in which a run of replacements begins may be successors, and are none of
    // it.
    await new Promise(resolve => setTimeout(resolve, 1100));
    await create(api, plan('odd', 'odd', { rehearse: { image }, work: { replace: {} } }));
    const failed = await untilPlan(api, 'odd', 'said to have failed', ({ waiting }) =>
      /^its rehearsal has failed: .*drydock plan retry odd --failed$/.test(
        waiting?.[0]?.message ?? '',
      ),
    );
    assert.equal(failed.rehearsal?.state, 'Failed');
    assert.match(failed.rehearsal.message, /plan odd cannot be rehearsed: it replaces machines/);
    await api.call('DELETE', planPath('odd'));
    await until(
      'the plan to be gone',
      async () => (await api.call('GET', planPath('odd'))).status === 404,
    );
  });
});
