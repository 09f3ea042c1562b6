import assert from 'node:assert/strict';
import { test } from 'node:test';
import { at, makePod } from '../../testing/make.ts';
import {
  launcherOf,
  makeMigration,
  makeSettings,
  makeVmi,
  makeVms,
  unplacedOf,
} from '../../testing/make-vms.ts';
import { unsaid, type Vmi, type VmMigration } from '../../vm/kubevirt.ts';
import { vmPodsOf } from '../../vm/vm-pod.ts';
import { hasGone, type VmState, type VmStatus } from '../../vm/vm-status.ts';
import { nothingTracked, trackVms } from './vm-pod-decision.ts';

function standingOf(
  vmi: Vmi,
  migrations: readonly VmMigration[] = [],
  seconds = 10,
): VmStatus | undefined {
  const known = makeVms({
    settings: makeSettings({ parallelPerNode: 2, parallelPerCluster: 5 }),
    vmis: [vmi],
    migrations,
    unplaced: unplacedOf(migrations, { why: '0/3 nodes are available' }),
  });
  const pods = [launcherOf(vmi), makePod('web')];
  return trackVms(
    'n1',
    pods,
    vmPodsOf('n1', pods, known),
    known,
    nothingTracked,
    at(seconds),
  ).vms.get(vmi.uid);
}

const { migratable: _unknown, ...undecided } = makeVmi('a');
const marked = makeVmi('a', { evacuatedFrom: 'n1' });
const failed = makeMigration(marked, 'Failed', { name: 'first', uid: 'first', createdAt: at(-10) });
const external = makeVmi('a', { strategy: 'External' });
function forHelp(remedy: string) {
  return { state: 'Cannot', remedy };
}

const startHelp =
  'see why: kubectl -n vms describe vmi a; stop the VM, or let the policy do so (drain.virtualMachines.notMigratable)';

const standings: readonly (readonly [string, Vmi, readonly VmMigration[], number, object])[] = [
  ['nobody has asked', makeVmi('a'), [], 10, { state: 'Waiting', message: 'waits for its turn' }],
  [
    'somebody else will be asked',
    external,
    [],
    10,
    { state: 'Waiting', message: 'waits for its turn' },
  ],
  [
    'its eviction shuts it down',
    makeVmi('a', { strategy: 'None' }),
    [],
    10,
    { state: 'Waiting', message: 'is shut down by its eviction, as its evictionStrategy says' },
  ],
  [
    'KubeVirt has not said',
    undecided,
    [],
    10,
    { state: 'Waiting', message: 'KubeVirt has not determined yet whether VM a can be migrated' },
  ],
  [
    'it is in the queue',
    marked,
    [],
    10,
    {
      state: 'Waiting',
      message:
        'VM a waits for its turn: KubeVirt migrates 2 at a time from a node and 5 in the cluster',
    },
  ],
  [
    'it cannot move',
    makeVmi('a', { migratable: false, notMigratable: 'its disk is local' }),
    [],
    10,
    {
      message:
        'VM a must be migrated (evictionStrategy LiveMigrate) and cannot be: its disk is local',
      ...forHelp(
        'make it migratable, shut it down, or let the policy do so (drain.virtualMachines.notMigratable)',
      ),
    },
  ],
  [
    'its target looks for a node',
    marked,
    [makeMigration(marked, 'Scheduling', { since: at(5) })],
    10,
    { state: 'Migrating', message: 'VM a is being migrated (Scheduling)', since: at(5) },
  ],
  [
    'it is being copied',
    marked,
    [makeMigration(marked, 'Running', { target: 'n2', since: at(7) })],
    10,
    {
      state: 'Migrating',
      message: 'VM a is being migrated to n2 (Running)',
      target: 'n2',
      since: at(7),
    },
  ],
  [
    'it has not begun',
    { ...undecided, phase: 'Scheduled', since: at(0) },
    [],
    61,
    {
      message:
        'VM a has not started on the node (Scheduled), and KubeVirt lets no such VM be evicted',
      ...forHelp(startHelp),
    },
  ],
  [
    'nobody finds out whether it can be migrated',
    { ...undecided, since: at(0) },
    [],
    301,
    {
      message:
        'KubeVirt has not determined for minutes whether VM a can be migrated, and lets no such VM be evicted',
      ...forHelp(startHelp),
    },
  ],
  [
    'its target does not get ready',
    marked,
    [makeMigration(marked, 'Scheduled')],
    961,
    {
      message:
        'the pod that VM a is to be migrated to has not become ready for longer than KubeVirt waits (Scheduled)',
      ...forHelp(
        'see what keeps it: kubectl -n vms describe pod -l kubevirt.io/migrationJobUID=vmim-a; check virt-controller',
      ),
      since: at(0),
    },
  ],
  [
    'its target finds no node',
    marked,
    [makeMigration(marked, 'Scheduling')],
    61,
    {
      message:
        'no node takes VM a: the pod that it is to be migrated to is not scheduled: 0/3 nodes are available',
      ...forHelp(
        'see what it lacks: kubectl -n vms describe pod -l kubevirt.io/migrationJobUID=vmim-a',
      ),
      since: at(0),
    },
  ],
  [
    'the last attempt failed',
    marked,
    [{ ...failed, failure: 'no luck' }],
    10,
    {
      message: 'the last migration of VM a failed: no luck; KubeVirt tries again',
      ...forHelp('inspect it: kubectl -n vms describe vmim first'),
    },
  ],
  [
    'the last attempt failed for no reason that is told',
    marked,
    [failed],
    10,
    {
      message: `the last migration of VM a failed: ${unsaid}; KubeVirt tries again`,
      ...forHelp('inspect it: kubectl -n vms describe vmim first'),
    },
  ],
];

for (const [what, vmi, migrations, seconds, expected] of standings) {
  test(`what is told of a VM: ${what}`, () => {
    assert.deepEqual(standingOf(vmi, migrations, seconds), {
      platform: 'KubeVirt',
      id: 'vmi-a',
      name: 'vms/a',
      ...expected,
    });
  });
}

test('one that has moved on, or only comes here, is not among those of the node', () => {
  const elsewhere = makeVmi('a', { nodeName: 'n2' });
  assert.equal(standingOf(elsewhere), undefined);
  assert.equal(standingOf(elsewhere, [makeMigration(elsewhere, 'Running')]), undefined);
});

function was(state: VmState, over: Partial<VmStatus> = {}): VmStatus {
  return {
    platform: 'KubeVirt',
    id: 'vmi-a',
    name: 'vms/a',
    state,
    ...over,
  };
}
const { nodeName: _nowhere, ...unplaced } = makeVmi('a');
const onNext = makeVmi('a', { nodeName: 'n2' });
const migrating = was('Migrating', { target: 'n3', message: 'is being migrated' });

const departures: readonly (readonly [string, VmStatus, Vmi | undefined, VmStatus])[] = [
  ['it runs on another node now', migrating, onNext, was('Moved', { target: 'n2' })],
  ['nobody knows it any more', migrating, undefined, was('Stopped')],
  ['it has ended', migrating, { ...onNext, phase: 'Succeeded' }, was('Stopped')],
  ['it is being deleted', migrating, { ...onNext, deleting: true }, was('Stopped')],
  ['its pod alone is gone', migrating, makeVmi('a'), migrating],
  ['it has no node yet', migrating, unplaced, migrating],
  [
    'it had moved, and is gone now',
    was('Moved', { target: 'n2' }),
    undefined,
    was('Moved', { target: 'n2' }),
  ],
  [
    'it had been shut down, and was started again elsewhere',
    was('Stopped'),
    onNext,
    was('Stopped'),
  ],
];

for (const [what, before, vmi, after] of departures) {
  test(`what became of one that was here: ${what}`, () => {
    const known = makeVms({ vmis: vmi === undefined ? [] : [vmi] });
    const tracked = trackVms(
      'n1',
      [],
      new Map(),
      known,
      { ...nothingTracked, vms: new Map([['vmi-a', before]]) },
      at(0),
    );
    assert.deepEqual([...tracked.vms.values()], [after]);
  });
}

test('a VM has gone once it has moved, is shut down, or is left alone', () => {
  const states: readonly VmState[] = ['Waiting', 'Migrating', 'Moved', 'Stopped', 'Cannot', 'Left'];
  assert.deepEqual(
    states.filter(state => hasGone({ state })),
    ['Moved', 'Stopped', 'Left'],
  );
});
