import assert from 'node:assert/strict';
import { test } from 'node:test';
import { at } from '../testing/make.ts';
import { launcherOf, makeMigration, makeSettings, makeVmi, makeVms } from '../testing/make-vms.ts';
import { migrationLoadOf, nodeVmsFor } from './kubevirt-state.ts';
import { vmPodsOf } from './vm-pod.ts';
import { lastMoveAt } from './vm-status.ts';

const GiB = 2 ** 30;
const small = makeVmi('small', { memory: 2 * GiB });
const big = makeVmi('big', { memory: 8 * GiB });
const samples = [{ bytes: 2 * GiB, waitedSeconds: 2, copiedSeconds: 4 }];

function endOf(
  parallelPerNode: number,
  seconds = 0,
  migrations = [] as ReturnType<typeof makeMigration>[],
): number | undefined {
  const known = makeVms({
    vmis: [small, big],
    samples,
    migrations,
    settings: makeSettings({ parallelPerNode }),
  });
  const vmPods = vmPodsOf('n1', [launcherOf(small), launcherOf(big)], known);
  const end = lastMoveAt(vmPods.values(), known, at(seconds));
  return end && (end.epochMilliseconds - at(0).epochMilliseconds) / 1000;
}

test('the end follows from the sizes, from what migrations took, and from how many go at a time', () => {
  assert.equal(endOf(1), 2 + 4 + 2 + 16);
  // Two at a time: the big one alone takes longer than half of all.
  assert.equal(endOf(2), 2 + 16);
});

test('what is on its way has less before it', () => {
  assert.equal(endOf(2, 10, [makeMigration(big, 'Running', { createdAt: at(0) })]), 18);
});

test('nothing is told before a migration has been seen', () => {
  const known = makeVms({ vmis: [small] });
  assert.equal(
    lastMoveAt(vmPodsOf('n1', [launcherOf(small)], known).values(), known, at(0)),
    undefined,
  );
});

test('only VMs that run here and migrate are waited for', () => {
  const [comes, stops] = [
    makeVmi('comes', { nodeName: 'n2', memory: 99 * GiB }),
    makeVmi('stops', { strategy: 'None', memory: 99 * GiB }),
  ];
  const { memory: _unknown, ...bare } = makeVmi('bare');
  const last = (...vmis: ReturnType<typeof makeVmi>[]): number | undefined => {
    const known = makeVms({ vmis, samples, migrations: [makeMigration(comes, 'Running')] });
    const pods = vmis.map(vmi => launcherOf(vmi));
    const end = lastMoveAt(vmPodsOf('n1', pods, known).values(), known, at(0));
    return end && (end.epochMilliseconds - at(0).epochMilliseconds) / 1000;
  };
  assert.deepEqual([last(comes, stops), last(small, comes, stops), last(bare)], [undefined, 6, 2]);
});

test('of what migrations waited the one in the middle counts, and samples without bytes tell nothing', () => {
  const known = makeVms({
    vmis: [small],
    samples: [30, 2, 4].map(waitedSeconds => ({ bytes: 2 * GiB, waitedSeconds, copiedSeconds: 4 })),
  });
  const vmPods = vmPodsOf('n1', [launcherOf(small)], known);
  assert.equal(
    lastMoveAt(vmPods.values(), known, at(0))?.epochMilliseconds,
    at(4 + 4).epochMilliseconds,
  );
  assert.equal(
    lastMoveAt(
      vmPods.values(),
      { ...known, samples: [{ bytes: 0, waitedSeconds: 1, copiedSeconds: 4 }] },
      at(0),
    ),
    undefined,
  );
});

test('a migration is a sample only when it has succeeded, when both its times and the memory of its VM are known', () => {
  const { memory: _unknown, ...bare } = small;
  const whole = makeMigration(small, 'Succeeded', {
    createdAt: at(0),
    runningAt: at(2),
    endedAt: at(6),
  });
  const { runningAt: _running, ...unbegun } = whole;
  const { endedAt: _ended, ...unended } = whole;
  const seen = (vmi: typeof small, migration: typeof whole) =>
    migrationLoadOf({ settings: makeSettings(), vmis: [vmi], migrations: [migration] }).samples
      .length;
  assert.deepEqual(
    [
      seen(small, whole),
      seen(bare, whole),
      seen(small, unbegun),
      seen(small, unended),
      seen(small, { ...whole, phase: 'Failed' }),
    ],
    [1, 0, 0, 0, 0],
  );
});

test('migrations of others are those under way that no drain has asked for', () => {
  const vmi = makeVmi('a', { nodeName: 'n2' });
  const { evacuates: _none, ...byHand } = makeMigration(vmi, 'Running');
  const others = (migration: typeof byHand, over: Partial<typeof vmi> = {}) =>
    migrationLoadOf({
      settings: makeSettings(),
      vmis: [{ ...vmi, ...over }],
      migrations: [migration],
    }).others;
  assert.equal(others(byHand), 1);
  assert.equal(others({ ...byHand, phase: 'Pending' }), 0);
  assert.equal(others({ ...byHand, phase: 'Succeeded' }), 0);
  assert.equal(others(makeMigration(vmi, 'Running', { evacuates: 'n2' })), 0);
  assert.equal(others(byHand, { evacuatedFrom: 'n2' }), 0);
});

test('of a cluster, what is under way elsewhere; samples are good migrations whose VM is known', () => {
  const done = makeMigration(small, 'Succeeded', {
    createdAt: at(0),
    runningAt: at(2),
    endedAt: at(6),
  });
  const [gone, elsewhere] = [
    makeVmi('gone', { nodeName: 'n3' }),
    makeVmi('else', { nodeName: 'n2', evacuatedFrom: 'n2' }),
  ];
  const external = makeVmi('ext', { nodeName: 'n2', evacuatedFrom: 'n2', strategy: 'External' });
  const users = makeVmi('users', { nodeName: 'n2' });
  const { evacuates: _none, ...byHand } = makeMigration(users, 'Running');
  const vms = {
    settings: makeSettings(),
    vmis: [small, gone, elsewhere, external, users],
    migrations: [done, byHand],
  };
  const known = nodeVmsFor(
    { ...vms, vmis: [small, gone], migrations: [done] },
    migrationLoadOf(vms),
  );
  assert.deepEqual([known.askedElsewhere, known.othersUnderWay, known.samples], [1, 1, samples]);
});
