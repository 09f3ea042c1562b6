import assert from 'node:assert/strict';
import { Agent, request as ask } from 'node:https';
import { after, before, describe, test } from 'node:test';
import { webhookConfiguration } from '@drydock/apis/admission-rules';
import { failureIn } from '../control-plane/objects/cluster.ts';
import { freePorts } from '../control-plane/processes/ports.ts';
import { until } from '../control-plane/wait.ts';
import {
  type OperatorHarness,
  type OperatorProcess,
  skipOf,
  startHarness,
} from '../operator/harness/harness.ts';
import { maintenance, maintenancePath, makeNode, remove } from '../operator/harness/look.ts';

/**
 * Any pod that reaches the webhook may send it reviews of its own making. It is this machine alone
 * that is flooded here, for some seconds.
 */

const started = await startHarness();
const skip = skipOf(started);
const harness = started as OperatorHarness;

const path = '/validate-drydock-dev-v1alpha1-maintenance';
const maintenances = '/apis/drydock.dev/v1alpha1/maintenances';
const floodMs = 10_000;
const everyMs = 50;

describe('the webhook in a flood', { skip, timeout: 120_000 }, () => {
  const { api } = harness;
  let operator: OperatorProcess;
  let port = 0;

  before(async () => {
    [port = 0] = await freePorts(1);
    await api.post(
      '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations',
      webhookConfiguration(one => ({ url: `https://127.0.0.1:${port}${one}` })),
    );
    await Promise.all(
      ['cp-0', 'cp-1', 'cp-2'].map(name =>
        makeNode(api, name, { labels: { 'node-role.kubernetes.io/control-plane': '' } }),
      ),
    );
    operator = await harness.startOperator({
      flags: [`--webhook-port=${port}`, '--webhook-extra-name=127.0.0.1'],
    });
    await until(
      'the webhook to be trusted',
      async () =>
        (await api.call('POST', `${maintenances}?dryRun=All`, maintenance('none'))).status === 201,
    );
  });
  after(() => harness.stop());

  const agent = new Agent({ keepAlive: true, maxSockets: 400, rejectUnauthorized: false });

  /** Sends one forged review; resolves with the HTTP status, or 0 when the connection was cut. */
  const forge = (index: number): Promise<number> => {
    const kind = { group: 'drydock.dev', version: 'v1alpha1', kind: 'Maintenance' };
    const version =
      index % 3 === 0
        ? `v${index}`
        : index % 3 === 1
          ? `../../../api/v1/secrets?${index}`
          : 'v1alpha1';
    const object = {
      metadata: {
        name: `forged-${index}`,
        uid: index % 2 === 0 ? 'forged' : `forged-${index}`,
        annotations: { big: 'x'.repeat(index % 20 === 0 ? 500_000 : 10) },
      },
      spec: { nodeName: 'cp-1', level: 'Drain' },
    };
    const resource = { group: 'drydock.dev', version, resource: 'maintenances' };
    const body = JSON.stringify({
      apiVersion: 'admission.k8s.io/v1',
      kind: 'AdmissionReview',
      request: {
        uid: `review-${index}`,
        kind,
        resource,
        operation: 'CREATE',
        userInfo: { username: 'system:admin', groups: ['system:masters'] },
        object,
      },
    });
    return new Promise(resolve => {
      const headers = {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
      };
      const sent = ask(
        { host: '127.0.0.1', port, path, method: 'POST', agent, headers },
        answer => {
          answer.resume();
          answer.once('end', () => resolve(answer.statusCode ?? 0));
        },
      );
      sent.once('error', () => resolve(0));
      sent.end(body);
    });
  };

  const measured = async (): Promise<{
    readonly series: number;
    readonly paths: readonly string[];
    readonly bytes: number;
  }> => {
    const text = await (await fetch(operator.metrics)).text();
    const paths = new Set(
      [...text.matchAll(/drydock_api_request_duration_seconds_count\{[^}]*path="([^"]*)"/g)].map(
        ([, one = '']) => one,
      ),
    );
    const bytes = Number(/^process_resident_memory_bytes (\S+)$/m.exec(text)?.[1]);
    return { series: text.split('\n').length, paths: [...paths], bytes };
  };

  test('honest admissions succeed in a flood of forged reviews, and memory, paths and series stay bounded', async () => {
    const before = await measured();
    const answers: Promise<number>[] = [];
    let index = 0;
    const timer = setInterval(() => {
      index += 1;
      answers.push(forge(index));
    }, everyMs);
    setTimeout(() => clearInterval(timer), floodMs);
    await until('the flood to be there', async () => index > 20);

    const asked = performance.now();
    const honest = await api.call('POST', maintenances, maintenance('cp-0'));
    const tookMs = performance.now() - asked;
    assert.equal(honest.status, 201, JSON.stringify(honest.body));
    assert.ok(tookMs < 12_000, `it took ${tookMs} ms`);
    const second = await api.call('POST', maintenances, maintenance('cp-1'));
    assert.equal(second.status, 403, 'and the rule holds all the same');
    assert.match(failureIn(second).message, /2 of 3 control-plane nodes must stay/);
    await remove(api, maintenancePath('cp-0'));
    await Promise.all(answers);

    const after = await measured();
    assert.deepEqual(
      after.paths.filter(one => /secrets\?|forged|v\d+\d/.test(one)),
      [],
      'nothing that a caller writes becomes a path or a label',
    );
    // The first admission brings the paths of what it reads, each with its buckets: some fifteen,
    // however many reviews there are.
    assert.ok(after.paths.length - before.paths.length < 25, after.paths.join('\n'));
    assert.ok(
      after.series - before.series < 25 * 20,
      `${before.series} lines of metrics became ${after.series}`,
    );
    assert.ok(
      after.bytes - before.bytes < 150 * 1024 * 1024,
      `${before.bytes} bytes became ${after.bytes}`,
    );
    assert.ok(operator.running.alive());
    agent.destroy();
  });
});
