import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hypervisorKey } from '@drydock/core/hypervisor';
import { defaultServerPolicy } from '@drydock/core/vm';
import type { CachedObject, Change, Watcher, WatchHandler } from '@drydock/kube-client';
import { makeHarness } from '@drydock/openstack/testing';
import type { Log } from '@drydock/utils';
import { followNode } from './daemon.ts';

function nodeOf(
  more: {
    readonly unschedulable?: boolean;
    readonly annotations?: Readonly<Record<string, string>>;
  },
  name = 'node-1',
) {
  return {
    metadata: { name, uid: name, resourceVersion: '1', annotations: more.annotations ?? {} },
    spec: { unschedulable: more.unschedulable ?? false },
  };
}

/** A watch that is told by hand what happens. */
function handWatch() {
  let tell: (raw: unknown, type: Change<CachedObject>['type']) => void = () => {};
  let synced: () => void = () => {};
  const watcher: Watcher = {
    watch: <T extends CachedObject>(
      _: unknown,
      project: (raw: unknown) => T | undefined,
      sink: WatchHandler<T>,
      signal: AbortSignal,
    ) => {
      tell = (raw, type) => {
        const object = project(raw);
        if (object !== undefined)
          sink.changed(type === 'changed' ? { type, object, before: object } : { type, object });
      };
      synced = () => sink.synced();
      return new Promise(resolve => signal.addEventListener('abort', () => resolve()));
    },
  };
  return {
    watcher,
    tell: (raw: unknown, type: Change<CachedObject>['type'] = 'changed') => tell(raw, type),
    synced: () => synced(),
  };
}

function follow(host = 'compute-1', isHostGiven = false) {
  const harness = makeHarness();
  for (let n = 0; n < 4; n += 1)
    harness.add({ name: `s${n}`, host: 'compute-1', project: n % 2 === 0 ? 'red' : 'blue' });
  const lines: string[] = [];
  const note = (text: string): void => void lines.push(text);
  const log: Log = { debug: note, info: note, warn: note, error: note };
  const hand = handWatch();
  const stop = new AbortController();
  const { clock } = harness;
  const options = {
    nova: harness.open(),
    clock,
    log,
    watcher: hand.watcher,
    nodeName: 'node-1',
    host,
    isHostGiven,
  };
  const running = followNode(
    { ...options, policy: defaultServerPolicy, timeOutMs: 1000 },
    stop.signal,
  );
  const until = async (isSo: () => boolean): Promise<void> => {
    const limit = harness.seconds() + 3600;
    while (!isSo() && harness.seconds() < limit)
      await new Promise(resolve => setImmediate(resolve));
    assert.ok(isSo(), lines.join('\n'));
  };
  const end = async (): Promise<void> => {
    stop.abort();
    await running;
  };
  const isEnabled = (name = 'compute-1'): boolean =>
    harness.cloud.hosts.get(name)?.enabled === true;
  return { harness, hand, lines, until, isEnabled, [Symbol.asyncDispose]: end };
}

test('a node that is cordoned already is found at the start, emptied, and released as soon as it is uncordoned', async () => {
  await using daemon = follow();
  const { harness, hand, lines, until, isEnabled } = daemon;
  hand.tell(nodeOf({ unschedulable: true }), 'added');
  hand.synced();
  await until(() => lines.includes('All VMs migrated'));
  assert.deepEqual(harness.cloud.on('compute-1'), []);
  assert.equal(isEnabled(), false);
  hand.tell(nodeOf({}));
  await until(() => isEnabled());
  for (const line of [
    'Watcher created.',
    'Event belongs to node.',
    'Disabling hypervisor.',
    'Node disabled.',
    'Enabling hypervisor.',
    'Node enabled.',
  ]) {
    assert.ok(lines.includes(line), line);
  }
  assert.ok(lines.includes('Retrive list of 4 VMs for this host.'));
  assert.equal(lines.filter(line => /^VM: \S+ has been migrated\./.test(line)).length, 4);
});

test('a node that Drydock holds is emptied although it is not cordoned', async () => {
  await using daemon = follow();
  daemon.hand.tell(nodeOf({ annotations: { 'drydock.dev/before': '{}' } }), 'added');
  daemon.hand.synced();
  await daemon.until(() => daemon.lines.includes('All VMs migrated'));
});

test('uncordoned in the middle: it is released at once', async () => {
  await using daemon = follow();
  const { harness, hand, until, isEnabled } = daemon;
  hand.tell(nodeOf({ unschedulable: true }), 'added');
  hand.synced();
  await until(() => harness.cloud.on('compute-1').length === 3);
  const since = harness.seconds();
  hand.tell(nodeOf({}));
  await until(() => isEnabled());
  assert.ok(harness.seconds() - since < 10);
  assert.ok(harness.cloud.on('compute-1').length >= 2);
});

test('a node that was never held changes nothing, whoever disabled the service', async () => {
  await using daemon = follow();
  const { harness, hand, isEnabled } = daemon;
  harness.cloud.setService('compute-1', false, 'broken fan');
  hand.tell(nodeOf({}), 'added');
  hand.synced();
  for (let beats = 0; beats < 50; beats += 1) {
    hand.tell(nodeOf({}));
    await new Promise(resolve => setImmediate(resolve));
  }
  assert.equal(isEnabled(), false);
});

test('a node that is deleted leaves its hypervisor as it is', async () => {
  await using daemon = follow();
  const { harness, hand, lines, until, isEnabled } = daemon;
  hand.tell(nodeOf({ unschedulable: true }), 'added');
  hand.synced();
  await until(() => lines.includes('All VMs migrated'));
  hand.tell(nodeOf({ unschedulable: true }), 'removed');
  const since = harness.seconds();
  await until(() => harness.seconds() > since + 120);
  assert.equal(isEnabled(), false);
});

test('the annotation of the node names the hypervisor, and the command line counts more', async () => {
  const annotations = { [hypervisorKey]: 'compute-2' };
  {
    await using daemon = follow();
    daemon.hand.tell(nodeOf({ unschedulable: true, annotations }), 'added');
    daemon.hand.synced();
    await daemon.until(() => !daemon.isEnabled('compute-2'));
    assert.ok(daemon.isEnabled('compute-1'));
  }
  await using daemon = follow('compute-1', true);
  daemon.hand.tell(nodeOf({ unschedulable: true, annotations }), 'added');
  daemon.hand.synced();
  await daemon.until(() => !daemon.isEnabled('compute-1'));
  assert.ok(daemon.isEnabled('compute-2'));
});

test('a machine that is no hypervisor is told, and the daemon goes on', async () => {
  await using daemon = follow('elsewhere');
  daemon.hand.tell(nodeOf({ unschedulable: true }), 'added');
  daemon.hand.synced();
  await daemon.until(() =>
    daemon.lines.includes('Cannot find nova-service with hostname: elsewhere'),
  );
});
