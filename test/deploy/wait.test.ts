import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { startControlPlane } from '../control-plane/control-plane.ts';
import { create, nodesReady } from '../control-plane/objects/cluster.ts';
import { node } from '../control-plane/objects/manifests.ts';
import type { Outcome } from '../control-plane/processes/command.ts';
import { freePorts } from '../control-plane/processes/ports.ts';
import type { ControlPlane } from '../control-plane/types.ts';
import { until } from '../control-plane/wait.ts';
import { operatorsOn } from '../operator/harness/harness.ts';
import { drydock, operatorUsers } from '../operator/harness/shipped.ts';
import { callWebhookAt } from '../operator/harness/webhook-address.ts';

/** drydock install --apply --wait: ends when the operator serves, or says why it does not. */

const started = await startControlPlane({ audit: true, users: operatorUsers });
const leftOut = started.kind === 'left-out' ? `control plane left out: ${started.why}` : false;
const skip =
  leftOut ||
  (started.kind === 'started' &&
    started.external &&
    'it installs itself: it needs a control plane of its own');
const controlPlane = started as ControlPlane;
const home = 'drydock-system';
const configuration =
  '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/drydock';

describe('install --apply --wait', { skip, timeout: 240_000 }, () => {
  const { api } = controlPlane;
  after(() => controlPlane.stop());
  const install = (...args: readonly string[]): Promise<Outcome> =>
    drydock(['install', '--apply', '--wait', ...args, '--kubeconfig', controlPlane.kubeconfig]);

  test('pods that no node takes are named when the time is over, with what the scheduler says', async () => {
    const { code, stdout, stderr } = await install('--timeout', '4s', '--with', 'api-priority');
    assert.equal(code, 1);
    assert.match(
      stdout,
      /^deployment\.apps\/drydock serverside-applied$/m,
      'what is applied stays',
    );
    assert.match(stderr, /^waiting: Deployment drydock: 0 of 2 updated replicas are available/m);
    assert.match(
      stderr,
      /^drydock: after 4s: Deployment drydock: 0 of 2 updated replicas are available; pod drydock-\S+: Unschedulable: no nodes available to schedule pods, .*\. What is applied stays; drydock check looks at all of it$/m,
    );
  });

  test('pods that are refused are named, with what refused them', async () => {
    const quota = {
      apiVersion: 'v1',
      kind: 'ResourceQuota',
      metadata: { name: 'full', namespace: home },
      spec: { hard: { pods: '0' } },
    };
    await create(api, quota);
    const { code, stderr } = await install('--timeout', '4s', '--image', 'example.test/drydock:2');
    assert.equal(code, 1);
    assert.match(
      stderr,
      /^drydock: after 4s: Deployment drydock: 0 of 2 new replicas have been updated; pods are refused: pods "drydock-\S+" is forbidden: exceeded quota: full/m,
    );
    await api.delete(`/api/v1/namespaces/${home}/resourcequotas/full`);
  });

  test('it waits until the Deployment is rolled out, a replica leads and the webhook answers; watching, and not asking again and again', async () => {
    await api.delete(configuration);
    await create(api, node('n1'), node('n2'));
    await nodesReady(api, ['n1', 'n2']);
    const mark = controlPlane.audit.mark();
    const installing = install('--timeout', '1m');
    await until('a leader to be waited for', async () =>
      (await controlPlane.audit.since(mark)).some(
        ({ user, resource, verb }) => user === 'admin' && resource === 'leases' && verb === 'watch',
      ),
    );
    const [port = 0] = await freePorts(1);
    const flags = [
      '--leader-elect',
      '--leader-election-namespace',
      home,
      `--webhook-port=${port}`,
      '--webhook-extra-name=127.0.0.1',
    ];
    const operator = await operatorsOn(controlPlane)({ flags });
    await callWebhookAt(api, port);
    const { code, stdout, stderr } = await installing;
    assert.equal(code, 0, stdout + stderr);
    assert.match(stderr, /^waiting: no replica leads yet$/m);
    assert.match(
      stdout,
      /\ndeployment "drydock" successfully rolled out\ncheck: nothing is wrong, and the webhook answers\nnext: drydock maintain NODE --reason WHY --wait\n$/,
    );
    const asked = (await controlPlane.audit.since(mark)).filter(
      ({ user, verb, resource }) => user === 'admin' && verb === 'list' && resource === 'pods',
    );
    assert.ok(asked.length <= 2, `${asked.length} lists of pods`);

    const again = await install('--timeout', '1m');
    assert.equal(
      again.code,
      1,
      'the address of a webhook is set by another manager here, which is told before anything is waited for',
    );
    await operator.running.stop();
  });

  test('wrong calls end with 2 and one line', async () => {
    for (const [args, text] of [
      [['--wait'], /--wait is for --apply/],
      [['--apply', '--wait', '--dry-run=server'], /--wait is for --apply, and not for a dry run/],
      [['--apply', '--wait', '--without', 'operator'], /--without operator leaves out/],
      [['--apply', '--wait', '--timeout', 'soon'], /invalid value "soon" for --timeout/],
    ] as const) {
      const { code, stdout, stderr } = await drydock(['install', ...args]);
      assert.deepEqual([code, stdout], [2, ''], stderr);
      assert.match(stderr, text);
    }
  });
});
