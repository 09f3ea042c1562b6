import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { connect } from '@drydock/kube-client';
import { type OperatorHarness, skipOf, startHarness } from '../operator/harness/harness.ts';

/** What an API server that has just started says, and who has to wait for it. */

const started = await startHarness();
const skip = skipOf(started);
const harness = started as OperatorHarness;

describe('an API server that starts', { skip, timeout: 60_000 }, () => {
  after(() => harness.stop());

  test('asks for patience with what it does not serve yet, for 5 s; nobody waits for that with what it serves', async () => {
    const { controlPlane } = harness;
    await using stack = new AsyncDisposableStack();
    const connection = await connect({
      kubeconfig: controlPlane.kubeconfigOf('admin'),
      env: {},
      userAgent: 'test',
    });
    stack.defer(() => connection.close());
    const ended = new AbortController();
    stack.defer(() => ended.abort());
    const said = new Set<string>();
    const asking = (async (): Promise<void> => {
      while (!ended.signal.aborted) {
        const answered = await connection
          .call({ method: 'GET', path: '/apis/drydock.dev/v1alpha1/maintenances' })
          .catch(() => undefined);
        if (answered !== undefined)
          said.add(`${answered.status} ${answered.headers['retry-after'] ?? ''}`.trim());
        await new Promise(resolve => setTimeout(resolve, 5));
      }
    })();
    await controlPlane.restart('kube-apiserver');
    const since = performance.now();
    const { status } = await connection.call({ method: 'GET', path: '/api/v1/namespaces/default' });
    const waited = performance.now() - since;
    ended.abort();
    await asking;
    assert.equal(status, 200);
    assert.ok(said.has('503 5'), [...said].join());
    assert.ok(waited < 1000, `${waited} ms`);
  });
});
