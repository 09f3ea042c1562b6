import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { ensureBuilt } from '../control-plane/build/go-build.ts';
import { create, nodesReady } from '../control-plane/objects/cluster.ts';
import { namespace, node } from '../control-plane/objects/manifests.ts';
import { until } from '../control-plane/wait.ts';
import { type EmbeddedForClients, startForClients } from './embedded-cluster.ts';

/**
 * An operator built with controller-runtime, on the embedded cluster: leader election, finalizers,
 * events, owned objects, a cache of pods.
 */

const built = await ensureBuilt({
  name: 'controller-runtime-operator',
  module: join(import.meta.dirname, 'operator'),
  salt: '',
  announcement:
    'building an operator with controller-runtime for the tests, half a minute the first time,',
  build: async (folder, go) => {
    await go(['build', '-o', join(folder, 'operator'), '-ldflags', '-s -w', '.']);
    await go(['test', '-c', '-o', join(folder, 'envtest'), '-ldflags', '-s -w', '.']);
  },
});
const started = built.kind === 'left-out' ? built : await startForClients({ isAlive: () => true });
const skip = started.kind === 'left-out' ? `control plane left out: ${started.why}` : false;
const embedded = started as EmbeddedForClients;

type Asked = {
  readonly metadata: {
    readonly uid: string;
    readonly annotations?: Record<string, string>;
    readonly finalizers?: readonly string[];
  };
};

describe('an operator of controller-runtime on the embedded cluster', {
  skip,
  timeout: 120_000,
}, () => {
  const { api } = embedded;
  const path = '/api/v1/namespaces/clients/configmaps/web';
  const deployment = '/apis/apps/v1/namespaces/clients/deployments/web';

  before(async () => {
    if (built.kind === 'left-out') return;
    await create(api, namespace('clients'), node('n1'));
    await nodesReady(api, ['n1']);
    for (const name of ['operator-1', 'operator-2'])
      embedded.run({
        name,
        command: join(built.folder, 'operator'),
        args: [],
        environment: { KUBECONFIG: embedded.kubeconfig },
      });
  });
  after(() => embedded.stop());

  test('one of two leads', async () => {
    await until('a leader', async () => {
      const { body } = await api.call(
        'GET',
        '/apis/coordination.k8s.io/v1/namespaces/default/leases/operator.example.test',
      );
      return (
        (body as { readonly spec?: { readonly holderIdentity?: string } }).spec?.holderIdentity !==
        undefined
      );
    });
  });

  test('it makes what a config map asks for, and counts its pods from its cache', async () => {
    await api.post('/api/v1/namespaces/clients/configmaps', {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'web', labels: { 'example.test/web': 'yes' } },
      data: { replicas: '3' },
    });
    await until(
      'three pods to be counted',
      async () => (await api.get<Asked>(path)).metadata.annotations?.['example.test/ready'] === '3',
    );
    const { metadata } = await api.get<Asked>(path);
    assert.deepEqual(metadata.finalizers, ['example.test/kept']);
    const owned = await api.get<{
      readonly metadata: { readonly ownerReferences?: readonly { readonly uid: string }[] };
    }>(deployment);
    assert.equal(owned.metadata.ownerReferences?.[0]?.uid, metadata.uid);
    const { items } = await api.get<{
      readonly items: readonly {
        readonly reason: string;
        readonly involvedObject: { readonly uid?: string };
      }[];
    }>('/api/v1/namespaces/clients/events');
    assert.ok(
      items.some(
        ({ reason, involvedObject }) => reason === 'Created' && involvedObject.uid === metadata.uid,
      ),
    );
  });

  test('a pod that goes is counted anew', async () => {
    const { items } = await api.get<{
      readonly items: readonly { readonly metadata: { readonly name: string } }[];
    }>('/api/v1/namespaces/clients/pods');
    await api.delete(`/api/v1/namespaces/clients/pods/${items[0]?.metadata.name ?? ''}`);
    await until(
      'fewer',
      async () => (await api.get<Asked>(path)).metadata.annotations?.['example.test/ready'] !== '3',
    );
    await until(
      'three again',
      async () => (await api.get<Asked>(path)).metadata.annotations?.['example.test/ready'] === '3',
    );
  });

  test('what is deleted is released once all that it had is gone', async () => {
    await api.delete(path);
    await until('it to be gone', async () => (await api.call('GET', path)).status === 404);
    assert.equal((await api.call('GET', deployment)).status, 404);
  });

  test("somebody's own tests with envtest use the cluster that is there, as docs/embedded.md says", async () => {
    if (built.kind === 'left-out') return;
    const env = { ...process.env, KUBECONFIG: embedded.kubeconfig, USE_EXISTING_CLUSTER: 'true' };
    const { stdout } = await promisify(execFile)(
      join(built.folder, 'envtest'),
      ['-test.v', '-test.count=1'],
      { env, timeout: 60_000 },
    );
    assert.match(stdout, /--- PASS: TestExistingCluster/);
  });

  test('it has spoken protobuf, and nothing that it asked for was refused', () => {
    const theirs = embedded.heard.filter(({ userAgent }) => userAgent.startsWith('operator/'));
    assert.ok(
      theirs.some(({ contentType }) =>
        contentType.startsWith('application/vnd.kubernetes.protobuf'),
      ),
    );
    const refused = theirs.filter(
      ({ status }) => status >= 400 && status !== 404 && status !== 409,
    );
    assert.deepEqual(
      refused.map(({ status, url }) => `${status} ${url}`),
      [],
    );
  });
});
