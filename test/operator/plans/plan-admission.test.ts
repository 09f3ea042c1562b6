import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { webhookConfiguration } from '@drydock/apis/admission-rules';
import type { Reply } from '../../control-plane/objects/api.ts';
import { create, failureIn } from '../../control-plane/objects/cluster.ts';
import { freePorts } from '../../control-plane/processes/ports.ts';
import { until } from '../../control-plane/wait.ts';
import {
  type OperatorHarness,
  type OperatorProcess,
  skipOf,
  startHarness,
} from '../harness/harness.ts';
import { untilGone } from '../harness/look.ts';
import { type MaintenancePlan, plan, planPath, untilPlan } from './plan-work.ts';

/** What the webhook says to plans that cannot be carried out, on a real control plane. */

const started = await startHarness({ roles: ['plans'] });
const skip = skipOf(started);
const harness = started as OperatorHarness;

const plans = '/apis/drydock.dev/v1alpha1/maintenanceplans';
const broken = { due: { expression: "node.status.nodeInfo.kernelVersion != '6.12.9' &&" } };
const reason =
  /^spec\.due\.expression: ERROR: <input>:1:50: Syntax error: mismatched input '<EOF>'/;
const denied = 'admission webhook "vmaintenanceplan.drydock.dev" denied the request: ';

describe('the admission of plans', { skip, timeout: 120_000 }, () => {
  const { api } = harness;
  let operator: OperatorProcess;

  const edit = (name: string, spec: object, query = ''): Promise<Reply> =>
    api.call('PATCH', `${planPath(name)}${query}`, { spec }, 'application/merge-patch+json');
  const messageOf = async (call: Promise<Reply>): Promise<string> => {
    const { message } = failureIn(await call);
    assert.ok(message.startsWith(denied), message);
    return message.slice(denied.length);
  };
  const validOf = async (name: string) => {
    const { conditions = [] } = (await api.get<MaintenancePlan>(planPath(name))).status ?? {};
    return conditions.find(({ type }) => type === 'Valid');
  };

  before(async () => {
    const [port = 0] = await freePorts(1);
    // Stored when nobody asked.
    await create(api, plan('earlier', 'earlier', broken));
    await api.post(
      '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations',
      webhookConfiguration(path => ({ url: `https://127.0.0.1:${port}${path}` })),
    );
    operator = await harness.startOperator({
      flags: [`--webhook-port=${port}`, '--webhook-extra-name=127.0.0.1'],
    });
    await until('the webhook to be asked', async () => {
      const reply = await api.call('POST', `${plans}?dryRun=All`, plan('probe', 'probe', broken));
      return reply.status === 403 && failureIn(reply).message.startsWith(denied);
    });
  });
  after(() => harness.stop());

  test('a plan that cannot be carried out is refused, dry runs too, with the sentence of its condition Valid', async () => {
    await untilPlan(api, 'earlier', 'not valid', ({ conditions = [] }) =>
      conditions.some(({ type, status }) => type === 'Valid' && status === 'False'),
    );
    const said = await messageOf(api.call('POST', plans, plan('own', 'own', broken)));
    assert.match(said, reason);
    assert.equal((await validOf('earlier'))?.message, said);
    assert.equal(
      await messageOf(api.call('POST', `${plans}?dryRun=All`, plan('own', 'own', broken))),
      said,
    );
    assert.equal(
      (await api.call('POST', plans, plan('own', 'own', { state: 'Paused' }))).status,
      201,
    );
    assert.equal(await messageOf(edit('own', broken)), said);
    assert.equal(await messageOf(edit('own', broken, '?dryRun=All')), said);
    for (const [spec, why] of [
      [
        { due: { expression: 'node.kernel == 1' } },
        /^spec\.due\.expression: .*undefined field 'kernel'/,
      ],
      [
        { done: { expression: '1' } },
        /^spec\.done\.expression: .*must evaluate to true or false, and evaluates to int/,
      ],
      [{ order: { expression: 'true' } }, /^spec\.order\.expression: .*must evaluate to a number/],
      [
        { gates: [{ name: 'g', promql: { query: 'up', expression: 'sample > 1' } }] },
        /^spec\.gates\[g\]\.promql\.expression: .*'sample'/,
      ],
      [
        { rollback: { due: { expression: 'a' }, work: { none: {} } } },
        /^spec\.rollback\.due\.expression: /,
      ],
    ] as const)
      assert.match(await messageOf(edit('own', spec)), why);
    for (const spec of [
      { concurrency: { maxInFlight: 2 } },
      { due: { expression: 'false' } },
      { state: 'Running' },
    ])
      assert.equal((await edit('own', spec)).status, 200, JSON.stringify(spec));
  });

  test('a plan that was stored as it is stays one that people edit, and goes when it is deleted', async () => {
    for (const spec of [
      { state: 'Paused' },
      { skipNodes: [{ name: 'n1' }] },
      { done: { expression: 'true' } },
    ])
      assert.equal((await edit('earlier', spec)).status, 200, JSON.stringify(spec));
    await api.patch(planPath('earlier'), { metadata: { labels: { team: 'a' } } });
    assert.match(
      await messageOf(edit('earlier', { done: { expression: 'host' } })),
      /^spec\.done\.expression: /,
    );
    await api.delete(planPath('earlier'));
    await untilGone(api, planPath('earlier'));
  });

  test('while no webhook is there a plan is paused and aborted all the same, and its work is not changed', async () => {
    await create(api, plan('alone', 'alone'));
    await operator.running.stop();
    for (const spec of [
      { state: 'Paused' },
      { concurrency: { maxInFlight: 3 } },
      { order: { first: ['n1'] } },
      { state: 'Aborted' },
    ])
      assert.equal((await edit('alone', spec)).status, 200, JSON.stringify(spec));
    const reply = await edit('alone', { due: { expression: 'true' } });
    assert.equal(reply.status, 500);
    assert.match(
      failureIn(reply).message,
      /failed calling webhook "vmaintenanceplan\.drydock\.dev"/,
    );
  });
});
