import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApiCall } from '@drydock/kube-client';
import { response, ScriptedApi } from '@drydock/operator/testing';
import { changePlan, planNamed, plansOf } from './why-plans.ts';

/** How the commands about plans read and write a plan that others write too. */

function stored(resourceVersion: string): unknown {
  return {
    metadata: { name: 'kernel', uid: 'u', resourceVersion, generation: 1 },
    spec: { nodeSelector: {}, work: { none: {} } },
  };
}
const notFound = response(404, {
  kind: 'Status',
  reason: 'NotFound',
  message: 'maintenanceplans.drydock.dev "kernel" not found',
});

test('a change carries the version that was read; after a conflict the plan is read again', async () => {
  const patches: unknown[] = [];
  let version = 1;
  const api = new ScriptedApi((call: ApiCall) => {
    if (call.method === 'GET') return response(200, stored(String(version)));
    patches.push(call.body);
    version += 1;
    return version === 2
      ? response(409, { reason: 'Conflict', message: 'it has been modified' })
      : response(200, {});
  });
  await changePlan(api, 'kernel', () => ({ state: 'Paused' }));
  assert.deepEqual(patches, [
    { metadata: { uid: 'u', resourceVersion: '1' }, spec: { state: 'Paused' } },
    { metadata: { uid: 'u', resourceVersion: '2' }, spec: { state: 'Paused' } },
  ]);
});

test('nothing is written where nothing is to be changed, and a refusal is not tried again', async () => {
  const api = new ScriptedApi(({ method }: ApiCall) =>
    method === 'GET'
      ? response(200, stored('1'))
      : response(403, { reason: 'Forbidden', message: 'no' }),
  );
  await changePlan(api, 'kernel', () => undefined);
  assert.equal(api.calls.length, 1);
  await assert.rejects(
    changePlan(api, 'kernel', () => ({ state: 'Paused' })),
    /^ApiError: Error from server \(Forbidden\): no$/,
  );
  assert.equal(api.calls.length, 3);
});

test('a plan that is not there is told from a kind that is not there', async () => {
  const served = new ScriptedApi(({ path }: ApiCall) =>
    path.endsWith('/kernel') ? notFound : response(200, { items: [] }),
  );
  await assert.rejects(
    planNamed(served, 'kernel'),
    /\(NotFound\): .*"kernel" not found; drydock plan status lists the plans$/,
  );
  assert.deepEqual(await plansOf(served), []);
  const missing = new ScriptedApi(() => response(404, '404 page not found'));
  for (const read of [planNamed(missing, 'kernel'), plansOf(missing)])
    await assert.rejects(
      read,
      /does not serve MaintenancePlans; install its CRDs: drydock install --apply$/,
    );
});
