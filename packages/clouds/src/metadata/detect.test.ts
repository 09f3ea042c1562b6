import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '@drydock/utils';
import { type Answer, type ServedRequest, serving } from '@drydock/utils/testing';
import { detectCloud, type MetadataProvider } from './http.ts';

const { signal } = new AbortController();
const otherwise: Answer = { status: 404, text: 'not here' };

const clouds: readonly (readonly [
  string,
  MetadataProvider | undefined,
  (asked: ServedRequest) => Answer,
])[] = [
  [
    'EC2',
    'aws',
    ({ method, path }) =>
      method === 'PUT' && path === '/latest/api/token' ? { text: 'AQAEA==' } : otherwise,
  ],
  [
    'Azure',
    'azure',
    ({ path, headers }) => {
      if (headers['metadata'] !== 'true') return { status: 400, text: 'Bad Request' };
      return path.startsWith('/metadata/instance/compute')
        ? { text: '{"vmId":"v","name":"n"}' }
        : otherwise;
    },
  ],
  [
    'Compute Engine, which refuses PUT',
    'gcp',
    ({ method, headers }) => {
      if (method !== 'GET') return { status: 405 };
      return headers['metadata-flavor'] === 'Google'
        ? { text: '123', headers: { 'Metadata-Flavor': 'Google' } }
        : { status: 403 };
    },
  ],
  [
    'OpenStack, which has EC2`s paths but for tokens',
    undefined,
    ({ path }) => (path.includes('meta-data') ? { text: 'i-1' } : otherwise),
  ],
  ['a captive portal', undefined, () => ({ text: '<html>please log in</html>' })],
  ['nothing of the kind', undefined, () => otherwise],
];
for (const [what, cloud, answer] of clouds) {
  test(`${what} is ${cloud}`, async () => {
    await using server = await serving(answer);
    assert.equal(await detectCloud({ clock: systemClock, signal, base: server.base }), cloud);
    assert.equal(server.asked.length, 3);
  });
}

test('nobody answers in time, or at all: no cloud', async () => {
  const server = await serving(() => 'hang');
  assert.equal(
    await detectCloud({ clock: systemClock, signal, base: server.base, timeoutMs: 50 }),
    undefined,
  );
  await server[Symbol.asyncDispose]();
  assert.equal(await detectCloud({ clock: systemClock, signal, base: server.base }), undefined);
});
