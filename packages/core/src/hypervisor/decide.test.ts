import assert from 'node:assert/strict';
import { test } from 'node:test';
import { secondsAfter } from '@drydock/apimachinery';
import fc from 'fast-check';
import { makeReleased, makeServer as server } from '../testing/make-host.ts';
import { defaultServerPolicy } from '../vm/vm-status.ts';
import { decideHost } from './decide.ts';
import {
  defaultLimits,
  type HostSnapshot,
  isMarked,
  markedSince,
  markOf,
  type ServerMigration,
} from './server.ts';

const now = Temporal.Instant.from('2030-01-10T12:00:00Z');
const begun = secondsAfter(now, -600);

function migration(
  id: number,
  server: string,
  status: string,
  more: Partial<ServerMigration> = {},
): ServerMigration {
  return {
    id,
    server,
    type: 'live-migration',
    status,
    source: 'h1',
    created: secondsAfter(begun, id),
    updated: secondsAfter(begun, id + 5),
    user: 'us',
    ...more,
  };
}

function snapshot(more: Partial<HostSnapshot> = {}): HostSnapshot {
  return {
    host: 'h1',
    marker: 'drydock: ',
    service: {
      id: 's',
      host: 'h1',
      isEnabled: false,
      isUp: true,
      disabledReason: markOf('drydock: ', 'm', begun),
    },
    desired: { why: 'm', policy: defaultServerPolicy },
    desiredSince: begun,
    isReleased: false,
    servers: [],
    elsewhere: [],
    migrations: [],
    progress: new Map(),
    reasons: new Map(),
    refusals: new Map(),
    asked: new Set(),
    seenSince: new Map(),
    user: 'us',
    limits: defaultLimits,
    free: 32,
    ...more,
  };
}

const words = fc.constantFrom;
const ids = words('a', 'b', 'c', 'd');

const anyServer = fc
  .record({
    id: ids,
    vmState: words(
      'active',
      'paused',
      'stopped',
      'error',
      'resized',
      'suspended',
      'building',
      'strange',
    ),
    taskState: words(undefined, 'migrating', 'resize_prep', 'deleting', 'rebooting'),
    memoryMiB: words(64, 128, 4096),
    isVolumeBacked: fc.boolean(),
  })
  .map(({ id, taskState, ...more }) =>
    server(id, { ...more, ...(taskState !== undefined && { taskState }) }),
  );

const anyMigration = fc
  .record({
    id: fc.integer({ min: 1, max: 500 }),
    server: ids,
    status: words(
      'accepted',
      'queued',
      'running',
      'completed',
      'error',
      'cancelled',
      'finished',
      'confirmed',
      'reverted',
      'strange',
    ),
    type: words('live-migration', 'migration', 'resize'),
    source: words('h1', 'h2'),
    target: words('h1', 'h2'),
    user: words('us', 'them'),
  })
  .map(({ id, server, status, ...more }) => migration(id, server, status, more));

const reasons = [
  undefined,
  'broken fan',
  markOf('drydock: ', 'm', begun),
  markOf('drydock nova: ', 'm', begun),
  'drydock: edited',
] as const;

const anySnapshot = fc
  .record({
    servers: fc.uniqueArray(anyServer, { selector: ({ id }) => id }),
    migrations: fc.uniqueArray(anyMigration, { selector: ({ id }) => id }),
    isEnabled: fc.boolean(),
    isUp: fc.boolean(),
    reason: words(...reasons),
    wanted: fc.boolean(),
    isReleased: fc.boolean(),
    free: fc.integer({ min: -2, max: 5 }),
    refused: fc.option(ids),
  })
  .map(({ servers, migrations, isEnabled, isUp, reason, wanted, isReleased, free, refused }) => {
    const here = new Set(servers.map(({ id }) => id));
    const gone = ['a', 'b', 'c', 'd'].filter(
      id => !here.has(id) && migrations.some(one => one.server === id),
    );
    return snapshot({
      servers,
      elsewhere: gone.map(id => server(id, { host: 'h2', vmState: 'resized' })),
      migrations,
      service: {
        id: 's',
        host: 'h1',
        isEnabled,
        isUp,
        ...(reason !== undefined && !isEnabled && { disabledReason: reason }),
      },
      isReleased,
      free,
      desired: wanted ? { why: 'm', policy: defaultServerPolicy } : undefined,
      refusals: new Map(refused === null ? [] : [[refused, { count: 1, at: now, message: 'no' }]]),
    });
  });

function law(what: string, holds: (snapshot: HostSnapshot) => void): void {
  test(`law: ${what}`, () => fc.assert(fc.property(anySnapshot, holds), { numRuns: 500 }));
}

law('nothing moves before new servers are kept away', given => {
  if (!given.service.isEnabled) return;
  const kinds = decideHost(given, now).calls.map(({ kind }) => kind);
  assert.ok(!kinds.includes('live-migrate') && !kinds.includes('cold-migrate'));
});

law('a server that Nova is busy with is asked for nothing', given => {
  const busy = new Set(
    given.servers.filter(({ taskState }) => taskState !== undefined).map(({ id }) => id),
  );
  for (const call of decideHost(given, now).calls)
    if (call.kind.endsWith('migrate') && 'server' in call) assert.ok(!busy.has(call.server));
});

law('no server is asked twice in one look, and no more than there is room for', given => {
  const asked = decideHost(given, now).calls.flatMap(call =>
    'server' in call && call.kind.endsWith('migrate') ? [call.server] : [],
  );
  assert.equal(new Set(asked).size, asked.length);
  assert.ok(asked.length <= Math.max(Math.min(given.free, given.limits.ahead), 0));
});

law('only what we disabled is enabled, and only when nobody holds the node', given => {
  if (!decideHost(given, now).calls.some(({ kind }) => kind === 'enable')) return;
  assert.ok(
    given.desired === undefined &&
      given.isReleased &&
      isMarked('drydock: ', given.service.disabledReason),
  );
});

law('only a cold migration of ours is confirmed', given => {
  for (const call of decideHost(given, now).calls) {
    if (call.kind !== 'confirm') continue;
    const own = given.migrations.filter(
      one => one.server === call.server && one.type === 'migration' && one.source === 'h1',
    );
    assert.ok(own.some(({ user }) => user === 'us'));
  }
});

law('the order of what is known changes nothing', given => {
  const turned = {
    ...given,
    servers: given.servers.toReversed(),
    migrations: given.migrations.toReversed(),
    elsewhere: given.elsewhere.toReversed(),
  };
  assert.deepEqual(
    JSON.stringify(decideHost(turned, now).view),
    JSON.stringify(decideHost(given, now).view),
  );
  assert.deepEqual(
    new Set(decideHost(turned, now).calls.map(call => JSON.stringify(call))),
    new Set(decideHost(given, now).calls.map(call => JSON.stringify(call))),
  );
});

law('an empty host has nothing left that has to go, and is disabled', given => {
  const { view } = decideHost(given, now);
  if (!view.empty) return;
  assert.ok(!given.service.isEnabled && given.desired !== undefined);
  assert.ok(view.vms.every(({ state }) => state === 'Moved' || state === 'Left'));
});

test('active servers go before paused and stopped ones, the smallest first', () => {
  const servers = [
    server('a', { vmState: 'stopped', memoryMiB: 1 }),
    server('b', { vmState: 'paused', memoryMiB: 1 }),
    server('c', { memoryMiB: 64 }),
    server('d', { memoryMiB: 32 }),
  ];
  const { calls } = decideHost(snapshot({ servers, limits: { ...defaultLimits, ahead: 4 } }), now);
  assert.deepEqual(
    calls.map(call => 'server' in call && call.server),
    ['d', 'c', 'b', 'a'],
  );
});

test('after a failure it is tried again when the pause is over, and pauses double up to ten minutes', () => {
  for (const [failures, pause] of [
    [1, 10],
    [2, 20],
    [4, 80],
    [9, 600],
  ] as const) {
    const migrations = Array.from({ length: failures }, (_, n) => migration(n + 1, 'a', 'error'));
    const last = migrations.at(-1)?.updated ?? now;
    const given = snapshot({
      servers: [server('a')],
      migrations,
      reasons: new Map([[failures, 'No valid host was found.']]),
    });
    assert.equal(decideHost(given, secondsAfter(last, pause - 1)).calls.length, 0);
    assert.equal(decideHost(given, secondsAfter(last, pause)).calls.length, 1);
    const [vm] = decideHost(given, last).view.vms;
    assert.equal(vm?.state, failures < 3 ? 'Waiting' : 'Cannot');
    assert.ok(vm.message?.endsWith('No valid host was found.'));
  }
});

test('a server that has just been scheduled to the host, or is on its way to it, keeps it from being empty', () => {
  const justNow = markOf('drydock: ', 'm', now);
  const fresh = snapshot({
    service: { id: 's', host: 'h1', isEnabled: false, isUp: true, disabledReason: justNow },
  });
  assert.equal(decideHost(fresh, secondsAfter(now, 2)).view.empty, false);
  assert.equal(decideHost(fresh, secondsAfter(now, 3)).view.empty, true);
  const arriving = migration(1, 'z', 'running', { source: 'h2', target: 'h1' });
  assert.equal(decideHost(snapshot({ migrations: [arriving] }), now).view.empty, false);
});

test('the mark of a service is one line of at most 255 characters that is read back', () => {
  const reason = markOf('drydock: ', `line one\nline two ${'x'.repeat(300)}`, now);
  assert.equal(reason.length, 255);
  assert.match(reason, /^drydock: line one line two x+ \(since 2030-01-10T12:00:00Z\)$/);
  assert.equal(String(markedSince('drydock: ', reason)), '2030-01-10T11:59:55Z');
  assert.equal(isMarked('drydock nova: ', reason), false);
  assert.equal(markedSince('drydock: ', 'broken fan (since 2030-01-10T12:00:00Z)'), undefined);
});

test('a host that nobody wants to be empty keeps its servers, whoever has disabled it', () => {
  const snapshot = makeReleased({ servers: [server('a')] });
  for (const service of [
    { ...snapshot.service, disabledReason: 'by hand' },
    { ...snapshot.service, isEnabled: true },
  ]) {
    assert.deepEqual(decideHost({ ...snapshot, service }, now).calls, []);
  }
});
