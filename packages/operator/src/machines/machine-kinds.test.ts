import assert from 'node:assert/strict';
import { test } from 'node:test';
import { failure, response, ScriptedApi } from '../testing/fakes.ts';
import { machineKindsHere } from './machine-cache.ts';

async function kindsOf(
  served: Readonly<Record<string, readonly string[]>>,
): Promise<readonly string[]> {
  const api = new ScriptedApi(({ path }) => {
    const names = served[path.replace('/apis/', '')];
    return names === undefined
      ? failure(404, 'not found')
      : response(200, { resources: names.map(name => ({ name })) });
  });
  const kinds = await machineKindsHere(api, new AbortController().signal);
  return kinds.map(({ api: name, apiVersion, plural }) => `${name} ${plural}.${apiVersion}`);
}

test('each machine kind is read in the newest version that is served and understood', async () => {
  assert.deepEqual(await kindsOf({}), []);
  const capi = ['machines', 'machinesets'];
  const newest = [
    'capi machines.cluster.x-k8s.io/v1beta2',
    'capi machinesets.cluster.x-k8s.io/v1beta2',
  ];
  assert.deepEqual(
    await kindsOf({ 'cluster.x-k8s.io/v1beta1': capi, 'cluster.x-k8s.io/v1beta2': capi }),
    newest,
  );
  assert.deepEqual(
    await kindsOf({
      'cluster.x-k8s.io/v1beta1': ['machines', 'others'],
      'cluster.x-k8s.io/v1beta2': ['others'],
    }),
    ['capi machines.cluster.x-k8s.io/v1beta1'],
  );
});
