import assert from 'node:assert/strict';
import { test } from 'node:test';
import { launcherOf, makeMigration, makeVmi, makeVms } from '../testing/make-vms.ts';
import type { Vmi, VmMigration } from './kubevirt.ts';
import { evictionPreview } from './kubevirt-state.ts';
import { vmPodsOf } from './vm-pod.ts';
import { plainVmPolicy, type VmPolicy } from './vm-status.ts';

function outlookOf(
  vmis: readonly Vmi[],
  policy: Partial<VmPolicy> = {},
  migrations: readonly VmMigration[] = [],
) {
  const pods = vmis.map(vmi => launcherOf(vmi));
  return evictionPreview(vmPodsOf('n1', pods, makeVms({ vmis, migrations })).values(), {
    ...plainVmPolicy,
    ...policy,
  });
}

const { migratable: _unknown, ...undecided } = makeVmi('a');
const cannot = makeVmi('a', { migratable: false, notMigratable: 'its disk is local' });
const none = makeVmi('a', { strategy: 'None' });
const ifPossible = makeVmi('a', { strategy: 'LiveMigrateIfPossible', migratable: false });

const outlooks: readonly (readonly [Vmi, Partial<VmPolicy>, boolean, string])[] = [
  [makeVmi('a'), {}, false, 'is live-migrated'],
  [
    undecided,
    {},
    false,
    'is live-migrated if possible: KubeVirt has not determined yet whether it is',
  ],
  [
    makeVmi('a', { strategy: 'External' }),
    {},
    false,
    'is moved by a controller of its own (evictionStrategy External)',
  ],
  [
    cannot,
    { notMigratable: 'Wait' },
    true,
    'cannot be migrated (its disk is local), and must not be shut down: it keeps the node from being drained',
  ],
  [
    cannot,
    { notMigratable: 'ShutDown', shutDownAfterSeconds: 0 },
    true,
    'cannot be migrated (its disk is local), and is shut down at once',
  ],
  [
    cannot,
    { notMigratable: 'ShutDown', shutDownAfterSeconds: 60 },
    true,
    'cannot be migrated (its disk is local), and is shut down 60 s after the start',
  ],
  [
    cannot,
    { notMigratable: 'Refuse' },
    true,
    'cannot be migrated (its disk is local): nothing on the node is moved',
  ],
  [
    none,
    { notMigrated: 'Evict' },
    true,
    'is not meant to be migrated (evictionStrategy None), and is shut down by its eviction',
  ],
  [
    ifPossible,
    { notMigrated: 'Evict' },
    true,
    'cannot be migrated, and is shut down by its eviction',
  ],
  [
    ifPossible,
    { notMigrated: 'Wait' },
    true,
    'cannot be migrated: it is left running, and keeps the node from being drained',
  ],
  [
    none,
    { notMigrated: 'Refuse' },
    true,
    'is not meant to be migrated (evictionStrategy None): nothing on the node is moved',
  ],
];

for (const [vmi, policy, warns, text] of outlooks) {
  test(`before a drain: it ${text}`, () =>
    assert.deepEqual(outlookOf([vmi], policy), [{ name: 'vms/a', warns, text }]));
}

test('VMs are told of by name, whatever order they are known in; those that come here or have left are left out', () => {
  const comes = makeVmi('c', { nodeName: 'n2' });
  const all = [makeVmi('b'), comes, makeVmi('a'), makeVmi('d', { nodeName: 'n2' })];
  for (const vmis of [all, all.toReversed()]) {
    assert.deepEqual(
      outlookOf(vmis, {}, [makeMigration(comes, 'Running')]).map(({ name }) => name),
      ['vms/a', 'vms/b'],
    );
  }
});
