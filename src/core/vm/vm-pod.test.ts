import assert from 'node:assert/strict';
import { test } from 'node:test';
import { at } from '../testing/make.ts';
import { launcherOf, makeMigration, makeSettings, makeVmi, makeVms } from '../testing/make-vms.ts';
import type { Vmi, VmMigration } from './kubevirt.ts';
import { isStranded, looksDifferentAt, migrationProgressOf, vmPodsOf } from './vm-pod.ts';

const vmPodOf = (vmi: Vmi, migrations: readonly VmMigration[] = [], evictionStrategy?: string) => {
  const settings = makeSettings(evictionStrategy === undefined ? {} : { evictionStrategy });
  const pod = launcherOf(vmi);
  const vmPod = vmPodsOf('n1', [pod], makeVms({ settings, vmis: [vmi], migrations })).get(pod.uid);
  assert.ok(vmPod);
  return vmPod;
};

const without = <Key extends keyof Vmi>(vmi: Vmi, ...keys: readonly Key[]): Vmi =>
  Object.fromEntries(Object.entries(vmi).filter(([key]) => !keys.includes(key as Key))) as unknown as Vmi;

/** Strategy of the VM, of the cluster, migratable or not, and what an eviction does (kubevirt's pod-eviction-admitter). */
const strategies: readonly (readonly [string | undefined, string | undefined, boolean | undefined, string])[] = [
  ['LiveMigrate', undefined, true, 'Migrates'],
  ['LiveMigrate', undefined, false, 'Cannot'],
  ['LiveMigrate', undefined, undefined, 'Undecided'],
  ['LiveMigrateIfPossible', undefined, true, 'Migrates'],
  ['LiveMigrateIfPossible', undefined, false, 'Stops'],
  ['LiveMigrateIfPossible', undefined, undefined, 'Stops'],
  ['None', 'LiveMigrate', true, 'Stops'],
  ['External', undefined, false, 'External'],
  [undefined, undefined, true, 'Stops'],
  [undefined, 'LiveMigrate', true, 'Migrates'],
  [undefined, 'LiveMigrate', false, 'Cannot'],
  [undefined, 'External', true, 'External'],
];

for (const [own, cluster, migratable, evictionEffect] of strategies) {
  test(`strategy ${own ?? '-'}, cluster ${cluster ?? '-'}, migratable ${migratable ?? '?'}: ${evictionEffect}`, () => {
    const vmi = without(makeVmi('a'), 'strategy', 'migratable');
    const said = { ...vmi, ...(own !== undefined && { strategy: own }), ...(migratable !== undefined && { migratable }) };
    assert.equal(vmPodOf(said, [], cluster).evictionEffect, evictionEffect);
  });
}

const marked = makeVmi('a', { evacuatedFrom: 'n1' });
const failed = makeMigration(marked, 'Failed', { name: 'first', uid: 'first', createdAt: at(-10), failure: 'no luck' });

/** One whose phase has no time, as of older versions. */
const unsaidSince = (phase: string): VmMigration => {
  const { since: _unknown, ...migration } = makeMigration(marked, phase);
  return migration;
};

const journeys: readonly (readonly [string, Vmi, readonly VmMigration[], number, string, boolean])[] = [
  ['nobody has asked', makeVmi('a'), [], 0, 'None', false],
  ['marked, and nothing made of it yet', marked, [], 0, 'Queued', false],
  ['made, and KubeVirt has not begun', marked, [makeMigration(marked, 'Pending')], 1000, 'Queued', false],
  ['its target looks for a node', marked, [makeMigration(marked, 'Scheduling')], 60, 'Placing', false],
  ['its target finds no node', marked, [makeMigration(marked, 'Scheduling')], 61, 'Lost', true],
  ['its target has a node', marked, [makeMigration(marked, 'Scheduled')], 1000, 'Moving', false],
  ['it is being copied', marked, [makeMigration(marked, 'Running')], 1000, 'Moving', false],
  ['a migration that a user began', makeVmi('a'), [makeMigration(marked, 'Running')], 0, 'Moving', false],
  ['the last one failed', marked, [failed], 0, 'Failing', true],
  ['the last one failed, and the next one waits', marked, [failed, makeMigration(marked, 'Pending')], 0, 'Failing', true],
  ['the last one failed, and the next one has begun', marked, [failed, makeMigration(marked, 'Running')], 0, 'Moving', false],
  ['it failed long ago, and was not asked for since', makeVmi('a'), [failed], 0, 'None', false],
  ['it must not be shut down and cannot move', makeVmi('a', { migratable: false }), [], 0, 'None', true],
  ['somebody else is to move it', makeVmi('a', { ...marked, strategy: 'External', askedAt: at(0) }), [], 600, 'External', false],
  ['somebody else does not move it', makeVmi('a', { ...marked, strategy: 'External', askedAt: at(0) }), [], 601, 'ExternalLate', true],
  ['somebody else is to move it, nobody knows since when', makeVmi('a', { ...marked, strategy: 'External' }), [], 9999, 'External', false],
  ['its target finds no node, nobody knows since when', marked, [unsaidSince('Scheduling')], 61, 'Lost', true],
  ['its target looks for a node, nobody knows since when', marked, [unsaidSince('Scheduling')], 60, 'Placing', false],
  ['it has moved, and its pod is ending', makeVmi('a', { nodeName: 'n2' }), [], 0, 'Left', false],
  ['it comes here', makeVmi('a', { nodeName: 'n2' }), [makeMigration(marked, 'Running')], 0, 'Arriving', false],
];

for (const [what, vmi, migrations, seconds, migrationProgress, stranded] of journeys) {
  test(`${what}: ${migrationProgress}`, () => {
    const vmPod = vmPodOf(vmi, migrations);
    assert.deepEqual([migrationProgressOf(vmPod, at(seconds)), isStranded(vmPod, at(seconds))], [migrationProgress, stranded]);
  });
}

test('what only time changes is looked at again in time', () => {
  assert.equal(
    looksDifferentAt(vmPodOf(marked, [makeMigration(marked, 'Scheduling')]), at(5))?.epochMilliseconds,
    at(61).epochMilliseconds,
  );
  assert.equal(looksDifferentAt(vmPodOf(marked, [makeMigration(marked, 'Scheduling')]), at(61)), undefined);
  assert.equal(looksDifferentAt(vmPodOf(marked, [makeMigration(marked, 'Running')]), at(5)), undefined);
});

test('a controller that gets time to move a VM is looked at again when that is over; nobody else is', () => {
  const external = makeVmi('a', { ...marked, strategy: 'External', askedAt: at(0) });
  const again = (vmi: Vmi, seconds: number, migrations: readonly VmMigration[] = []) =>
    looksDifferentAt(vmPodOf(vmi, migrations), at(seconds))?.epochMilliseconds;
  assert.deepEqual([again(external, 5), again(external, 600)], [at(601).epochMilliseconds, at(601).epochMilliseconds]);
  assert.deepEqual([again(external, 601), again(without(external, 'askedAt'), 5)], [undefined, undefined]);
  assert.equal(again({ ...external, strategy: 'LiveMigrate' }, 5), undefined);
  assert.equal(again(marked, 5, [unsaidSince('Scheduling')]), at(61).epochMilliseconds);
});

test('the last migration is the youngest, and of those of one moment the last by name', () => {
  const made = (name: string, seconds: number) => makeMigration(marked, 'Failed', { name, uid: name, createdAt: at(seconds) });
  const scenes: readonly (readonly [readonly VmMigration[], string])[] = [
    [[made('a', 2), made('b', 1)], 'a'],
    [[made('a', 1), made('b', 2)], 'b'],
    [[made('a', 1), made('b', 1)], 'b'],
  ];
  for (const [migrations, last] of scenes) {
    for (const order of [migrations, migrations.toReversed()]) assert.equal(vmPodOf(marked, order).failed?.name, last);
  }
});

test('pods that have ended, of VMs that are not known or over, are pods like any other', () => {
  const vmi = makeVmi('a');
  const known = makeVms({ vmis: [vmi, makeVmi('over', { phase: 'Succeeded' })] });
  const pods = [launcherOf(vmi, { phase: 'Succeeded' }), launcherOf(makeVmi('stranger')), launcherOf(makeVmi('over'))];
  assert.equal(vmPodsOf('n1', pods, known).size, 0);
  assert.equal(vmPodsOf('n1', [launcherOf(vmi)], undefined).size, 0);
});
