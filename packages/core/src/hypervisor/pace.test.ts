import assert from 'node:assert/strict';
import { test } from 'node:test';
import { secondsBetween } from '@drydock/apimachinery';
import { at } from '../testing/make.ts';
import { makeHost, makeMove, slack } from '../testing/make-host.ts';
import type { VmState, VmStatus } from '../vm/vm-status.ts';
import { expectedEnd, lookAgainMs } from './decide.ts';
import type { ServerMigration } from './server.ts';

function vms(...states: readonly VmState[]): readonly VmStatus[] {
  return states.map((state, n) => ({ platform: 'OpenStack', id: `${n}`, name: `${n}`, state }));
}

/** One that went well, from `from` to `to` (seconds). */
function went(
  id: number,
  from: number,
  to: number,
  over: Partial<ServerMigration> = {},
): ServerMigration {
  return makeMove(id, `s${id}`, 'completed', { created: at(from), updated: at(to), ...over });
}

function endOf(
  migrations: readonly ServerMigration[],
  standings: readonly VmStatus[],
): number | undefined {
  const end = expectedEnd(makeHost({ migrations }), standings);
  return end && secondsBetween(at(0), end);
}

test('the end is as far from the last that left as the rest take at the pace so far', () => {
  // Two in a hundred seconds: fifty seconds each.
  const two = [went(1, 20, 70), went(2, 30, 120)];
  assert.equal(endOf(two, vms('Waiting', 'Migrating', 'Waiting')), 120 + 3 * 50);
  assert.equal(endOf(two.toReversed(), vms('Waiting')), 120 + 50);
  assert.equal(
    endOf(two, vms('Waiting', 'Moved', 'Cannot', 'Left', 'Stopped')),
    120 + 50,
    'those that do not move take no time',
  );
});

test('there is none before one has left, and none when nothing moves', () => {
  assert.equal(endOf([], vms('Waiting')), undefined);
  assert.equal(endOf([makeMove(1, 'a', 'running')], vms('Migrating')), undefined);
  assert.equal(endOf([went(1, 20, 70)], vms('Moved', 'Cannot')), undefined);
});

test('only what left this host, went well, and belongs to this emptying, sets the pace', () => {
  const own = went(1, 20, 70);
  const others = [
    went(2, 20, 300, { source: 'h2' }),
    went(3, 20, 300, { status: 'error' }),
    went(4, 20, 300, { status: 'running' }),
    went(5, -slack - 1, 300),
  ];
  for (const other of others)
    assert.equal(endOf([own, other], vms('Waiting')), 120, `migration ${other.id}`);
  assert.equal(
    endOf([went(6, -slack, 45)], vms('Waiting')),
    45 + 50,
    'clocks may differ by five seconds',
  );
});

test('it looks again after four tenths of the time that one takes, after one to five seconds', () => {
  const lookAfter = (...migrations: readonly ServerMigration[]): number =>
    lookAgainMs(makeHost({ migrations }), vms('Waiting', 'Cannot'));
  assert.equal(lookAfter(), 1000, 'nothing is known of the pace');
  assert.equal(lookAfter(went(1, 20, 21)), 1000);
  assert.equal(lookAfter(went(1, 20, 30)), 4000);
  assert.equal(lookAfter(went(1, 20, 100)), 5000);
  assert.equal(lookAfter(went(1, 20, 30), went(2, 20, 32)), 2400, 'two in twelve seconds');
  assert.equal(lookAgainMs(makeHost(), vms('Cannot', 'Moved')), 10_000, 'nothing moves');
});
