import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeRequest } from '../testing/make.ts';
import { marksOf } from './request.ts';

test('what kinds can put on a node is all that they put there at any stage, each taint once, and that nothing is scheduled', () => {
  const { adapter } = makeRequest('one');
  const labelled = {
    ...adapter,
    marks: (stage: Parameters<typeof adapter.marks>[0]) => ({
      ...adapter.marks(stage),
      unschedulable: false,
      labels: { stage },
    }),
  };
  const { unschedulable, taints, labels } = marksOf([adapter, labelled]);
  assert.equal(unschedulable, true);
  assert.deepEqual(
    taints.map(({ key }) => key),
    ['node.kubernetes.io/unschedulable', 'test/drain'],
  );
  assert.deepEqual(labels, { stage: 'Drain' });
});
