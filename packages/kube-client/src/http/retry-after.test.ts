import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pathTemplate, pauseAsked, retryAfterMs } from './exchange.ts';

const now = Temporal.Instant.from('2026-01-01T00:00:00Z');

test('Retry-After: seconds, a date, nonsense, nothing, too much', () => {
  assert.equal(retryAfterMs('3', now), 3000);
  assert.equal(retryAfterMs('Thu, 01 Jan 2026 00:00:05 GMT', now), 5000);
  assert.equal(retryAfterMs('Wed, 31 Dec 2025 00:00:05 GMT', now), 0);
  assert.equal(retryAfterMs('soon', now), undefined);
  assert.equal(retryAfterMs(undefined, now), undefined);
  assert.equal(retryAfterMs('3600', now), 60_000);
});

test('who must wait: the client for what is about the server, nobody for what is about one object', () => {
  const pause = (status: number, body: unknown, header: string | undefined = '1') =>
    pauseAsked({ status, body, headers: { 'retry-after': header } }, now);
  assert.equal(pause(429, 'Too many requests, please try again later.\n'), 1000);
  assert.equal(pause(429, 'Too many requests, please try again later.\n', ''), undefined);
  assert.equal(
    pause(
      429,
      { message: 'storage is (re)initializing', details: { retryAfterSeconds: 30 } },
      '30',
    ),
    undefined,
  );
  assert.equal(pause(429, 'admission webhook "x" denied the request'), undefined);
  assert.equal(
    pause(429, { message: 'no', details: { causes: [{ reason: 'DisruptionBudget' }] } }),
    undefined,
  );
  assert.equal(pause(429, { message: 'no', details: { name: 'pod-1', kind: 'pods' } }), undefined);
  assert.equal(pause(429, { message: 'admission webhook "x" denied the request' }), undefined);
  assert.equal(pause(503, 'no server is available'), 1000);
  const goesDown = { 'retry-after': '5', connection: 'close' };
  const ending = 'The apiserver is shutting down, please try again later.\n';
  assert.equal(pauseAsked({ status: 429, body: ending, headers: goesDown }, now), undefined);
  const starting =
    'the request has been made before all known HTTP paths have been installed, please try again';
  assert.equal(
    pause(503, { message: starting, details: { retryAfterSeconds: 5 } }, '5'),
    undefined,
  );
  assert.equal(pause(500, 'x'), undefined);
});

test('paths without names', () => {
  const table: Readonly<Record<string, string>> = {
    '/api/v1/nodes': '/api/v1/nodes',
    '/api/v1/nodes/n1/status': '/api/v1/nodes/{name}/status',
    '/api/v1/namespaces': '/api/v1/namespaces',
    '/api/v1/namespaces/a': '/api/v1/namespaces/{name}',
    '/api/v1/namespaces/a/status': '/api/v1/namespaces/{name}/status',
    '/api/v1/namespaces/a/pods/p/eviction': '/api/v1/namespaces/{namespace}/pods/{name}/eviction',
    '/apis/apps/v1/namespaces/a/deployments': '/apis/apps/v1/namespaces/{namespace}/deployments',
    '/apis/drydock.dev/v1alpha1/maintenances/m': '/apis/drydock.dev/v1alpha1/maintenances/{name}',
    '/readyz': '/readyz',
    '/api': '/api',
    '/apis/apps/v1': '/apis/apps/v1',
  };
  for (const [path, template] of Object.entries(table)) assert.equal(pathTemplate(path), template);
});
