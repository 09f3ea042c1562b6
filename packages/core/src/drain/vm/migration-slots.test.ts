import assert from 'node:assert/strict';
import { test } from 'node:test';
import { at } from '../../testing/make.ts';
import { launcherOf, makeSettings, makeVmi, makeVms } from '../../testing/make-vms.ts';
import { vmPodsOf } from '../../vm/vm-pod.ts';
import type { InFlightEviction } from '../budgets/budget.ts';
import type { Attempt } from '../outcome/eviction-outcome.ts';
import { roomFor } from './vm-pod-decision.ts';

const vmi = makeVmi('a');
const pod = launcherOf(vmi);
const asked: Attempt = {
  method: 'evict',
  outcome: { kind: 'evacuating', message: 'triggered' },
  at: at(0),
  tries: 1,
};
const refused: Attempt = { ...asked, outcome: { kind: 'throttled', message: 'later' } };
function inFlightEvictionOf(over: Partial<InFlightEviction>): InFlightEviction {
  return {
    uid: pod.uid,
    podKey: pod.key,
    podName: pod.name,
    nodeName: 'n1',
    state: 'sent',
    at: at(0),
    ...over,
  };
}

/** Room on a node for three at most, in the cluster for `inCluster`. */
function room(
  inCluster: number,
  inFlight: readonly InFlightEviction[],
  attempts: readonly Attempt[] = [],
): number {
  const known = makeVms({
    settings: makeSettings({ parallelPerNode: 2, parallelPerCluster: inCluster - 1 }),
    vmis: [vmi],
  });
  const planContext = {
    inFlight,
    attempts: new Map(attempts.map(attempt => [pod.uid, attempt] as const)),
  };
  return roomFor('n1', known, vmPodsOf('n1', [pod], known), planContext);
}

test('one that has been asked for takes room, whether the answer or only the question is known', () => {
  assert.deepEqual(
    [
      room(9, []),
      room(9, [], [asked]),
      room(9, [inFlightEvictionOf({})]),
      room(9, [inFlightEvictionOf({})], [asked]),
    ],
    [3, 2, 2, 2],
  );
  assert.deepEqual(
    [room(9, [], [refused]), room(9, [inFlightEvictionOf({ uid: 'another' })])],
    [3, 3],
  );
});

test('of what is asked for on other nodes, only VMs take room in the cluster', () => {
  const elsewhere = inFlightEvictionOf({ uid: 'b', podName: 'virt-launcher-b-x', nodeName: 'n2' });
  assert.deepEqual(
    [room(3, []), room(3, [elsewhere]), room(3, [elsewhere, elsewhere, elsewhere, elsewhere])],
    [3, 2, 0],
  );
  assert.equal(room(3, [inFlightEvictionOf({ uid: 'c', podName: 'web', nodeName: 'n2' })]), 3);
  assert.equal(
    room(3, [inFlightEvictionOf({ uid: 'd', podName: 'virt-launcher-d-x', nodeName: 'n1' })]),
    3,
  );
});
