import assert from 'node:assert/strict';
import { test } from 'node:test';
import { at } from '../testing/make.ts';
import {
  defaultSettings,
  readMigration,
  readSettings,
  readVmi,
  unsaid,
  whyNotMigratable,
} from './kubevirt.ts';

function time(seconds: number): string {
  return at(seconds).toString();
}
const metadata = { name: 'db', namespace: 'vms', uid: 'u', resourceVersion: '7' };
const identity = {
  key: 'vms/db',
  namespace: 'vms',
  name: 'db',
  uid: 'u',
  resourceVersion: '7',
  deleting: false,
};

test('a VMI that has said nothing yet is pending, and nobody knows whether it can move', () => {
  assert.deepEqual(readVmi({ metadata }), { ...identity, phase: 'Pending' });
  assert.deepEqual(
    readVmi({
      metadata,
      spec: { evictionStrategy: '' },
      status: { phase: 'Running', nodeName: '' },
    }),
    {
      ...identity,
      phase: 'Running',
    },
  );
  assert.equal(readVmi({ metadata: { ...metadata, deletionTimestamp: time(0) } }).deleting, true);
  assert.equal(readVmi({ metadata: { ...metadata, namespace: undefined } }).key, 'default/db');
});

test('where it runs, who wants it away since when, and whether it can be migrated', () => {
  const conditions = [
    { type: 'Ready', status: 'True', lastTransitionTime: time(1) },
    {
      type: 'LiveMigratable',
      status: 'False',
      reason: 'DisksNotLiveMigratable',
      message: 'its disk is local',
    },
    { type: 'EvictionRequested', status: 'True', lastTransitionTime: time(2) },
  ];
  const status = { phase: 'Running', nodeName: 'n1', evacuationNodeName: 'n1', conditions };
  assert.deepEqual(readVmi({ metadata, spec: { evictionStrategy: 'LiveMigrate' }, status }), {
    ...identity,
    phase: 'Running',
    nodeName: 'n1',
    evacuatedFrom: 'n1',
    askedAt: at(2),
    strategy: 'LiveMigrate',
    migratable: false,
    notMigratable: 'its disk is local',
  });
  const why = (condition: object) => {
    const vmi = readVmi({
      metadata,
      status: { conditions: [{ type: 'LiveMigratable', ...condition }] },
    });
    return [vmi.migratable, whyNotMigratable(vmi)];
  };
  assert.deepEqual(why({ status: 'False', reason: 'DisksNotLiveMigratable' }), [
    false,
    'DisksNotLiveMigratable',
  ]);
  assert.deepEqual(why({ status: 'False' }), [false, unsaid]);
  assert.deepEqual(why({ status: 'True', message: 'all is well' }), [true, unsaid]);
});

test('its memory is what the guest has now, else what it was given, else what it asks for', () => {
  const memory = (spec: object, status: object = {}) =>
    readVmi({ metadata, spec: { domain: spec }, status }).memory;
  const resources = { requests: { memory: '1Ki' } };
  assert.equal(
    memory({ resources, memory: { guest: '2Ki' } }, { memory: { guestCurrent: '3Ki' } }),
    3072,
  );
  assert.equal(memory({ resources, memory: { guest: '2Ki' } }), 2048);
  assert.equal(memory({ resources }), 1024);
  assert.equal('memory' in readVmi({ metadata, spec: { domain: {} } }), false);
});

test('a migration is pending until it says otherwise', () => {
  const pending = { ...identity, vmi: 'vms/vm', phase: 'Pending', createdAt: at(5), since: at(5) };
  const created = { ...metadata, creationTimestamp: time(5) };
  assert.deepEqual(readMigration({ metadata: created, spec: { vmiName: 'vm' } }), pending);
  assert.deepEqual(
    readMigration({ metadata: created, spec: { vmiName: 'vm' }, status: { phase: '' } }),
    pending,
  );
  assert.deepEqual(readMigration({ metadata, status: {} }).createdAt.epochMilliseconds, 0);
  assert.equal(readMigration({ metadata }).vmi, 'vms/', 'one that names no VM is no VM’s');
});

test('its times are those of the copying, else those of its phases', () => {
  const phases = { Scheduling: 10, Running: 20, Succeeded: 30, Failed: 40 };
  const times = (names: readonly (keyof typeof phases)[]) =>
    names.map(phase => ({ phase, phaseTransitionTimestamp: time(phases[phase]) }));
  const read = (status: object) => {
    const { since, runningAt, endedAt } = readMigration({
      metadata,
      spec: { vmiName: 'vm' },
      status,
    });
    return [since, runningAt, endedAt].map(
      moment => moment && (moment.epochMilliseconds - at(0).epochMilliseconds) / 1000,
    );
  };
  assert.deepEqual(
    read({ phase: 'Running', phaseTransitionTimestamps: times(['Scheduling', 'Running']) }),
    [20, 20, undefined],
  );
  assert.deepEqual(
    read({
      phase: 'Succeeded',
      phaseTransitionTimestamps: times(['Scheduling', 'Running', 'Succeeded']),
    }),
    [30, 20, 30],
  );
  assert.deepEqual(
    read({ phase: 'Failed', phaseTransitionTimestamps: times(['Scheduling', 'Failed']) }),
    [40, undefined, 40],
  );
  const migrationState = { startTimestamp: time(21), endTimestamp: time(29) };
  assert.deepEqual(
    read({
      phase: 'Succeeded',
      phaseTransitionTimestamps: times(['Running', 'Succeeded']),
      migrationState,
    }),
    [30, 21, 29],
  );
});

test('who asked for it, where it goes, and why it failed', () => {
  const annotations = { 'kubevirt.io/evacuationMigration': 'n1' };
  const migrationState = { sourceNode: 'n1', targetNode: 'n2', failureReason: 'no room' };
  assert.partialDeepStrictEqual(
    readMigration({ metadata: { ...metadata, annotations }, status: { migrationState } }),
    {
      evacuates: 'n1',
      source: 'n1',
      target: 'n2',
      failure: 'no room',
    },
  );
});

test("the administrator's settings count, KubeVirt's own for what they do not say", () => {
  const { key: _k, uid: _u, resourceVersion: _r, ...own } = defaultSettings;
  const known = { key: 'vms/db', uid: 'u', resourceVersion: '7' };
  assert.deepEqual(readSettings({ metadata }), { ...known, ...own });
  assert.deepEqual(readSettings({ metadata, spec: { configuration: { migrations: {} } } }), {
    ...known,
    ...own,
  });
  const migrations = {
    parallelMigrationsPerCluster: 9,
    parallelOutboundMigrationsPerNode: 3,
    nodeDrainTaintKey: 'x/y',
  };
  assert.deepEqual(
    readSettings({ metadata, spec: { configuration: { evictionStrategy: 'None', migrations } } }),
    {
      ...known,
      evictionStrategy: 'None',
      parallelPerCluster: 9,
      parallelPerNode: 3,
      drainTaint: 'x/y',
    },
  );
});
