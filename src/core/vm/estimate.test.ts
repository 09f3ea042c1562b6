import assert from 'node:assert/strict';
import { test } from 'node:test';
import { at } from '../testing/make.ts';
import { launcherOf, makeMigration, makeSettings, makeVmi, makeVms } from '../testing/make-vms.ts';
import { lastMoveAt } from './estimate.ts';
import { guestsOf } from './guest.ts';
import { knownFor, trafficOf } from './known.ts';

const GiB = 2 ** 30;
const small = makeVmi('small', { memory: 2 * GiB });
const big = makeVmi('big', { memory: 8 * GiB });
const samples = [{ bytes: 2 * GiB, waitedSeconds: 2, copiedSeconds: 4 }];

const endOf = (parallelPerNode: number, seconds = 0, migrations = [] as ReturnType<typeof makeMigration>[]): number | undefined => {
  const known = makeVms({ vmis: [small, big], samples, migrations, settings: makeSettings({ parallelPerNode }) });
  const guests = guestsOf('n1', [launcherOf(small), launcherOf(big)], known);
  const end = lastMoveAt(guests.values(), known, at(seconds));
  return end && (end.epochMilliseconds - at(0).epochMilliseconds) / 1000;
};

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
  assert.equal(lastMoveAt(guestsOf('n1', [launcherOf(small)], known).values(), known, at(0)), undefined);
});

test('of a cluster, what is under way elsewhere; samples are good migrations whose VM is known', () => {
  const done = makeMigration(small, 'Succeeded', { createdAt: at(0), runningAt: at(2), endedAt: at(6) });
  const [gone, elsewhere] = [makeVmi('gone', { nodeName: 'n3' }), makeVmi('else', { nodeName: 'n2', evacuatedFrom: 'n2' })];
  const external = makeVmi('ext', { nodeName: 'n2', evacuatedFrom: 'n2', strategy: 'External' });
  const users = makeVmi('users', { nodeName: 'n2' });
  const { evacuates: _none, ...byHand } = makeMigration(users, 'Running');
  const vms = { settings: makeSettings(), vmis: [small, gone, elsewhere, external, users], migrations: [done, byHand] };
  const known = knownFor({ ...vms, vmis: [small, gone], migrations: [done] }, trafficOf(vms));
  assert.deepEqual([known.askedElsewhere, known.othersUnderWay, known.samples], [1, 1, samples]);
});
