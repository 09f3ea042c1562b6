import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { WebhookSettings } from '@drydock/operator/manager';
import { UsageError } from '@drydock/utils';
import { type WebhookFlags, webhookSettings } from './webhook-flags.ts';

function settings(
  flags: WebhookFlags = {},
  env: Readonly<Record<string, string>> = {},
): WebhookSettings | undefined {
  return webhookSettings(flags, env);
}

const pod = { KUBERNETES_SERVICE_HOST: '10.0.0.1' };
const defaults = {
  service: 'drydock-webhook',
  configuration: 'drydock',
  extraNames: [],
  shutdownDelayMs: 0,
};
const inPod = { ...defaults, shutdownDelayMs: 5000 };

test('the webhook is off outside a pod, unless a port is given', () => {
  assert.equal(settings(), undefined);
  assert.equal(settings({}, { POD_NAMESPACE: 'here' }), undefined);
  assert.equal(settings({}, pod), undefined);
  assert.deepEqual(settings({ webhookPort: '9443' }), { port: 9443, ...defaults });
});

test('it is on in a pod that knows its namespace, at the port that the Services of the replaced operators lead to', () => {
  assert.deepEqual(settings({}, { ...pod, POD_NAMESPACE: 'here' }), {
    port: 9443,
    namespace: 'here',
    ...inPod,
  });
  assert.deepEqual(settings({}, { ...pod, OPERATOR_NAMESPACE: 'there' }), {
    port: 9443,
    namespace: 'there',
    ...inPod,
  });
  assert.equal(
    settings({}, { ...pod, POD_NAMESPACE: 'here', OPERATOR_NAMESPACE: 'there' })?.namespace,
    'here',
  );
  assert.equal(settings({}, { ...pod, POD_NAMESPACE: '', OPERATOR_NAMESPACE: '' }), undefined);
  assert.equal(settings({ webhookPort: '0' }, { ...pod, POD_NAMESPACE: 'here' }), undefined);
});

test('everything else can be named', () => {
  const flags = {
    webhookPort: '1',
    webhookCertDir: '/certs',
    webhookServiceName: 'svc',
    webhookConfigurationName: 'conf',
    webhookExtraName: ['127.0.0.1', 'localhost'],
    shutdownDelayDuration: '1500ms',
  };
  assert.deepEqual(settings(flags), {
    port: 1,
    certDir: '/certs',
    service: 'svc',
    configuration: 'conf',
    extraNames: ['127.0.0.1', 'localhost'],
    shutdownDelayMs: 1500,
  });
  assert.deepEqual(
    settings({
      webhookPort: '1',
      webhookCertDir: '',
      webhookServiceName: '',
      webhookConfigurationName: '',
    }),
    {
      port: 1,
      ...defaults,
    },
  );
});

for (const port of ['', '-1', '65536', '9443.5', ':9443', '0x10']) {
  test(`--webhook-port "${port}" is refused in one line that names flag and value, and says what it takes`, () => {
    assert.throws(
      () => settings({ webhookPort: port }),
      (error: unknown) =>
        error instanceof UsageError &&
        error.message ===
          `invalid value "${port}" for --webhook-port: expected a port number, or 0 to switch it off`,
    );
  });
}
