import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { at } from '../testing/make.ts';
import { makeHost, makeMove, makeServer } from '../testing/make-host.ts';
import { decideHost } from './decide.ts';
import { inFlightMigrations } from './match.ts';
import type { HostSnapshot, NovaServer } from './server.ts';

/**
 * Every task state of Nova (nova/compute/task_states.py), and whether disks are copied or fetched
 * meanwhile.
 */
const tasks: readonly (readonly [task: string, copies: boolean])[] = [
  ...[
    'scheduling',
    'networking',
    'deleting',
    'soft-deleting',
    'restoring',
    'powering-off',
    'powering-on',
    'rebooting',
  ].map(task => [task, false] as const),
  ...[
    'rebooting_hard',
    'reboot_pending',
    'reboot_started',
    'reboot_pending_hard',
    'reboot_started_hard',
    'pausing',
  ].map(task => [task, false] as const),
  ...[
    'unpausing',
    'suspending',
    'resuming',
    'rescuing',
    'unrescuing',
    'updating_password',
    'migrating',
    'a-task-of-tomorrow',
  ].map(task => [task, false] as const),
  ...[
    'block_device_mapping',
    'spawning',
    'image_snapshot',
    'image_snapshot_pending',
    'image_pending_upload',
    'image_uploading',
  ].map(task => [task, true] as const),
  ...[
    'image_backup',
    'resize_prep',
    'resize_migrating',
    'resize_migrated',
    'resize_finish',
    'resize_reverting',
    'resize_confirming',
  ].map(task => [task, true] as const),
  ...[
    'rebuilding',
    'rebuild_block_device_mapping',
    'rebuild_spawning',
    'shelving',
    'shelving_image_uploading',
    'shelving_offloading',
  ].map(task => [task, true] as const),
  ['unshelving', true],
];

function looked(server: NovaServer, seconds: number, over: Partial<HostSnapshot> = {}) {
  return decideHost(makeHost({ servers: [server, makeServer('other')], ...over }), at(seconds));
}
function stateOf(server: NovaServer, seconds: number, over: Partial<HostSnapshot> = {}) {
  return looked(server, seconds, over).view.vms.find(({ id }) => id === server.id);
}

describe('a server of whose task nothing comes', () => {
  for (const [taskState, copies] of tasks) {
    test(`${taskState}: told with a remedy after ${copies ? 'an hour' : 'ten minutes'}, and the others go on`, () => {
      const limit = copies ? 3600 : 600;
      const ways: readonly (readonly [NovaServer, Partial<HostSnapshot>])[] = [
        [makeServer('a', { taskState, updated: at(0) }), {}],
        // Somebody edits its metadata all the time, or Nova tells no times.
        [makeServer('a', { taskState }), { seenSince: new Map([['a', at(0)]]) }],
      ];
      for (const [server, over] of ways) {
        assert.notEqual(stateOf(server, limit, over)?.state, 'Cannot');
        const late = looked(server, limit + 1, over);
        const vm = late.view.vms.find(({ id }) => id === 'a');
        assert.equal(vm?.state, 'Cannot');
        assert.match(
          vm?.message ?? '',
          new RegExp(`^hangs: Nova has been at ${taskState} for more than`),
        );
        assert.match(vm?.remedy ?? '', /openstack server/);
        assert.deepEqual(
          late.calls.map(call => ('server' in call ? `${call.kind} ${call.server}` : call.kind)),
          ['live-migrate other'],
        );
        assert.equal(late.view.empty, false);
      }
    });
  }

  test('one that is built for ever, with a task or without', () => {
    assert.equal(
      stateOf(makeServer('a', { vmState: 'building', updated: at(0) }), 3600)?.state,
      'Waiting',
    );
    assert.equal(
      stateOf(makeServer('a', { vmState: 'building', updated: at(0) }), 3601)?.state,
      'Cannot',
    );
  });

  test('as many wrecks as there is room for leave the room to the others', () => {
    const wrecks = Array.from({ length: 8 }, (_, index) =>
      makeServer(`w${index}`, { taskState: 'migrating', updated: at(0) }),
    );
    const snapshot = (seconds: number) => {
      const host = makeHost({ servers: [...wrecks, makeServer('other')] });
      return [
        inFlightMigrations(host, at(seconds)).all,
        decideHost(host, at(seconds)).calls.length,
      ];
    };
    assert.deepEqual(snapshot(600), [8, 0]);
    assert.deepEqual(snapshot(601), [0, 1]);
  });
});

describe('a migration of which nothing comes', () => {
  const server = makeServer('a', { taskState: 'migrating', updated: at(20) });
  const told = (
    status: string,
    updated: number,
    seconds: number,
    others: HostSnapshot['migrations'] = [],
  ) =>
    stateOf(server, seconds, {
      migrations: [makeMove(1, 'a', status, { updated: at(updated) }), ...others],
    });

  test('one that runs is told when Nova has not written to it for an hour, however long it has run', () => {
    assert.equal(told('running', 15, 3620)?.state, 'Migrating');
    const wreck = told('running', 15, 3621);
    assert.equal(wreck?.state, 'Cannot');
    assert.match(wreck?.message ?? '', /^hangs: its migration is running/);
    assert.equal(
      told('running', 80_000, 80_100)?.state,
      'Migrating',
      'a big one that is written to',
    );
  });

  test('one that waits does so for another; when there is none, for ten minutes', () => {
    assert.equal(told('queued', 15, 620)?.state, 'Migrating');
    assert.equal(told('queued', 15, 621)?.state, 'Cannot');
    const running = makeMove(2, 'b', 'running', { updated: at(6900) });
    assert.equal(told('queued', 15, 7000, [running])?.state, 'Migrating');
    assert.equal(
      told('queued', 15, 7000, [makeMove(2, 'b', 'queued', { updated: at(6900) })])?.state,
      'Cannot',
    );
    assert.equal(told('queued', 15, 20_000, [running])?.state, 'Cannot', 'it waits for a wreck');
  });

  test('takes no room', () => {
    const migrations = [1, 2, 3].map(id => makeMove(id, `w${id}`, 'queued'));
    const wrecks = migrations.map(({ server: id }) =>
      makeServer(id, { taskState: 'migrating', updated: at(20) }),
    );
    const host = makeHost({ servers: [...wrecks, makeServer('other')], migrations });
    assert.equal(decideHost(host, at(620)).calls.length, 0);
    assert.equal(decideHost(host, at(621)).calls.length, 1);
  });

  test('of a server that is elsewhere is told as well', () => {
    const gone = makeServer('a', { host: 'h2', taskState: 'resize_finish', updated: at(20) });
    const elsewhere = (seconds: number) =>
      decideHost(
        makeHost({
          elsewhere: [gone],
          migrations: [makeMove(1, 'a', 'post-migrating', { type: 'migration' })],
        }),
        at(seconds),
      ).view.vms[0]?.state;
    assert.deepEqual([elsewhere(3620), elsewhere(3621)], ['Migrating', 'Cannot']);
  });
});
