import assert from 'node:assert/strict';
import { test } from 'node:test';
import { markOf } from '@drydock/core/hypervisor';
import {
  desiredOf,
  isEmptied,
  makeHarness,
  moves,
  type NovaHarness,
  runUntil,
  type Tap,
  told,
  viewOf,
} from './testing/harness.ts';

/** Twenty servers of two projects, one paused, one shut off. */
function furnish(harness: NovaHarness): void {
  for (let n = 1; n <= 20; n += 1) {
    const vmState = n === 3 ? 'paused' : n === 7 ? 'stopped' : 'active';
    const name = `s${String(n).padStart(2, '0')}`;
    harness.add({
      name,
      host: 'compute-1',
      project: n % 2 === 0 ? 'red' : 'blue',
      vmState,
      volumeBacked: n % 5 === 0,
      memoryMiB: 64 * (1 + (n % 3)),
    });
  }
}

function serviceOf({ cloud }: NovaHarness, name = 'compute-1') {
  const host = cloud.hosts.get(name);
  assert.ok(host);
  return host;
}

test('twenty servers of two projects over three pages leave, paused and shut off ones as well, and stay what they were', async () => {
  const harness = makeHarness({ pageSize: 8 });
  furnish(harness);
  harness.held.add('compute-1');
  const reconciler = harness.reconciler();
  assert.equal(reconciler.of('compute-1'), 'unknown');
  reconciler.want('compute-1', desiredOf());
  await runUntil(harness, reconciler, isEmptied(reconciler));
  assert.deepEqual(harness.cloud.on('compute-1'), []);
  assert.deepEqual(new Set(moves(harness)), new Set([1]));
  assert.deepEqual(
    [...harness.cloud.servers.values()]
      .map(({ vmState }) => vmState)
      .filter(state => state !== 'active'),
    ['paused', 'stopped'],
  );
  const { vms } = viewOf(reconciler);
  assert.deepEqual(new Set(vms.map(({ state }) => state)), new Set(['Moved']));
  assert.equal(vms.length, 20);
  assert.match(
    serviceOf(harness).reason ?? '',
    /^drydock: maintenance m: new disks \(since 2030-01-10T\d\d:\d\d:\d\dZ\)$/,
  );
});

for (const concurrency of [1, 3]) {
  test(`the pace is at least 0.9 of what Nova allows when it does ${concurrency} at a time`, async () => {
    const harness = makeHarness({ concurrency });
    for (let n = 0; n < 20; n += 1) harness.add({ name: `s${n}`, host: 'compute-1' });
    const reconciler = harness.reconciler();
    reconciler.want('compute-1', desiredOf());
    await runUntil(harness, reconciler, () => harness.cloud.on('compute-1').length === 0);
    const { records } = harness.cloud.migrations;
    const begin = Math.min(...records.map(({ createdMs }) => createdMs));
    const seconds = (Math.max(...records.map(({ updatedMs }) => updatedMs)) - begin) / 1000;
    const best = Math.ceil(20 / concurrency) * 5;
    assert.ok(best / seconds >= 0.9, `${seconds} s, at best ${best} s`);
  });
}

test('there are at most two calls a server and look, and the lists are read once for all of them', async () => {
  const harness = makeHarness();
  furnish(harness);
  const reconciler = harness.reconciler();
  reconciler.want('compute-1', desiredOf());
  await runUntil(harness, reconciler, isEmptied(reconciler));
  const { asked } = harness.api;
  const looks = asked.filter(call => call === 'GET /os-services').length;
  assert.ok(asked.filter(call => call === 'GET /servers/detail').length <= looks);
  assert.ok(asked.filter(call => call === 'GET /os-migrations').length <= looks);
  let most = 0;
  let counts = new Map<string, number>();
  for (const call of asked) {
    const server = /servers\/(0[^/]+)/.exec(call)?.[1];
    if (call === 'GET /os-services') counts = new Map();
    else if (server !== undefined) counts.set(server, (counts.get(server) ?? 0) + 1);
    most = Math.max(most, ...counts.values());
  }
  assert.ok(most <= 2, `${most} calls for one server`);
});

test('what Nova has no host for cannot move, for its own reason, and is tried again rarely', async () => {
  const harness = makeHarness();
  harness.add({ name: 'free', host: 'compute-1' });
  const stuck = harness.add({ name: 'stuck', host: 'compute-1', pinned: true });
  const reconciler = harness.reconciler();
  reconciler.want('compute-1', desiredOf());
  await runUntil(harness, reconciler, () => told(reconciler, 'stuck').startsWith('Cannot'));
  const vm = viewOf(reconciler).vms.find(({ name }) => name === 'stuck');
  assert.equal(vm?.message, 'No valid host was found. There are not enough hosts available.');
  assert.match(vm.remedy ?? '', /make room for it/);
  const begin = harness.seconds();
  const before = harness.cloud.migrations.records.length;
  await runUntil(harness, reconciler, () => harness.seconds() > begin + 3600, 4000);
  const tries = harness.cloud.migrations.records.length - before;
  assert.ok(tries >= 5 && tries <= 12, `${tries} tries in an hour`);
  const server = harness.cloud.servers.get(stuck);
  assert.ok(server);
  server.pinned = false;
  await runUntil(harness, reconciler, isEmptied(reconciler));
});

test('states in which Nova moves nothing are told with what would help, and do not keep the others', async () => {
  const harness = makeHarness();
  harness.add({ name: 'good', host: 'compute-1' });
  for (const vmState of [
    'error',
    'suspended',
    'rescued',
    'shelved',
    'soft-delete',
    'resized',
    'strange',
  ]) {
    harness.add({ name: vmState, host: 'compute-1', vmState });
  }
  const reconciler = harness.reconciler();
  reconciler.want('compute-1', desiredOf());
  await runUntil(
    harness,
    reconciler,
    () => harness.cloud.on('compute-1').length === 7 && told(reconciler, 'good') === 'Moved',
  );
  const { vms, empty } = viewOf(reconciler);
  assert.equal(empty, false);
  assert.ok(
    vms
      .filter(({ name }) => name !== 'good')
      .every(({ state, remedy }) => state === 'Cannot' && remedy !== undefined),
  );
  assert.deepEqual(harness.cloud.migrations.records.length, 1);
});

test('the policy leaves what it says', async () => {
  const harness = makeHarness();
  harness.add({ name: 'error', host: 'compute-1', vmState: 'error' });
  harness.add({ name: 'local', host: 'compute-1' });
  harness.add({ name: 'paused', host: 'compute-1', vmState: 'paused', volumeBacked: true });
  harness.add({ name: 'stopped', host: 'compute-1', vmState: 'stopped', volumeBacked: true });
  harness.add({ name: 'volume', host: 'compute-1', volumeBacked: true });
  const reconciler = harness.reconciler();
  reconciler.want(
    'compute-1',
    desiredOf({ failed: 'Leave', localDisk: 'Leave', paused: 'Leave', stopped: 'Leave' }),
  );
  await runUntil(harness, reconciler, isEmptied(reconciler));
  assert.deepEqual(harness.cloud.on('compute-1'), ['error', 'local', 'paused', 'stopped']);
  assert.deepEqual(
    viewOf(reconciler).vms.map(({ name, state }) => `${name} ${state}`),
    ['error Left', 'local Left', 'paused Left', 'stopped Left', 'volume Moved'],
  );
});

test('tokens that end in the middle are renewed, also ones that end early', async () => {
  const harness = makeHarness({ tokenSeconds: 20 });
  furnish(harness);
  const reconciler = harness.reconciler();
  reconciler.want('compute-1', desiredOf());
  await runUntil(harness, reconciler, () => harness.cloud.on('compute-1').length < 12);
  harness.api.keystone.revoke();
  await runUntil(harness, reconciler, isEmptied(reconciler));
  assert.ok(harness.api.keystone.logins > 3);
  assert.deepEqual(new Set(moves(harness)), new Set([1]));
});

test('an API that is down for 30 s is told, and nothing is called empty meanwhile', async () => {
  const harness = makeHarness();
  furnish(harness);
  const reconciler = harness.reconciler();
  reconciler.want('compute-1', desiredOf());
  await runUntil(harness, reconciler, () => harness.cloud.on('compute-1').length < 10);
  harness.cloud.down = true;
  const since = harness.seconds();
  await runUntil(
    harness,
    reconciler,
    () => harness.seconds() > since + 30 && viewOf(reconciler).problem !== undefined,
  );
  assert.match(viewOf(reconciler).problem ?? '', /does not answer: connect ECONNREFUSED/);
  assert.equal(viewOf(reconciler).empty, false);
  harness.cloud.down = false;
  await runUntil(harness, reconciler, isEmptied(reconciler));
  assert.equal(viewOf(reconciler).problem, undefined);
  assert.deepEqual(new Set(moves(harness)), new Set([1]));
});

/** The process dies at the n-th call: before it is sent, or before its answer is heard. */
function dyingAt(last: number, isSent: boolean, died: () => void): Tap {
  let calls = 0;
  return async (_, carry) => {
    calls += 1;
    if (calls < last) return carry();
    if (calls === last && isSent) await carry();
    died();
    return new Promise(() => {});
  };
}

test('killed at every call, before it and after it, the next start goes on and moves nothing twice', async () => {
  let isOver = false;
  for (let call = 1; !isOver; call += 1) {
    for (const isSent of [false, true]) {
      const harness = makeHarness();
      harness.add({ name: 'a', host: 'compute-1' });
      harness.add({ name: 'b', host: 'compute-1', project: 'red', vmState: 'paused' });
      harness.add({ name: 'c', host: 'compute-1', vmState: 'stopped' });
      harness.held.add('compute-1');
      const behavior = { isDead: false };
      const first = harness.reconciler(
        {},
        dyingAt(call, isSent, () => {
          behavior.isDead = true;
        }),
      );
      first.want('compute-1', desiredOf());
      const stop = new AbortController();
      void first.run(stop.signal);
      while (!behavior.isDead && !isEmptied(first)())
        await new Promise(resolve => setImmediate(resolve));
      stop.abort();
      isOver = !behavior.isDead;
      const second = harness.reconciler();
      second.want('compute-1', desiredOf());
      await runUntil(harness, second, isEmptied(second));
      assert.deepEqual(moves(harness), [1, 1, 1], `call ${call}`);
      assert.deepEqual(
        [...harness.cloud.servers.values()].map(({ vmState }) => vmState),
        ['active', 'paused', 'stopped'],
      );
      assert.deepEqual(
        viewOf(second).vms.map(({ name, state }) => `${name} ${state}`),
        ['a Moved', 'b Moved', 'c Moved'],
      );
      harness.held.clear();
      second.want('compute-1', undefined);
      await runUntil(harness, second, () => serviceOf(harness).enabled);
    }
  }
});

test('released in the middle: what Nova has not begun is called off, a cold migration is brought to its end, and the service is enabled', async () => {
  const harness = makeHarness();
  furnish(harness);
  harness.held.add('compute-1');
  const reconciler = harness.reconciler();
  reconciler.want('compute-1', desiredOf({ active: 'Leave', paused: 'Leave' }));
  await runUntil(harness, reconciler, () =>
    harness.cloud.migrations.records.some(({ type }) => type === 'migration'),
  );
  reconciler.want('compute-1', desiredOf());
  await runUntil(harness, reconciler, () =>
    harness.cloud.migrations.records.some(({ status }) => status === 'queued'),
  );
  harness.held.clear();
  reconciler.want('compute-1', undefined);
  await runUntil(harness, reconciler, () => serviceOf(harness).enabled);
  assert.equal(serviceOf(harness).reason, undefined);
  assert.ok(harness.cloud.migrations.records.some(({ status }) => status === 'cancelled'));
  assert.equal(
    harness.cloud.migrations.records.find(({ type }) => type === 'migration')?.status,
    'confirmed',
  );
  const stayed = harness.cloud.on('compute-1').length;
  await harness.clock.sleep(60_000);
  assert.ok(harness.cloud.on('compute-1').length >= stayed - 1);
});

test('what we disabled is released after a restart, once it is known that nobody holds the node', async () => {
  const harness = makeHarness();
  harness.cloud.setService('compute-1', false, markOf('drydock: ', 'earlier', harness.clock.now()));
  let held: ReadonlySet<string> | undefined;
  const reconciler = harness.reconciler({ held: () => held });
  const since = harness.seconds();
  await runUntil(harness, reconciler, () => harness.seconds() > since + 120);
  assert.equal(serviceOf(harness).enabled, false);
  held = new Set();
  await runUntil(harness, reconciler, () => serviceOf(harness).enabled);
});

test('a service that an administrator disabled stays his: emptied, and not enabled afterwards', async () => {
  const harness = makeHarness();
  furnish(harness);
  harness.cloud.setService('compute-1', false, 'broken fan');
  const reconciler = harness.reconciler();
  reconciler.want('compute-1', desiredOf());
  await runUntil(harness, reconciler, isEmptied(reconciler));
  assert.deepEqual(harness.cloud.on('compute-1'), []);
  reconciler.want('compute-1', undefined);
  const since = harness.seconds();
  await runUntil(harness, reconciler, () => harness.seconds() > since + 300);
  assert.deepEqual([serviceOf(harness).enabled, serviceOf(harness).reason], [false, 'broken fan']);
  assert.equal(harness.api.asked.filter(call => call.startsWith('PUT')).length, 0);
});

test('a service that was emptied by hand once is not released by whoever follows nodes', async () => {
  const harness = makeHarness();
  harness.cloud.setService(
    'compute-1',
    false,
    markOf('drydock nova: ', 'by hand', harness.clock.now()),
  );
  const reconciler = harness.reconciler();
  const since = harness.seconds();
  await runUntil(harness, reconciler, () => harness.seconds() > since + 300);
  assert.equal(serviceOf(harness).enabled, false);
});

test('an administrator who enables the service in the middle finds it disabled again', async () => {
  const harness = makeHarness();
  furnish(harness);
  const reconciler = harness.reconciler();
  reconciler.want('compute-1', desiredOf());
  await runUntil(harness, reconciler, () => harness.cloud.on('compute-1').length < 15);
  harness.cloud.setService('compute-1', true);
  await runUntil(harness, reconciler, () => !serviceOf(harness).enabled);
  assert.match(serviceOf(harness).reason ?? '', /^drydock: /);
  await runUntil(harness, reconciler, isEmptied(reconciler));
});

test('servers that are deleted meanwhile are gone', async () => {
  const harness = makeHarness();
  const ids = ['a', 'b', 'c'].map(name => harness.add({ name, host: 'compute-1' }));
  const reconciler = harness.reconciler();
  reconciler.want('compute-1', desiredOf());
  await runUntil(harness, reconciler, () => harness.cloud.migrations.records.length === 2);
  for (const id of ids) harness.cloud.deleteServer(id);
  await runUntil(harness, reconciler, isEmptied(reconciler));
  assert.deepEqual(viewOf(reconciler).vms, []);
});

test('the resize of somebody else is told and left alone', async () => {
  const harness = makeHarness();
  const id = harness.add({ name: 'theirs', host: 'compute-1', vmState: 'stopped' });
  const server = harness.cloud.servers.get(id);
  assert.ok(server);
  harness.cloud.migrations.begin(
    server,
    'migration',
    'somebody',
    harness.clock.now().epochMilliseconds,
  );
  await harness.clock.sleep(10_000);
  const reconciler = harness.reconciler();
  reconciler.want('compute-1', desiredOf());
  await runUntil(harness, reconciler, () => told(reconciler, 'theirs').startsWith('Cannot'));
  const since = harness.seconds();
  await runUntil(harness, reconciler, () => harness.seconds() > since + 60);
  assert.equal(server.vmState, 'resized');
});

test('nodes that are no hypervisors are none, and the limit over all hosts holds', async () => {
  const harness = makeHarness({
    hosts: ['compute-1', 'compute-2', 'compute-3', 'compute-4'],
    concurrency: 5,
  });
  for (const host of ['compute-1', 'compute-2'])
    for (let n = 0; n < 6; n += 1) harness.add({ name: `${host}-${n}`, host });
  const nodes = [{ name: 'worker-1' }, { name: 'compute-1' }, { name: 'compute-2' }];
  const most = { value: 0 };
  const reconciler = harness.reconciler(
    { nodes: () => nodes, limits: { total: 3 } },
    async (_, carry) => {
      const said = await carry();
      const open = harness.cloud.migrations.records.filter(
        ({ status }) => !['completed', 'error'].includes(status),
      ).length;
      most.value = Math.max(most.value, open);
      return said;
    },
  );
  reconciler.want('compute-1', desiredOf());
  reconciler.want('compute-2', desiredOf());
  await runUntil(
    harness,
    reconciler,
    () => isEmptied(reconciler)() && isEmptied(reconciler, 'compute-2')(),
  );
  assert.equal(reconciler.of('worker-1'), 'none');
  assert.equal(most.value, 3);
});

test('a host whose nova-compute is down is told, and nothing is asked in vain', async () => {
  const harness = makeHarness();
  harness.add({ name: 'a', host: 'compute-1' });
  serviceOf(harness).up = false;
  const reconciler = harness.reconciler();
  reconciler.want('compute-1', desiredOf());
  await runUntil(harness, reconciler, () =>
    told(reconciler, 'a').includes('nova-compute on compute-1 is down'),
  );
  assert.equal(harness.cloud.migrations.records.length, 0);
  serviceOf(harness).up = true;
  await runUntil(harness, reconciler, isEmptied(reconciler));
});

test('progress and expected end are told while servers move', async () => {
  const harness = makeHarness({ migrationMs: () => 20_000 });
  for (let n = 0; n < 4; n += 1) harness.add({ name: `s${n}`, host: 'compute-1', memoryMiB: 1024 });
  const reconciler = harness.reconciler();
  reconciler.want('compute-1', desiredOf());
  const told = new Set<number>();
  let end: Temporal.Instant | undefined;
  await runUntil(harness, reconciler, () => {
    const view = reconciler.of('compute-1');
    if (typeof view !== 'object') return false;
    for (const { progress } of view.vms) if (progress !== undefined) told.add(progress);
    if (view.vms.filter(({ state }) => state === 'Moved').length === 2) end ??= view.expectedEnd;
    return view.empty;
  });
  assert.ok(told.size > 5 && [...told].every(percent => percent >= 0 && percent <= 100));
  const last = Math.max(...harness.cloud.migrations.records.map(({ updatedMs }) => updatedMs));
  assert.ok(end !== undefined && Math.abs(end.epochMilliseconds - last) < 5000);
});

test('a server that was on its way to the host keeps it from being empty, until it is there or deleted', async () => {
  const harness = makeHarness();
  const id = harness.add({ name: 'late', host: 'compute-2' });
  const server = harness.cloud.servers.get(id);
  assert.ok(server);
  harness.cloud.setService('compute-3', false, 'full');
  harness.cloud.migrations.begin(
    server,
    'live-migration',
    'somebody',
    harness.clock.now().epochMilliseconds,
  );
  await harness.clock.sleep(1000);
  const reconciler = harness.reconciler();
  reconciler.want('compute-1', desiredOf());
  await runUntil(harness, reconciler, () => !serviceOf(harness).enabled);
  const since = harness.seconds();
  await runUntil(harness, reconciler, () => harness.seconds() > since + 3);
  assert.equal(viewOf(reconciler).empty, false);
  harness.cloud.deleteServer(id);
  await runUntil(harness, reconciler, isEmptied(reconciler), 15);
});

function saying(status: number, message: string) {
  return { status, headers: {}, text: JSON.stringify({ refused: { code: status, message } }) };
}

test('a user without the rights is told so, in the words of Nova', async () => {
  const harness = makeHarness();
  const message =
    "Policy doesn't allow os_compute_api:servers:detail:get_all_tenants to be performed.";
  const reconciler = harness.reconciler({}, async ({ url }, carry) =>
    url.includes('/servers/detail') ? saying(403, message) : carry(),
  );
  reconciler.want('compute-1', desiredOf());
  await runUntil(harness, reconciler, () =>
    JSON.stringify(reconciler.of('compute-1')).includes(message),
  );
  assert.equal(viewOf(reconciler).empty, false);
});

test('what Nova refuses at once is tried again with pauses, and told in its words from the third time on', async () => {
  const harness = makeHarness();
  harness.add({ name: 'odd', host: 'compute-1' });
  const message = 'odd is pinned to its NUMA cells';
  let tries = 0;
  const reconciler = harness.reconciler({}, async ({ url, method }, carry) => {
    if (method !== 'POST' || !url.endsWith('/action')) return carry();
    tries += 1;
    return tries <= 4 ? saying(400, message) : carry();
  });
  reconciler.want('compute-1', desiredOf());
  await runUntil(harness, reconciler, () => told(reconciler, 'odd') === `Cannot: ${message}`);
  assert.equal(tries, 3);
  await runUntil(harness, reconciler, isEmptied(reconciler));
  assert.equal(tries, 5);
});

test('a node that comes later is found, and one that is no hypervisor is none', async () => {
  const harness = makeHarness();
  const nodes: { readonly name: string }[] = [];
  const reconciler = harness.reconciler({ nodes: () => nodes });
  await runUntil(harness, reconciler, () => harness.api.asked.length > 0);
  assert.equal(reconciler.of('compute-1'), 'unknown');
  nodes.push({ name: 'compute-1' }, { name: 'worker' });
  await runUntil(harness, reconciler, () => reconciler.of('compute-1') !== 'unknown', 60);
  assert.deepEqual(
    [viewOf(reconciler), reconciler.of('worker')],
    [{ vms: [], empty: false }, 'none'],
  );
});

test('released while Nova is being asked: nothing more is moved, and nothing is disabled', async () => {
  const harness = makeHarness();
  harness.add({ name: 'a', host: 'compute-1' });
  harness.add({ name: 'b', host: 'compute-1' });
  const release = (): void => reconciler.want('compute-1', undefined);
  let looks = 0;
  const reconciler = harness.reconciler({}, async ({ url }, carry) => {
    const said = await carry();
    if (url.includes('/servers/detail')) looks += 1;
    if (looks === 1) release();
    return said;
  });
  reconciler.want('compute-1', desiredOf());
  await runUntil(harness, reconciler, () => looks === 1 && harness.seconds() > 0);
  const since = harness.seconds();
  await runUntil(harness, reconciler, () => harness.seconds() > since + 60);
  assert.deepEqual(
    [harness.cloud.migrations.records.length, serviceOf(harness).enabled],
    [0, true],
  );
  assert.equal(harness.api.asked.filter(call => call.startsWith('PUT')).length, 0);
});

test('somebody who makes room and asks anew by hand does not wait for the pauses of the last time', async () => {
  for (const isAnew of [true, false]) {
    const harness = makeHarness();
    const id = harness.add({ name: 'stuck', host: 'compute-1', pinned: true });
    const first = harness.reconciler({ isAnew });
    first.want('compute-1', desiredOf());
    await runUntil(
      harness,
      first,
      () =>
        harness.cloud.migrations.records.filter(({ status }) => status === 'error').length === 5,
    );
    const server = harness.cloud.servers.get(id);
    assert.ok(server);
    server.pinned = false;
    const since = harness.seconds();
    const second = harness.reconciler({ isAnew });
    second.want('compute-1', desiredOf());
    await runUntil(harness, second, () => harness.cloud.on('compute-1').length === 0);
    assert.equal(harness.seconds() - since < 20, isAnew, `${harness.seconds() - since} s`);
  }
});
