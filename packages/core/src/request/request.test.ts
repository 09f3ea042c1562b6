import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeRequest } from '../testing/make.ts';
import { marksOf } from './request.ts';

test('what kinds can put on a node is all that they put there at any level, each taint once, and that nothing is scheduled', () => {
  const { adapter } = makeRequest('one');
  const labelled = {
    ...adapter,
    marks: (level: Parameters<typeof adapter.marks>[0]) => ({
      ...adapter.marks(level),
      unschedulable: false,
      labels: { level },
    }),
  };
  const { unschedulable, taints, labels } = marksOf([adapter, labelled]);
  assert.equal(unschedulable, true);
  assert.deepEqual(
    taints.map(({ key }) => key),
    ['node.kubernetes.io/unschedulable', 'test/drain'],
  );
  assert.deepEqual(labels, { level: 'Drain' });
});
