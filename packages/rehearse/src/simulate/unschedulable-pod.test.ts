import assert from 'node:assert/strict';
import { test } from 'node:test';
import { unschedulablePodsOf } from './unschedulable-pod.ts';

test('what the scheduler says of a pod is read into what the nodes lack, the largest group first', () => {
  const preemption =
    'no new claims to deallocate, preemption: 0/9 nodes are available: 9 Preemption is not helpful for scheduling.';
  const message = `0/9 nodes are available: 1 node(s) were unschedulable, 2 Too many pods, 3 Insufficient cpu, 3 node(s) had untolerated taint(s). ${preemption}`;
  assert.deepEqual(
    unschedulablePodsOf(message).map(({ nodes, what }) => [nodes, what.kind]),
    [
      [3, 'amount'],
      [3, 'taints'],
      [2, 'amount'],
      [1, 'cordon'],
    ],
  );
  const affinities = `0/2 nodes are available: 1 node(s) didn't match PersistentVolume's node affinity, 1 node(s) didn't match pod anti-affinity rules. ${preemption}`;
  assert.deepEqual(
    unschedulablePodsOf(affinities).map(({ what }) => what.kind),
    ['anti-affinity', 'volume'],
  );
  assert.deepEqual(unschedulablePodsOf('no nodes available to schedule pods'), []);
});
