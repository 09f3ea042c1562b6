import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type Api, clientsFor } from '../control-plane/objects/api.ts';
import { failureIn } from '../control-plane/objects/cluster.ts';
import { until } from '../control-plane/wait.ts';
import { type OperatorHarness, skipOf, startHarness } from '../operator/harness/harness.ts';
import { makeNode } from '../operator/harness/look.ts';

/**
 * An agent speaks for the node that its pod is on, by the token that the API server has bound to
 * that pod: on every release that is tested.
 */

const started = await startHarness();
const skip = skipOf(started);
const harness = started as OperatorHarness;

const home = 'drydock-agent';
const notices = '/apis/drydock.dev/v1alpha1/nodenotices';
function noticeOf(name: string): object {
  return {
    apiVersion: 'drydock.dev/v1alpha1',
    kind: 'NodeNotice',
    metadata: { name },
    spec: { provider: 'aws', instance: 'i-0', observedTime: '2026-01-01T00:00:00Z', events: [] },
  };
}

describe('the agent of a node', { skip, timeout: 60_000 }, () => {
  const { api, controlPlane } = harness;
  const clients: { close(): void }[] = [];

  /** As a pod of the DaemonSet on that node; unbound without one. */
  const asAgent = async (nodeName?: string): Promise<Api> => {
    const bound = nodeName === undefined ? {} : { boundObjectRef: await podOn(nodeName) };
    const path = `/api/v1/namespaces/${home}/serviceaccounts/drydock-agent/token`;
    const body = {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: { expirationSeconds: 600, ...bound },
    };
    const { status } = await api.post<{ readonly status: { readonly token: string } }>(path, body);
    const opened = clientsFor(() => ({ ...controlPlane.accessOf('admin'), token: status.token }));
    clients.push(opened);
    return opened.apiOf('agent');
  };

  const podOn = async (nodeName: string): Promise<object> => {
    const name = `agent-${nodeName}`;
    const spec = {
      nodeName,
      serviceAccountName: 'drydock-agent',
      containers: [{ name: 'main', image: 'example.test/none:1' }],
    };
    const made = await api.post<{ readonly metadata: { readonly uid: string } }>(
      `/api/v1/namespaces/${home}/pods`,
      {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name },
        spec,
      },
    );
    return { apiVersion: 'v1', kind: 'Pod', name, uid: made.metadata.uid };
  };

  before(async () => {
    const { code, stdout, stderr } = await controlPlane.kubectl([
      'apply',
      '--server-side',
      '-k',
      join(import.meta.dirname, '..', '..', 'deploy', 'agent'),
    ]);
    assert.equal(code, 0, stdout + stderr);
    for (const name of ['agent-1', 'agent-2']) await makeNode(api, name);
    const unbound = await asAgent();
    await until(
      'the policy to be in force',
      async () =>
        (await unbound.call('POST', `${notices}?dryRun=All`, noticeOf('nobody'))).status === 403,
    );
  });
  after(async () => {
    for (const client of clients) client.close();
    await harness.stop();
  });

  test('writes the notice of its own node, and of no other', async () => {
    const agent = await asAgent('agent-1');
    const own = await agent.call('POST', notices, noticeOf('agent-1'));
    assert.equal(own.status, 201, JSON.stringify(own.body));
    const foreign = await agent.call('POST', notices, noticeOf('agent-2'));
    assert.equal(foreign.status, 403);
    assert.match(
      failureIn(foreign).message,
      /an agent may write only the NodeNotice of its own node, not agent-2/,
    );
  });

  test('with a token that is bound to no pod it writes none', async () => {
    const reply = await (await asAgent()).call('POST', notices, noticeOf('agent-2'));
    assert.equal(reply.status, 403, JSON.stringify(reply.body));
  });
});
