import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Flight } from '../drain/in-flight-eviction.ts';
import type { Attempt } from '../drain/retry.ts';
import { at } from '../testing/make.ts';
import { launcherOf, makeSettings, makeVmi, makeVms } from '../testing/make-vms.ts';
import { roomFor } from './room.ts';
import { guestsOf } from './vm-pod.ts';

const vmi = makeVmi('a');
const pod = launcherOf(vmi);
const asked: Attempt = { method: 'evict', outcome: { kind: 'evacuating', message: 'triggered' }, at: at(0), tries: 1 };
const refused: Attempt = { ...asked, outcome: { kind: 'throttled', message: 'later' } };
const flightOf = (over: Partial<Flight>): Flight => ({
  uid: pod.uid,
  podKey: pod.key,
  podName: pod.name,
  nodeName: 'n1',
  state: 'sent',
  at: at(0),
  ...over,
});

/** Room on a node for three at most, in the cluster for `inCluster`. */
const room = (inCluster: number, flights: readonly Flight[], attempts: readonly Attempt[] = []): number => {
  const known = makeVms({ settings: makeSettings({ parallelPerNode: 2, parallelPerCluster: inCluster - 1 }), vmis: [vmi] });
  const surroundings = { flights, attempts: new Map(attempts.map(attempt => [pod.uid, attempt] as const)) };
  return roomFor('n1', known, guestsOf('n1', [pod], known), surroundings);
};

test('one that has been asked for takes room, whether the answer or only the question is known', () => {
  assert.deepEqual([room(9, []), room(9, [], [asked]), room(9, [flightOf({})]), room(9, [flightOf({})], [asked])], [3, 2, 2, 2]);
  assert.deepEqual([room(9, [], [refused]), room(9, [flightOf({ uid: 'another' })])], [3, 3]);
});

test('of what is asked for on other nodes, only VMs take room in the cluster', () => {
  const elsewhere = flightOf({ uid: 'b', podName: 'virt-launcher-b-x', nodeName: 'n2' });
  assert.deepEqual([room(3, []), room(3, [elsewhere]), room(3, [elsewhere, elsewhere, elsewhere, elsewhere])], [3, 2, 0]);
  assert.equal(room(3, [flightOf({ uid: 'c', podName: 'web', nodeName: 'n2' })]), 3);
  assert.equal(room(3, [flightOf({ uid: 'd', podName: 'virt-launcher-d-x', nodeName: 'n1' })]), 3);
});
