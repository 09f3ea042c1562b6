import assert from 'node:assert/strict';
import { test } from 'node:test';
import { at } from '../testing/make.ts';
import { makeHost, makeMove, makeServer } from '../testing/make-host.ts';
import { decideHost } from './decide.ts';
import { inFlightMigrations, nextMigrations } from './match.ts';
import { defaultLimits, type HostSnapshot } from './server.ts';

const now = at(60);
function asked(over: Partial<HostSnapshot>): readonly string[] {
  return decideHost(makeHost(over), now).calls.flatMap(call =>
    call.kind.endsWith('migrate') && 'server' in call ? [call.server] : [],
  );
}

const many = ['a', 'b', 'c', 'd', 'e', 'f'].map(id => makeServer(id));

test('as many are asked for as there is room: on the host, in the queue of Nova, and over all hosts', () => {
  const limits = { perHost: 4, total: 32, ahead: 3 };
  assert.deepEqual(
    asked({ servers: many, limits }),
    ['a', 'b', 'c'],
    'three may wait in the queue',
  );
  const running = (count: number) =>
    Array.from({ length: count }, (_, n) => makeMove(n + 1, `x${n}`, 'running'));
  assert.deepEqual(
    asked({ servers: many, limits, migrations: running(2) }),
    ['a', 'b'],
    'four off this host',
  );
  assert.deepEqual(asked({ servers: many, limits, migrations: running(4) }), []);
  const queued = makeMove(9, 'y', 'queued');
  assert.deepEqual(asked({ servers: many, limits, migrations: [queued] }), ['a', 'b']);
  assert.deepEqual(asked({ servers: many, limits, free: 1 }), ['a']);
  assert.deepEqual(asked({ servers: many, limits, free: -1 }), []);
});

test('under way off this host is what has a record there that is not over, and what was accepted a moment ago', () => {
  const servers = [
    makeServer('a', { taskState: 'migrating' }),
    makeServer('b', { taskState: 'migrating' }),
    makeServer('d', { taskState: 'migrating' }),
  ];
  const migrations = [
    makeMove(1, 'a', 'running'),
    makeMove(2, 'd', 'accepted'),
    makeMove(3, 'e', 'queued'),
    // Not under way any more, moved already, or not off this host.
    makeMove(4, 'f', 'completed'),
    makeMove(5, 'g', 'error'),
    makeMove(6, 'h', 'finished'),
    makeMove(7, 'i', 'running', { source: 'h2' }),
  ];
  // Of the three that are migrating, b has no record yet: it counts as one that waits.
  assert.deepEqual(inFlightMigrations(makeHost({ servers, migrations }), now), {
    all: 4,
    queued: 3,
  });
});

test('of equal ones the first by id goes first, in whatever order they are told; unknown sizes count as small', () => {
  const limits = { ...defaultLimits, ahead: 6 };
  const servers = [
    makeServer('c', { memoryMiB: 10 }),
    makeServer('b'),
    makeServer('e', { memoryMiB: 10 }),
    makeServer('a'),
    makeServer('d', { memoryMiB: 5 }),
  ];
  assert.deepEqual(asked({ servers, limits }), ['a', 'b', 'd', 'c', 'e']);
  assert.deepEqual(asked({ servers: servers.toReversed(), limits }), ['a', 'b', 'd', 'c', 'e']);
});

test('active ones go first, then paused, stopped and all others; the smallest of each, then by id', () => {
  const rows: readonly (readonly [string, string, number | undefined])[] = [
    ['a', 'rescued', 1],
    ['b', 'stopped', 1],
    ['c', 'paused', 1],
    ['d', 'active', 9],
    ['e', 'active', 5],
    ['f', 'active', 5],
    ['g', 'active', undefined],
    ['h', 'suspended', undefined],
  ];
  const behaviors = rows.map(([id, vmState, memoryMiB]) => ({
    server: makeServer(id, { vmState, ...(memoryMiB !== undefined && { memoryMiB }) }),
    standing: { platform: 'OpenStack', id, name: id, state: 'Waiting' } as const,
    call: { kind: 'live-migrate', server: id } as const,
  }));
  const snapshot = makeHost({ limits: { perHost: 99, total: 99, ahead: 99 } });
  for (const order of [behaviors, behaviors.toReversed()]) {
    const names = nextMigrations(snapshot, order, now).map(call =>
      'server' in call ? call.server : '',
    );
    assert.equal(names.join(''), 'gefdcbha');
  }
});
