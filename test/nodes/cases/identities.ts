import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { defaultNamespace as home } from '@drydock/cli/install';
import { makeServing } from '@drydock/operator/admission';
import { clientsFor } from '../../control-plane/objects/api.ts';
import { create, failureIn, nodePath, nodesReady } from '../../control-plane/objects/cluster.ts';
import { isReady, type List, type Pod } from '../../control-plane/objects/objects.ts';
import { until, waitFor } from '../../control-plane/wait.ts';
import {
  maintenance,
  maintenancePath,
  remove,
  untilMaintenance,
} from '../../operator/harness/look.ts';
import type { NodeBed } from '../bed.ts';
import {
  failures,
  figure,
  keepCreating,
  processesOf,
  rssOf,
  seconds,
  tokenOf,
} from '../figures.ts';
import { helm, replicas } from '../product.ts';

/** Certificates, tokens and who they belong to. */

type Secret = { readonly data: Readonly<Record<string, string>> };

const secretPath = `/api/v1/namespaces/${home}/secrets/drydock-webhook-cert`;
const day = { hours: 24 };

function certificateCase({ api }: NodeBed): void {
  test('the webhook’s certificate runs out and is made anew, and no create fails', async t => {
    const text = (await api.get<Secret>(secretPath)).data;
    const plain = (key: string): string => Buffer.from(text[key] ?? '', 'base64').toString();
    const names = [`drydock-webhook.${home}.svc`, `drydock-webhook.${home}.svc.cluster.local`];
    const lastYear = Temporal.Now.instant().subtract({ hours: 366 * day.hours });
    const old = await makeServing({ cert: plain('ca.crt'), key: plain('ca.key') }, names, lastYear);
    const creating = keepCreating(api, 'node-3');
    const data = {
      'tls.crt': Buffer.from(old.cert).toString('base64'),
      'tls.key': Buffer.from(old.key).toString('base64'),
    };
    await api.patch(secretPath, { data });
    const renewed = async (): Promise<boolean> =>
      (await api.get<Secret>(secretPath)).data['tls.crt'] !== data['tls.crt'];
    const since = performance.now();
    await until('the certificate to be renewed', renewed);
    figure(
      t,
      'a certificate that has run out is renewed after',
      seconds(performance.now() - since),
    );
    // The other replica looks every ten seconds.
    await new Promise(resolve => setTimeout(resolve, 11_000));
    const attempts = await creating.stop();
    assert.deepEqual(failures(attempts), []);
    assert.ok(attempts.length > 50);
  });
}

function untilTokens(
  pods: readonly Pod[],
  isWanted: (token: string, at: number) => boolean,
): Promise<void> {
  return until(
    'the kubelets to write other tokens',
    async () => pods.every((pod, at) => isWanted(tokenOf(pod), at)),
    { deadlineMs: 60_000 },
  );
}

/**
 * Kubelets keep tokens in memory until most of their time is over; a kubelet that starts asks for
 * new ones.
 */
async function restartKubelets(bed: NodeBed): Promise<void> {
  for (const node of bed.nodes) node.stopService('kubelet');
  await new Promise(resolve => setTimeout(resolve, 500));
  for (const node of bed.nodes) node.startService('kubelet');
  await nodesReady(
    bed.api,
    bed.nodes.map(({ name }) => name),
  );
}

function tokenCase(bed: NodeBed): void {
  const { api, controlPlane } = bed;
  test('the key of the service accounts is replaced under the running replicas', async t => {
    const [file, pods] = [join(controlPlane.folder, 'sa.key'), await replicas(api)];
    const [old, before] = [readFileSync(file, 'utf8'), pods.map(tokenOf)];
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const fresh = privateKey.export({ type: 'sec1', format: 'pem' });
    // As it is done in clusters: both are believed, the new one signs; then the old one is believed
    // no more.
    writeFileSync(file, fresh + old);
    await controlPlane.restart('kube-apiserver');
    await restartKubelets(bed);
    await untilTokens(pods, (token, at) => token !== before[at]);
    writeFileSync(file, fresh);
    await controlPlane.restart('kube-apiserver');
    const since = performance.now();
    await create(api, maintenance('after-the-key', { nodeName: 'node-3' }));
    await untilMaintenance(api, 'after-the-key', 'Drained');
    figure(
      t,
      'Drained after the API server has another key of service accounts',
      seconds(performance.now() - since),
    );
    await remove(api, maintenancePath('after-the-key'));
  });
}

function kubeletCase({ api, controlPlane }: NodeBed): void {
  test('a kubelet can neither write the record of its node’s maintenance nor end it', async () => {
    const kubelet = controlPlane.apiOf('node-3');
    const merge = 'application/merge-patch+json';
    await create(api, maintenance('of-node-3', { nodeName: 'node-3' }));
    await untilMaintenance(api, 'of-node-3', 'Drained');
    const record = await kubelet.call(
      'PATCH',
      nodePath('node-3'),
      { metadata: { annotations: { 'drydock.dev/before': '{}' } } },
      merge,
    );
    assert.equal(record.status, 403);
    assert.match(
      failureIn(record).message,
      /a node must not change its annotation drydock\.dev\/before/,
    );
    const taints = await kubelet.call(
      'PATCH',
      nodePath('node-3'),
      { spec: { taints: null } },
      merge,
    );
    assert.equal(taints.status, 403, JSON.stringify(taints.body));
    const end = await kubelet.call('DELETE', maintenancePath('of-node-3'));
    assert.equal(end.status, 403);
    await remove(api, maintenancePath('of-node-3'));
  });
}

function agentCase(bed: NodeBed): void {
  const { api, controlPlane } = bed;
  const agents = '/api/v1/namespaces/drydock-agent/pods';
  test('the agent runs on every node, stays there in a drain, and its token speaks for its own node alone', async t => {
    const more = ['--reuse-values', '--set', 'agent.enabled=true', '--force-conflicts'];
    await helm(bed, 'upgrade', 'drydock', join(bed.product, 'chart.tgz'), ...more);
    const found = await waitFor(
      'three agents',
      async () => {
        const { items } = await api.get<List<Pod>>(agents);
        const ready = items.filter(isReady);
        return ready.length === bed.nodes.length
          ? { done: ready }
          : { yet: JSON.stringify(items.map(({ status }) => status)).slice(0, 800) };
      },
      { deadlineMs: 60_000 },
    );
    const here = found.find(({ spec }) => spec.nodeName === 'node-3');
    assert.ok(here);
    const clients = clientsFor(() => ({ ...controlPlane.accessOf('admin'), token: tokenOf(here) }));
    const notice = (name: string) =>
      clients.apiOf('agent').call('POST', '/apis/drydock.dev/v1alpha1/nodenotices?dryRun=All', {
        apiVersion: 'drydock.dev/v1alpha1',
        kind: 'NodeNotice',
        metadata: { name },
        spec: {
          provider: 'aws',
          instance: 'i-0',
          observedTime: '2026-01-01T00:00:00Z',
          events: [],
        },
      });
    // The policy came with the agents, and the API server reads new ones once a second.
    const refused = async () =>
      (await notice('node-1')).status === 403 ? { done: undefined } : { yet: 'it was not refused' };
    await waitFor('a notice about another node to be refused', refused, { deadlineMs: 10_000 });
    assert.equal((await notice('node-3')).status, 201);
    clients.close();
    await create(api, maintenance('beside-agents', { nodeName: 'node-3' }));
    await untilMaintenance(api, 'beside-agents', 'Drained');
    assert.equal(
      (await api.get<Pod>(`${agents}/${here.metadata.name}`)).metadata.uid,
      here.metadata.uid,
    );
    await remove(api, maintenancePath('beside-agents'));
    for (const agent of found)
      figure(
        t,
        `RSS of the agent on ${agent.spec.nodeName}`,
        `${rssOf(processesOf(agent)[0] ?? 0).toFixed(0)} MiB`,
      );
  });
}

/** On a bed with the product installed by its chart, and settled. */
export function identityCases(bed: NodeBed): void {
  certificateCase(bed);
  tokenCase(bed);
  kubeletCase(bed);
  agentCase(bed);
}
