import assert from 'node:assert/strict';
import { test } from 'node:test';
import { maintenance, medik8s } from '@drydock/apis';
import type { KindAdapter } from '@drydock/core/request';
import type { Api, ApiCall } from '@drydock/kube-client';
import { fakeApi } from '../testing/fake-api.ts';
import { creatableKind, maintain, parseMaintainAction, readRelease, release } from './actions.ts';

const full = maintenance('medik8s-leases');
const seed = medik8s('medik8s-leases');
const order = { node: 'w1', reason: '', force: false, deleteEmptyDirData: false };

function specOf(call: ApiCall | undefined): unknown {
  return (call?.body as { readonly spec: unknown } | undefined)?.spec;
}

test('an order is read with its defaults', () => {
  assert.deepEqual(parseMaintainAction({ node: 'w1' }), order);
  assert.deepEqual(parseMaintainAction({ ...order, force: true, more: 1 }), {
    ...order,
    force: true,
  });
});

const wrong: readonly (readonly [unknown, RegExp])[] = [
  [null, /must be an object/],
  [[], /must be an object/],
  ['w1', /must be an object/],
  [{}, /node is missing/],
  [{ node: '' }, /node is missing/],
  [{ node: 7 }, /node is missing/],
  [{ node: 'w1', reason: 7 }, /reason must be a string/],
  [{ node: 'w1', force: 'yes' }, /true or false/],
  [{ node: 'w1', deleteEmptyDirData: 1 }, /true or false/],
];

for (const [raw, message] of wrong) {
  test(`no order: ${JSON.stringify(raw)}`, () => {
    const read = parseMaintainAction(raw);
    assert.ok(typeof read === 'string');
    assert.match(read, message);
  });
}

test('a release names one maintenance', () => {
  assert.deepEqual(readRelease({ store: full.name, name: 'w1' }), { store: full.name, name: 'w1' });
  assert.deepEqual(readRelease({ store: 's', namespace: 'n', name: 'w1' }), {
    store: 's',
    namespace: 'n',
    name: 'w1',
  });
  for (const raw of [
    null,
    {},
    { store: 's' },
    { name: 'w1' },
    { store: 's', name: 'w1', namespace: 1 },
  ]) {
    assert.equal(typeof readRelease(raw), 'string', JSON.stringify(raw));
  }
});

test('the kind with a policy is made where it is served, else the one that it replaces', () => {
  assert.equal(creatableKind([seed, full])?.kind, 'Maintenance');
  assert.equal(creatableKind([seed])?.kind, 'NodeMaintenance');
  assert.equal(creatableKind([]), undefined);
});

test('what is asked for is what is made', async () => {
  const api = fakeApi(201);
  const asked = await maintain(api, full, { ...order, reason: ' new disk ', force: true });
  assert.equal(asked.status, 201);
  assert.deepEqual(
    api.calls.map(({ method, path }) => `${method} ${path}`),
    ['POST /apis/drydock.dev/v1alpha1/maintenances'],
  );
  assert.deepEqual(specOf(api.calls[0]), {
    nodeName: 'w1',
    level: 'Drain',
    reason: 'new disk',
    drain: { force: true, deleteEmptyDirData: false },
  });
});

test('a kind that destroys unasked is made only for somebody who has agreed to it', async () => {
  const api = fakeApi(201);
  const refused = await maintain(api, seed, order);
  assert.deepEqual([refused.status, api.calls.length], [422, 0]);
  assert.match(refused.body.message, /agree to both/);
  assert.equal(
    (await maintain(api, seed, { ...order, force: true, deleteEmptyDirData: true })).status,
    201,
  );
  assert.deepEqual(specOf(api.calls[0]), { nodeName: 'w1' });
});

const answers: readonly (readonly [
  what: string,
  maker: KindAdapter | undefined,
  api: Api,
  status: number,
  words: RegExp,
])[] = [
  ['nothing is served', undefined, fakeApi(500), 409, /drydock install/],
  ['the kind has just gone', full, fakeApi(404), 409, /drydock install/],
  [
    'the user may not',
    full,
    fakeApi(403, { message: 'maintenances is forbidden' }),
    403,
    /^maintenances is forbidden$/,
  ],
  ['a webhook says no', full, fakeApi(409, { message: 'already exists' }), 409, /^already exists$/],
  [
    'nobody answers',
    full,
    { call: () => Promise.reject(new Error('ECONNREFUSED')) },
    502,
    /request to the API server failed: ECONNREFUSED/,
  ],
];

for (const [what, maker, api, status, words] of answers) {
  test(`${what}: said in words`, async () => {
    const said = await maintain(api, maker, order);
    assert.equal(said.status, status);
    assert.match(said.body.message, words);
  });
}

test('a release ends that very object, and one that has ended already is released', async () => {
  const request = full.read({
    apiVersion: full.apiVersion,
    kind: full.kind,
    metadata: {
      name: 'w1',
      uid: 'u1',
      resourceVersion: '1',
      creationTimestamp: '2026-01-01T00:00:00Z',
      generation: 1,
    },
    spec: { nodeName: 'w1' },
  });
  assert.ok(typeof request !== 'string');
  const api = fakeApi(200);
  assert.equal((await release(api, request)).status, 200);
  assert.deepEqual(
    api.calls.map(({ method, path, body }) => [
      method,
      path,
      (body as { readonly preconditions: unknown }).preconditions,
    ]),
    [['DELETE', '/apis/drydock.dev/v1alpha1/maintenances/w1', { uid: 'u1' }]],
  );
  assert.equal((await release(fakeApi(404), request)).status, 200);
  assert.equal((await release(fakeApi(403, { message: 'no' }), request)).status, 403);
});
