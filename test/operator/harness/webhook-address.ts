import assert from 'node:assert/strict';
import type { Api } from '../../control-plane/objects/api.ts';

type Configuration = { readonly webhooks: readonly { readonly clientConfig: { readonly service: { readonly path: string } } }[] };

const path = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/drydock';

/** There is no network in which the API server could reach a Service: the webhook is called at a port of this machine, everything else is as shipped. */
export const callWebhookAt = async (api: Api, port: number): Promise<void> => {
  const { webhooks } = await api.get<Configuration>(path);
  const patch = webhooks.map(({ clientConfig }, index) => ({
    op: 'replace',
    path: `/webhooks/${index}/clientConfig`,
    value: { url: `https://127.0.0.1:${port}${clientConfig.service.path}` },
  }));
  const { status } = await api.call('PATCH', path, patch, 'application/json-patch+json');
  assert.equal(status, 200);
};
