import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import {
  budgetAllows,
  create,
  evict,
  nodesReady,
  podsReady,
} from '../control-plane/objects/cluster.ts';
import { budget, deployment, namespace, node } from '../control-plane/objects/manifests.ts';
import { run } from '../control-plane/processes/command.ts';
import { programOf } from '../control-plane/programs.ts';
import { main } from '../operator/harness/shipped.ts';
import { type EmbeddedForClients, startForClients } from './embedded-cluster.ts';

/** kwok as the kubelet of the embedded cluster, in the place of its own. */

const started = await startForClients();
const skip = started.kind === 'left-out' ? `control plane left out: ${started.why}` : false;
const embedded = started as EmbeddedForClients;

describe('kwok on the embedded cluster', { skip, timeout: 120_000 }, () => {
  const { api } = embedded;

  before(async () => {
    const { binaries, folder, kubeconfig } = embedded;
    const ports = { etcdPort: 0, peerPort: 0, apiPort: 0 };
    const site = {
      folder,
      minor: binaries.release.minor,
      controlplane: binaries.controlplane,
      kwok: binaries.kwok,
      ...ports,
    };
    embedded.run(
      programOf(
        { ...site, audit: false, aggregation: false, flags: {}, kubeconfigOf: () => kubeconfig },
        'kwok',
      ),
    );
    await create(api, namespace('played'), node('k1'), node('k2'));
  });
  after(() => embedded.stop());

  test('makes nodes Ready, and keeps their leases', async () => {
    await nodesReady(api, ['k1', 'k2']);
    const leases = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/k1';
    const { spec } = await api.get<{ readonly spec: { readonly holderIdentity?: string } }>(leases);
    assert.notEqual(spec.holderIdentity, undefined);
  });

  test('starts pods, which budgets count, and ends them', async () => {
    await create(
      api,
      deployment('web', { namespace: 'played', replicas: 2 }),
      budget('web', { namespace: 'played', maxUnavailable: 1 }),
    );
    await podsReady(api, 'played', 2);
    await budgetAllows(api, 'played', 'web', 1);
    const [first, second] = (await podsReady(api, 'played', 2)).map(
      ({ metadata }) => metadata.name,
    );
    assert.equal((await evict(api, 'played', first ?? '')).status, 201);
    assert.equal((await evict(api, 'played', second ?? '')).status, 429);
    await podsReady(api, 'played', 2);
  });

  test('drydock drains its node', async () => {
    const { code, stderr } = await run(process.execPath, [
      main,
      'drain',
      'k1',
      '--kubeconfig',
      embedded.kubeconfig,
      '--ignore-daemonsets',
    ]);
    assert.equal(code, 0, stderr);
    const pods = await podsReady(api, 'played', 2);
    assert.deepEqual(new Set(pods.map(({ spec }) => spec.nodeName)), new Set(['k2']));
  });
});
