import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Lookup } from '@drydock/core/maintenance';
import type { ApiCall, ApiResponse } from '@drydock/kube-client';
import { PanicHandler, VirtualClock } from '@drydock/utils';
import { Cache } from '../cache/cache.ts';
import { WindowFreshness } from '../cache/window-freshness.ts';
import { FakeLog, failure, response, ScriptedApi } from '../testing/fakes.ts';
import { LookupCache, runLookups } from './take-snapshot.ts';

async function look(lookup: Lookup, reply: (call: ApiCall) => ApiResponse) {
  const [lookedUp, log] = [new LookupCache(), new FakeLog()];
  const api = new ScriptedApi(reply);
  const knownWindows = new WindowFreshness({ api, log, clock: new VirtualClock() }, new Cache());
  const isNew = await runLookups(
    {
      api,
      log,
      lookedUp,
      knownWindows,
      clock: new VirtualClock(),
      defects: new PanicHandler({ log }),
    },
    [lookup],
  );
  return {
    isNew,
    lookedUp,
    warnings: log.of('warn').length,
    paths: api.calls.map(({ path }) => path),
  };
}
function missing(kind: string, name: string): ApiResponse {
  return response(404, { kind: 'Status', code: 404, details: { kind, name } });
}
function down(): ApiResponse {
  throw new Error('no answer');
}

describe('the volumes of claims', () => {
  const claim = async (reply: () => ApiResponse) => {
    const { isNew, lookedUp, warnings } = await look(
      { kind: 'PersistentVolumeClaim', key: 'shop/disk' },
      reply,
    );
    return [isNew, lookedUp.volumes.get('shop/disk'), warnings];
  };
  test('are looked up; what could not be asked stays unknown', async () => {
    assert.deepEqual(await claim(() => response(200, { spec: { volumeName: 'v1' } })), [
      true,
      'v1',
      0,
    ]);
    assert.deepEqual(
      await claim(() => response(200, { spec: {} })),
      [true, null, 0],
      'it is not bound',
    );
    assert.deepEqual(
      await claim(() => missing('persistentvolumeclaims', 'disk')),
      [true, null, 0],
      'there is no such claim',
    );
    assert.deepEqual(await claim(() => failure(500, 'broken')), [false, undefined, 1]);
    assert.deepEqual(await claim(down), [false, undefined, 1]);
  });
});

test('a claim with a name that no object can have leads to no other object, and there is none', async () => {
  const names = ['..', '', 'disk/status', '../../secrets/token', '%2e%2e', 'a'.repeat(1_000_000)];
  for (const name of names) {
    const key = `shop/${name}`;
    const { isNew, lookedUp, warnings, paths } = await look(
      { kind: 'PersistentVolumeClaim', key },
      ({ path }) =>
        missing('persistentvolumeclaims', decodeURIComponent(path.split('/').at(-1) ?? '')),
    );
    assert.match(
      paths.join(' '),
      /^\/api\/v1\/namespaces\/shop\/persistentvolumeclaims\/[^/ ]{1,2000}$/,
    );
    assert.deepEqual([isNew, lookedUp.volumes.get(key), warnings], [true, null, 0], name);
  }
});

describe('whether a DaemonSet is there', () => {
  const daemonSet = async (reply: () => ApiResponse) => {
    const { isNew, lookedUp, warnings, paths } = await look(
      { kind: 'DaemonSet', key: 'shop/agent', uid: 'u1' },
      reply,
    );
    assert.deepEqual(paths, ['/apis/apps/v1/namespaces/shop/daemonsets/agent']);
    return [isNew, [...lookedUp.goneDaemonSets], warnings];
  };
  test('only the API server says that it is gone, and of that one; of one that exists the watch will tell', async () => {
    assert.deepEqual(await daemonSet(() => missing('daemonsets', 'agent')), [true, ['u1'], 0]);
    assert.deepEqual(await daemonSet(() => response(200, { metadata: { name: 'agent' } })), [
      false,
      [],
      0,
    ]);
    assert.deepEqual(
      await daemonSet(() => failure(404, 'page not found')),
      [false, [], 1],
      'of a path that is not served',
    );
    assert.deepEqual(await daemonSet(() => failure(403, 'no right')), [false, [], 1]);
    assert.deepEqual(await daemonSet(down), [false, [], 1]);
  });
});

test('the windows are asked for as well', async () => {
  const lookup = {
    kind: 'MaintenanceWindows',
    key: 'maintenances.drydock.dev//disk',
    uid: 'u1',
    generation: 1,
  } as const;
  const isKnown = async (reply: () => ApiResponse) => (await look(lookup, reply)).isNew;
  assert.equal(await isKnown(() => response(200, { items: [] })), true);
  assert.equal(
    await isKnown(() =>
      response(200, { items: [{ metadata: { name: 'nights', resourceVersion: '7' } }] }),
    ),
    false,
  );
  assert.equal(await isKnown(down), false);
});

describe('the pods of a namespace that are on no node', () => {
  const unscheduled = async (reply: () => ApiResponse) => {
    const { isNew, lookedUp, warnings, paths } = await look(
      { kind: 'UnscheduledPods', key: 'shop' },
      reply,
    );
    assert.deepEqual(paths, ['/api/v1/namespaces/shop/pods']);
    return [
      isNew,
      lookedUp.unscheduled
        .get('shop')
        ?.pods.map(({ name, unschedulable }) => [name, unschedulable]),
      warnings,
    ];
  };
  const pod = (name: string, condition: object, nodeName = '') => ({
    metadata: { name, namespace: 'shop', uid: name, resourceVersion: '1' },
    spec: { nodeName },
    status: {
      phase: 'Pending',
      conditions: [{ type: 'PodScheduled', status: 'False', ...condition }],
    },
  });
  test('are read with what the scheduler says; who may not read them goes without, and has looked', async () => {
    const message = '0/3 nodes are available: 3 node(s) had volume node affinity conflict.';
    const items = [
      pod('a', { reason: 'Unschedulable', message }),
      pod('gated', { reason: 'SchedulingGated', message: 'gated' }),
      pod('fresh', { status: 'Unknown' }),
    ];
    assert.deepEqual(await unscheduled(() => response(200, { items })), [
      true,
      [['a', message]],
      0,
    ]);
    assert.deepEqual(await unscheduled(() => failure(403, 'no')), [true, [], 1]);
    assert.deepEqual(await unscheduled(down), [true, [], 1]);
  });
});
