import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeReadyNode } from '../testing/make-plan.ts';
import { outagesOf } from './ledger.ts';

test('a node whose machine is being deleted is out of service, by whoever rolls machines out, while it is still Ready', () => {
  const nodes = ['n1', 'n2', 'n3'].map(name => makeReadyNode(name));
  const machines = [
    { name: 'm1', nodeName: 'n1', deleting: true },
    { name: 'm2', nodeName: 'n2', deleting: false },
    { name: 'm3', deleting: true },
  ];
  assert.deepEqual(
    [...outagesOf({ nodes, requests: [], plans: [], machines })],
    [['n1', [{ cause: 'Deleting', by: 'Machine m1, which is being deleted' }]]],
  );
});
