import assert from 'node:assert/strict';
import type { Api } from '../../control-plane/objects/api.ts';
import { until } from '../../control-plane/wait.ts';
import { maintenance } from './look.ts';

type Configuration = {
  readonly webhooks: readonly {
    readonly clientConfig: { readonly service: { readonly path: string } };
  }[];
};

const path = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/drydock';

/**
 * There is no network in which the API server could reach a Service: the webhook is called at a
 * port of this machine, everything else is as shipped.
 */
export async function callWebhookAt(api: Api, port: number): Promise<void> {
  const { webhooks } = await api.get<Configuration>(path);
  const patch = webhooks.map(({ clientConfig }, index) => ({
    op: 'replace',
    path: `/webhooks/${index}/clientConfig`,
    value: { url: `https://127.0.0.1:${port}${clientConfig.service.path}` },
  }));
  const { status } = await api.call('PATCH', path, patch, 'application/json-patch+json');
  assert.equal(status, 200);
}

/**
 * For tests without an operator that serves it. An API server goes on calling for a moment what has
 * been deleted: resolves when it calls nobody any more.
 */
export async function removeWebhook(api: Api): Promise<void> {
  await api.call('DELETE', path);
  const collection = '/apis/drydock.dev/v1alpha1/maintenances?dryRun=All';
  await until(
    'the webhook not to be called any more',
    async () => (await api.call('POST', collection, maintenance('nobody'))).status < 500,
  );
}
