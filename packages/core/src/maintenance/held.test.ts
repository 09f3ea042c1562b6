import assert from 'node:assert/strict';
import { test } from 'node:test';
import { heldNode, makeNode, makeRequest } from '../testing/make.ts';
import { isHeldAlready, markedByPredecessor } from './decision.ts';

/**
 * Whether a node is held when nothing of ours says so: all taints of the kind, and no claim of
 * ours.
 */

const { taints } = heldNode;
const foreign = makeRequest('one', { claim: 'none' });
const unmarked = {
  ...foreign,
  adapter: { ...foreign.adapter, marks: () => ({ unschedulable: true, taints: [], labels: {} }) },
};

const cases: readonly (readonly [string, boolean, Parameters<typeof markedByPredecessor>])[] = [
  ['all taints of the kind', true, [makeNode({ taints }), foreign]],
  [
    'among others',
    true,
    [makeNode({ taints: [{ key: 'gpu', effect: 'NoSchedule' }, ...taints] }), foreign],
  ],
  ['some of them', false, [makeNode({ taints: taints.slice(0, 1) }), foreign]],
  ['others', false, [makeNode({ taints: [{ key: 'gpu', effect: 'NoSchedule' }] }), foreign]],
  ['none', false, [makeNode(), foreign]],
  ['a kind that sets none', false, [makeNode({ taints }), unmarked]],
  ['our own claim: the record would say so', false, [makeNode({ taints }), makeRequest('one')]],
];

for (const [what, marked, [node, request]] of cases)
  test(`${what}: ${marked ? 'marked by the operator before' : 'not marked'}`, () => {
    assert.equal(markedByPredecessor(node, request), marked);
    assert.equal(isHeldAlready(node, request), marked);
  });

test('with a record it is held, whatever its taints', () => {
  assert.equal(isHeldAlready(makeNode({ holdRecord: '{}' }), makeRequest('one')), true);
});
