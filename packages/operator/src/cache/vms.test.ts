import assert from 'node:assert/strict';
import { test } from 'node:test';
import { launcherOf, makeVmi } from '@drydock/core/testing';
import type { Api, Watcher, WatchHandler } from '@drydock/kube-client';
import { PanicHandler, silentLog, VirtualClock } from '@drydock/utils';
import { InformerSet } from './informer-set.ts';
import { Vms, vmCollections } from './vms.ts';

/** Collections that a test fills by hand. */
function hands() {
  const handlers = new Map<
    string,
    { readonly project: (raw: unknown) => unknown; readonly handler: WatchHandler<never> }
  >();
  const watcher: Watcher = {
    watch: async ({ path }, project, handler) =>
      void handlers.set(path.split('/').at(-1) ?? '', { project, handler }),
  };
  const touched: string[] = [];
  const informers = new InformerSet({
    watcher,
    log: silentLog,
    defects: new PanicHandler({ log: silentLog }),
    complete: () => {},
    mayLack: name => vmCollections.has(name),
  });
  const resources = [
    'virtualmachineinstances',
    'virtualmachineinstancemigrations',
    'kubevirts',
  ].map(name => ({ name }));
  const api: Api = { call: async () => ({ status: 200, headers: {}, body: { resources } }) };
  const vms = new Vms({ api, clock: new VirtualClock() }, informers, name => touched.push(name));
  const tell = (
    collection: string,
    raw: object,
    type: 'added' | 'changed' | 'removed' = 'added',
  ): void => {
    const { project, handler } = handlers.get(collection) ?? {};
    const object = project?.(raw) as never;
    handler?.changed(type === 'changed' ? { type, object, before: object } : { type, object });
  };
  const each = (act: (handler: WatchHandler<never>) => void): void =>
    handlers.forEach(({ handler }) => act(handler));
  const only = (collection: string): WatchHandler<never> => {
    const found = handlers.get(collection);
    assert.ok(found);
    return found.handler;
  };
  return { vms, tell, touched, each, only };
}

function raw(
  name: string,
  status: object,
  version = '1',
  spec: object = { evictionStrategy: 'LiveMigrate' },
) {
  return {
    metadata: { namespace: 'vms', name, uid: `vmi-${name}`, resourceVersion: version },
    spec,
    status: {
      phase: 'Running',
      conditions: [{ type: 'LiveMigratable', status: 'True' }],
      ...status,
    },
  };
}

test('nothing is known before all has been read, nor where it is missing or withheld', async () => {
  const { vms, each } = hands();
  await vms.follow(new AbortController().signal);
  assert.equal(vms.of('n1', [], new Set()), undefined);
  each(handler => handler.failing?.({ message: 'forbidden', status: 403, retryInMs: 1 }));
  assert.equal(vms.of('n1', [], new Set()), undefined);
  each(handler => handler.synced());
  assert.deepEqual(vms.of('n1', [], new Set())?.vmis, []);
});

test('a node is told its VMs, those of its pods and those that it had; what others have under way is counted', async () => {
  const { vms, tell, each } = hands();
  await vms.follow(new AbortController().signal);
  each(handler => handler.synced());
  tell('virtualmachineinstances', raw('here', { nodeName: 'n1' }));
  tell('virtualmachineinstances', raw('had', { nodeName: 'n3' }));
  tell('virtualmachineinstances', raw('comes', { nodeName: 'n2', evacuationNodeName: 'n2' }));
  tell('virtualmachineinstances', raw('elsewhere', { nodeName: 'n2', evacuationNodeName: 'n2' }));
  tell('virtualmachineinstancemigrations', {
    metadata: { namespace: 'vms', name: 'm', uid: 'm', resourceVersion: '1' },
    spec: { vmiName: 'comes' },
    status: { phase: 'Running' },
  });
  const known = vms.of('n1', [launcherOf(makeVmi('comes'))], new Set(['vmi-had']));
  assert.deepEqual(known?.vmis.map(({ name }) => name).sort(), ['comes', 'had', 'here']);
  assert.deepEqual([known?.migrations.length, known?.askedElsewhere], [1, 1]);
  tell('virtualmachineinstances', raw('had', { nodeName: 'n3' }, '2'), 'removed');
  assert.equal(vms.of('n1', [], new Set(['vmi-had']))?.vmis.length, 1);
});

test('a change that matters touches its nodes and those that wait for room; what agents say all the time does not', async () => {
  const { vms, tell, touched, each } = hands();
  await vms.follow(new AbortController().signal);
  each(handler => handler.synced());
  tell('virtualmachineinstances', raw('a', { nodeName: 'n1' }));
  vms.setWaiting('n9', true);
  touched.length = 0;
  tell(
    'virtualmachineinstances',
    raw('a', { nodeName: 'n1', guestOSInfo: { name: 'x' } }, '2'),
    'changed',
  );
  assert.deepEqual(touched, []);
  tell('virtualmachineinstances', raw('a', { nodeName: 'n2' }, '3'), 'changed');
  assert.deepEqual(new Set(touched), new Set(['n1', 'n2', 'n9']));
  vms.setWaiting('n9', false);
  touched.length = 0;
  tell(
    'virtualmachineinstances',
    raw('a', { nodeName: 'n2', evacuationNodeName: 'n2' }, '4'),
    'changed',
  );
  assert.deepEqual(touched, ['n2']);
});

test('of VMs nothing is known as long as one of the two collections is not', async () => {
  for (const first of ['virtualmachineinstances', 'virtualmachineinstancemigrations']) {
    const { vms, only, each } = hands();
    await vms.follow(new AbortController().signal);
    only(first).synced();
    assert.equal(vms.of('n1', [], new Set()), undefined, first);
    each(handler => handler.synced());
    assert.deepEqual(vms.of('n1', [], new Set())?.vmis, []);
  }
});

test('a VM that goes, or is told of as changed before it was known, touches its node', async () => {
  const { vms, tell, touched, each } = hands();
  await vms.follow(new AbortController().signal);
  each(handler => handler.synced());
  tell('virtualmachineinstances', raw('a', { nodeName: 'n1' }), 'changed');
  assert.deepEqual(touched, ['n1']);
  tell('virtualmachineinstances', raw('a', { nodeName: 'n1' }, '2'), 'removed');
  assert.deepEqual(touched, ['n1', 'n1']);
});

test('target pods without a node are watched from the first migration on, and touch the node that their VM leaves', async () => {
  const { vms, tell, touched, only, each } = hands();
  await vms.follow(new AbortController().signal);
  assert.throws(() => only('pods'));
  each(handler => handler.synced());
  tell('virtualmachineinstances', raw('a', { nodeName: 'n1', evacuationNodeName: 'n1' }));
  const metadata = { namespace: 'vms', name: 'm', uid: 'm', resourceVersion: '1' };
  tell('virtualmachineinstancemigrations', {
    metadata,
    spec: { vmiName: 'a' },
    status: { phase: 'Scheduling' },
  });
  assert.equal(vms.of('n1', [], new Set())?.unplaced, undefined, 'not read yet');
  only('pods').synced();
  assert.equal(vms.of('n1', [], new Set())?.unplaced?.size, 0);
  touched.length = 0;
  const target = {
    metadata: {
      namespace: 'vms',
      name: 'virt-launcher-a-y',
      uid: 'p',
      resourceVersion: '2',
      labels: { 'kubevirt.io/migrationJobUID': 'm' },
    },
    status: {
      conditions: [{ type: 'PodScheduled', status: 'False', message: '0/3 nodes are available' }],
    },
  };
  tell('pods', target);
  assert.deepEqual(touched, ['n1']);
  assert.equal(vms.of('n1', [], new Set())?.unplaced?.get('m')?.why, '0/3 nodes are available');
  tell('pods', target, 'removed');
  assert.equal(vms.of('n1', [], new Set())?.unplaced?.size, 0, 'it has a node now');
});
