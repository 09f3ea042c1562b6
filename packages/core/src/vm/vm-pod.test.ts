import assert from 'node:assert/strict';
import { test } from 'node:test';
import { at } from '../testing/make.ts';
import {
  launcherOf,
  makeMigration,
  makeSettings,
  makeVmi,
  makeVms,
  unplacedOf,
} from '../testing/make-vms.ts';
import { isOver, type Vmi, type VmMigration } from './kubevirt.ts';
import { isStranded, looksDifferentAt, migrationProgressOf, vmPodsOf } from './vm-pod.ts';
import { plainVmPolicy, shutDownAt } from './vm-status.ts';

function vmPodOf(
  vmi: Vmi,
  migrations: readonly VmMigration[] = [],
  evictionStrategy?: string,
  unplaced = unplacedOf([]),
) {
  const settings = makeSettings(evictionStrategy === undefined ? {} : { evictionStrategy });
  const pod = launcherOf(vmi);
  const vmPod = vmPodsOf('n1', [pod], makeVms({ settings, vmis: [vmi], migrations, unplaced })).get(
    pod.uid,
  );
  assert.ok(vmPod);
  return vmPod;
}

function without<Key extends keyof Vmi>(vmi: Vmi, ...keys: readonly Key[]): Vmi {
  return Object.fromEntries(
    Object.entries(vmi).filter(([key]) => !keys.includes(key as Key)),
  ) as unknown as Vmi;
}

/**
 * Strategy of the VM, of the cluster, migratable or not, and what an eviction does (kubevirt's
 * pod-eviction-admitter).
 */
const strategies: readonly (readonly [
  string | undefined,
  string | undefined,
  boolean | undefined,
  string,
])[] = [
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
    const said = {
      ...vmi,
      ...(own !== undefined && { strategy: own }),
      ...(migratable !== undefined && { migratable }),
    };
    assert.equal(vmPodOf(said, [], cluster).evictionEffect, evictionEffect);
  });
}

const marked = makeVmi('a', { evacuatedFrom: 'n1' });
const failed = makeMigration(marked, 'Failed', {
  name: 'first',
  uid: 'first',
  createdAt: at(-10),
  failure: 'no luck',
});

/** One whose phase has no time, as of older versions. */
function unsaidSince(phase: string): VmMigration {
  const { since: _unknown, ...migration } = makeMigration(marked, phase);
  return migration;
}

const journeys: readonly (readonly [
  string,
  Vmi,
  readonly VmMigration[],
  number,
  string,
  boolean,
])[] = [
  ['nobody has asked', makeVmi('a'), [], 0, 'None', false],
  ['marked, and nothing made of it yet', marked, [], 0, 'Queued', false],
  [
    'made, and KubeVirt has not begun',
    marked,
    [makeMigration(marked, 'Pending')],
    1000,
    'Queued',
    false,
  ],
  ['its target starts', marked, [makeMigration(marked, 'Scheduling')], 960, 'Placing', false],
  [
    'its target does not start',
    marked,
    [makeMigration(marked, 'Scheduling')],
    961,
    'Overdue',
    true,
  ],
  ['its target is ready', marked, [makeMigration(marked, 'Scheduled')], 960, 'Moving', false],
  [
    'its target is ready, and nothing comes of it',
    marked,
    [makeMigration(marked, 'Scheduled')],
    961,
    'Overdue',
    true,
  ],
  [
    'its target is made ready, and nothing comes of it',
    marked,
    [makeMigration(marked, 'PreparingTarget')],
    961,
    'Overdue',
    true,
  ],
  ['it is being copied', marked, [makeMigration(marked, 'Running')], 1000, 'Moving', false],
  [
    'a migration that a user began',
    makeVmi('a'),
    [makeMigration(marked, 'Running')],
    0,
    'Moving',
    false,
  ],
  ['the last one failed', marked, [failed], 0, 'Failing', true],
  [
    'the last one failed, and the next one waits',
    marked,
    [failed, makeMigration(marked, 'Pending')],
    0,
    'Failing',
    true,
  ],
  [
    'the last one failed, and the next one has begun',
    marked,
    [failed, makeMigration(marked, 'Running')],
    0,
    'Moving',
    false,
  ],
  ['it failed long ago, and was not asked for since', makeVmi('a'), [failed], 0, 'None', false],
  [
    'it must not be shut down and cannot move',
    makeVmi('a', { migratable: false }),
    [],
    0,
    'None',
    true,
  ],
  [
    'somebody else is to move it',
    makeVmi('a', { ...marked, strategy: 'External', askedAt: at(0) }),
    [],
    600,
    'External',
    false,
  ],
  [
    'somebody else does not move it',
    makeVmi('a', { ...marked, strategy: 'External', askedAt: at(0) }),
    [],
    601,
    'ExternalLate',
    true,
  ],
  [
    'somebody else is to move it, nobody knows since when',
    makeVmi('a', { ...marked, strategy: 'External' }),
    [],
    9999,
    'External',
    false,
  ],
  [
    'its target does not start, nobody knows since when',
    marked,
    [unsaidSince('Scheduling')],
    961,
    'Overdue',
    true,
  ],
  [
    'its target starts, nobody knows since when',
    marked,
    [unsaidSince('Scheduling')],
    960,
    'Placing',
    false,
  ],
  ['it has moved, and its pod is ending', makeVmi('a', { nodeName: 'n2' }), [], 0, 'Left', false],
  [
    'it comes here',
    makeVmi('a', { nodeName: 'n2' }),
    [makeMigration(marked, 'Running')],
    0,
    'Arriving',
    false,
  ],
];

for (const [what, vmi, migrations, seconds, migrationProgress, stranded] of journeys) {
  test(`${what}: ${migrationProgress}`, () => {
    const vmPod = vmPodOf(vmi, migrations);
    assert.deepEqual(
      [migrationProgressOf(vmPod, at(seconds)), isStranded(vmPod, at(seconds))],
      [migrationProgress, stranded],
    );
  });
}

test('no node takes it when its target pod has none for a minute, whatever its phase says, and never before KubeVirt says so', () => {
  const migrations = [makeMigration(marked, 'Scheduling')];
  const said = (seconds: number, unplaced = unplacedOf(migrations)) => {
    const vmPod = vmPodOf(marked, migrations, undefined, unplaced);
    return [
      migrationProgressOf(vmPod, at(seconds)),
      isStranded(vmPod, at(seconds)),
      looksDifferentAt(vmPod, at(seconds))?.epochMilliseconds,
    ];
  };
  const [lost, overdue] = [at(61).epochMilliseconds, at(961).epochMilliseconds];
  assert.deepEqual(said(60), ['Placing', false, lost]);
  assert.deepEqual(said(61), ['Lost', true, overdue]);
  assert.deepEqual(
    said(61, unplacedOf([])),
    ['Placing', false, overdue],
    'it has a node and pulls its image',
  );
  assert.deepEqual(
    said(61, unplacedOf([makeMigration(marked, 'Scheduling', { uid: 'another' })])),
    ['Placing', false, overdue],
  );
  const ready = [makeMigration(marked, 'Scheduled')];
  assert.equal(
    migrationProgressOf(vmPodOf(marked, ready, undefined, unplacedOf(ready)), at(61)),
    'Moving',
    'an old sight of its pod',
  );
});

test('every phase of a VM and of its migration, with every condition: what it is, and that none of them lasts for ever without somebody being told', () => {
  const phases = ['Pending', 'Scheduling', 'Scheduled', 'WaitingForSync', 'Running', 'Unknown'];
  const migrationPhases = [
    undefined,
    'Pending',
    'Scheduling',
    'Scheduled',
    'PreparingTarget',
    'TargetReady',
    'Running',
    'Succeeded',
    'Failed',
  ];
  // Ended by KubeVirt itself: by its queue, by the limits of a copy, by the next attempt.
  const endedByKubeVirt = new Set(['Queued', 'Moving', 'None']);
  for (const phase of phases) {
    for (const migrationPhase of migrationPhases) {
      for (const migratable of [true, false, undefined]) {
        for (const asked of [true, false]) {
          for (const placed of [true, false]) {
            const base = without(makeVmi('a', { phase, since: at(0) }), 'migratable');
            const vmi = {
              ...base,
              ...(migratable !== undefined && { migratable }),
              ...(asked && { evacuatedFrom: 'n1' }),
            };
            const migrations =
              migrationPhase === undefined ? [] : [makeMigration(vmi, migrationPhase)];
            const vmPod = vmPodOf(vmi, migrations, undefined, unplacedOf(placed ? [] : migrations));
            const what = JSON.stringify({ phase, migrationPhase, migratable, asked, placed });
            const isOn = migrations.some(one => !isOver(one));
            const early = migrationProgressOf(vmPod, at(30));
            // At first nobody is shut down, unless KubeVirt has said that it cannot be moved, or
            // that an attempt has failed.
            const isTold = (migratable === false && !asked && !isOn) || early === 'Failing';
            assert.equal(isStranded(vmPod, at(30)), isTold, what);
            const late = migrationProgressOf(vmPod, at(3600));
            if (!isOn && migratable === undefined && phase !== 'Unknown')
              assert.equal(late, 'Unready', what);
            if (migrationPhase === 'Scheduling')
              assert.equal(late, placed ? 'Overdue' : 'Lost', what);
            assert.ok(isStranded(vmPod, at(3600)) || endedByKubeVirt.has(late), `${what}: ${late}`);
            if (late === 'None') assert.notEqual(vmPod.evictionEffect, 'Undecided', what);
          }
        }
      }
    }
  }
});

test('a VM of which KubeVirt has not said whether it can be migrated: a minute to begin, five once it runs', () => {
  const undecided = (phase: string, over: Partial<Vmi> = {}) =>
    vmPodOf(without(makeVmi('a', { phase, since: at(0), ...over }), 'migratable'));
  const rows: readonly (readonly [ReturnType<typeof undecided>, number, string])[] = [
    [undecided('Scheduled'), 60, 'None'],
    [undecided('Scheduled'), 61, 'Unready'],
    [undecided('Scheduling'), 61, 'Unready'],
    [undecided('Pending'), 61, 'Unready'],
    [undecided('Running'), 300, 'None'],
    [undecided('Running'), 301, 'Unready'],
    // It can be shut down or moved without that.
    [undecided('Scheduled', { strategy: 'None' }), 3600, 'None'],
    [undecided('Scheduled', { strategy: 'LiveMigrateIfPossible' }), 3600, 'None'],
  ];
  for (const [vmPod, seconds, wanted] of rows)
    assert.equal(migrationProgressOf(vmPod, at(seconds)), wanted, `${vmPod.vmi.phase} ${seconds}`);
  const ageless = (phase: string) => vmPodOf(without(makeVmi('a', { phase }), 'migratable'));
  assert.equal(migrationProgressOf(ageless('Scheduled'), at(0)), 'Unready', 'nothing of it runs');
  assert.equal(
    migrationProgressOf(ageless('Running'), at(9999)),
    'None',
    'nobody knows since when',
  );
  assert.equal(
    looksDifferentAt(undecided('Scheduled'), at(5))?.epochMilliseconds,
    at(61).epochMilliseconds,
  );
  assert.equal(
    looksDifferentAt(undecided('Running'), at(5))?.epochMilliseconds,
    at(301).epochMilliseconds,
  );
});

test('at the deadline of the policy a VM that has not begun is shut down, and one whose target starts slowly is not', () => {
  const policy = {
    ...plainVmPolicy,
    notMigratable: 'ShutDown',
    shutDownAfterSeconds: 120,
  } as const;
  const unstarted = vmPodOf(
    without(makeVmi('a', { phase: 'Scheduled', since: at(0) }), 'migratable'),
  );
  assert.equal(shutDownAt(unstarted, policy, at(0), at(60)), undefined);
  assert.deepEqual(shutDownAt(unstarted, policy, at(0), at(61)), at(120));
  assert.equal(shutDownAt(unstarted, policy, at(0), at(120)), 'now');
  const slow = vmPodOf(marked, [makeMigration(marked, 'Scheduling')]);
  assert.equal(shutDownAt(slow, policy, at(0), at(900)), undefined);
  assert.equal(shutDownAt(slow, policy, at(0), at(961)), 'now');
});

test('what only time changes is looked at again in time', () => {
  const scheduling = vmPodOf(marked, [makeMigration(marked, 'Scheduling')]);
  assert.equal(looksDifferentAt(scheduling, at(5))?.epochMilliseconds, at(961).epochMilliseconds);
  assert.equal(looksDifferentAt(scheduling, at(961)), undefined);
  assert.equal(
    looksDifferentAt(vmPodOf(marked, [makeMigration(marked, 'Running')]), at(5)),
    undefined,
  );
});

test('a controller that gets time to move a VM is looked at again when that is over; nobody else is', () => {
  const external = makeVmi('a', { ...marked, strategy: 'External', askedAt: at(0) });
  const requeueAt = (vmi: Vmi, seconds: number, migrations: readonly VmMigration[] = []) =>
    looksDifferentAt(vmPodOf(vmi, migrations), at(seconds))?.epochMilliseconds;
  assert.deepEqual(
    [requeueAt(external, 5), requeueAt(external, 600)],
    [at(601).epochMilliseconds, at(601).epochMilliseconds],
  );
  assert.deepEqual(
    [requeueAt(external, 601), requeueAt(without(external, 'askedAt'), 5)],
    [undefined, undefined],
  );
  assert.equal(requeueAt({ ...external, strategy: 'LiveMigrate' }, 5), undefined);
  assert.equal(requeueAt(marked, 5, [unsaidSince('Scheduling')]), at(961).epochMilliseconds);
});

test('the last migration is the youngest, and of those of one moment the last by name', () => {
  const made = (name: string, seconds: number) =>
    makeMigration(marked, 'Failed', { name, uid: name, createdAt: at(seconds) });
  const scenes: readonly (readonly [readonly VmMigration[], string])[] = [
    [[made('a', 2), made('b', 1)], 'a'],
    [[made('a', 1), made('b', 2)], 'b'],
    [[made('a', 1), made('b', 1)], 'b'],
  ];
  for (const [migrations, last] of scenes) {
    for (const order of [migrations, migrations.toReversed()])
      assert.equal(vmPodOf(marked, order).failed?.name, last);
  }
});

test('pods that have ended, of VMs that are not known or over, are pods like any other', () => {
  const vmi = makeVmi('a');
  const known = makeVms({ vmis: [vmi, makeVmi('over', { phase: 'Succeeded' })] });
  const pods = [
    launcherOf(vmi, { phase: 'Succeeded' }),
    launcherOf(makeVmi('stranger')),
    launcherOf(makeVmi('over')),
  ];
  assert.equal(vmPodsOf('n1', pods, known).size, 0);
  assert.equal(vmPodsOf('n1', [launcherOf(vmi)], undefined).size, 0);
});
