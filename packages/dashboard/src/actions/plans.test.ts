import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '@drydock/apimachinery';
import { planAdapter } from '@drydock/apis';
import type { Api } from '@drydock/kube-client';
import { fakeApi } from '../testing/fake-api.ts';
import { applyPlanAction, approvePlan, readPlanApproval, readPlanOrder } from './actions.ts';

const time = '2026-05-01T10:00:00Z';
const named = { plan: 'kernel', uid: 'u1' };

function planOf(spec: JsonObject = {}) {
  return planAdapter.readPlan({
    metadata: {
      name: 'kernel',
      uid: 'u1',
      resourceVersion: '1',
      generation: 1,
      creationTimestamp: time,
    },
    spec: { nodeSelector: {}, work: { none: {} }, ...spec },
    status: {
      observedGeneration: 1,
      waiting: [{ reason: 'Approval', message: 'somebody', startTime: time }],
      run: { id: '1', revision: 'r1', startTime: time, stage: 'canary' },
    },
  });
}

const approval = { run: '1', revision: 'r1', specHash: planOf().specHash, stage: 'canary' };

const deaf: Api = { call: () => Promise.reject(new Error('ECONNREFUSED')) };

test('orders are read, and what is wrong with one is said', () => {
  assert.deepEqual(readPlanOrder({ ...named, what: 'pause', more: 1 }), {
    ...named,
    what: 'pause',
  });
  assert.deepEqual(readPlanApproval({ ...named, ...approval, more: 1 }), { ...named, ...approval });
  const run = { run: '1', revision: 'r1', specHash: 'h1' };
  assert.deepEqual(readPlanApproval({ ...named, ...run }), { ...named, ...run });
  for (const raw of [
    null,
    [],
    'kernel',
    {},
    { plan: 'kernel' },
    { plan: '', uid: 'u1' },
    { plan: 7, uid: 'u1' },
  ]) {
    assert.equal(typeof readPlanOrder(raw), 'string', JSON.stringify(raw));
    assert.equal(typeof readPlanApproval(raw), 'string', JSON.stringify(raw));
  }
  for (const what of [undefined, 7, 'abort', 'constructor'])
    assert.equal(typeof readPlanOrder({ ...named, what }), 'string', String(what));
  for (const raw of [{ run: 1 }, { revision: null }, { specHash: 7 }, { stage: 7 }]) {
    assert.equal(
      typeof readPlanApproval({ ...named, ...approval, ...raw }),
      'string',
      JSON.stringify(raw),
    );
  }
});

test('nothing of a plan is changed but whether it is paused', async () => {
  const api = fakeApi(200);
  assert.equal((await applyPlanAction(api, planOf(), 'pause')).status, 200);
  assert.deepEqual(
    api.calls.map(({ method, path, body }) => [method, path, body]),
    [
      [
        'PATCH',
        '/apis/drydock.dev/v1alpha1/maintenanceplans/kernel',
        { metadata: { uid: 'u1' }, spec: { state: 'Paused', pause: null } },
      ],
    ],
  );
});

test('a plan that is resumed goes on whatever has paused it', async () => {
  const api = fakeApi(200);
  assert.equal(
    (
      await applyPlanAction(
        api,
        planOf({ state: 'Paused', pause: { reason: 'release' } }),
        'resume',
      )
    ).status,
    200,
  );
  assert.deepEqual(api.calls[0]?.body, {
    metadata: { uid: 'u1' },
    spec: { state: 'Running', pause: null },
  });
});

test('an aborted plan is neither resumed nor paused: both would begin it again', async () => {
  const api = fakeApi(200);
  const said = await applyPlanAction(api, planOf({ state: 'Aborted' }), 'resume');
  assert.deepEqual([said.status, api.calls.length], [409, 0]);
  assert.match(said.body.message, /drydock plan rerun kernel/);
  assert.equal((await applyPlanAction(api, planOf({ state: 'Aborted' }), 'pause')).status, 409);
});

test('what is not waited for is not approved, and nobody is asked', async () => {
  const api = fakeApi(201);
  for (const other of [{ run: '2' }, { revision: 'r2' }, { specHash: 'h2' }, { stage: 'rest' }]) {
    assert.equal(
      (await approvePlan(api, planOf(), { ...approval, ...other })).status,
      409,
      JSON.stringify(other),
    );
  }
  assert.equal(
    (await approvePlan(api, planOf(), { run: '1', revision: 'r1', specHash: 'h1' })).status,
    409,
    'the run is something else than a stage',
  );
  assert.equal(api.calls.length, 0);
});

const answers: readonly (readonly [
  what: string,
  api: Api,
  steered: number,
  approved: number,
  words: RegExp,
])[] = [
  ['the user may not', fakeApi(403, { message: 'not you' }), 403, 403, /^not you$/],
  [
    'it has gone',
    fakeApi(404, { message: 'not found' }),
    404,
    404,
    /not found|there is no such plan "kernel" any more/,
  ],
  [
    'somebody was faster',
    fakeApi(409, { message: 'modified', reason: 'Conflict' }),
    409,
    409,
    /^modified$/,
  ],
  ['nobody answers', deaf, 502, 502, /request to the API server failed: ECONNREFUSED/],
];

for (const [what, api, steered, approved, words] of answers) {
  test(`${what}: said in words`, async () => {
    const [one, other] = [
      await applyPlanAction(api, planOf(), 'pause'),
      await approvePlan(api, planOf(), approval),
    ];
    assert.deepEqual([one.status, other.status], [steered, approved]);
    assert.match(one.body.message, words);
    assert.match(other.body.message, words);
  });
}
