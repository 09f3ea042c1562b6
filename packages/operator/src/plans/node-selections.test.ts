import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeNode, makePlan } from '@drydock/core/testing';
import { NodeCache } from '../cache/node-cache.ts';
import { NodeSelections } from './gate-objects.ts';

function worker(name: string, pool: string, more: Readonly<Record<string, string>> = {}) {
  return makeNode({ name, key: name, uid: `uid-${name}`, labels: { pool, ...more } });
}
const blue = { nodeSelector: { matchLabels: { pool: 'blue' } } };

function bench() {
  const nodes = new NodeCache();
  for (const object of [
    worker('n1', 'blue'),
    worker('n2', 'green'),
    worker('cp', 'blue', { 'node-role.kubernetes.io/control-plane': '' }),
  ])
    nodes.apply({ type: 'added', object });
  const selections = new NodeSelections(nodes);
  const names = (...plan: Parameters<typeof makePlan>) => {
    const { matching, selected } = selections.of(makePlan(...plan));
    return [[...matching].sort(), [...selected].sort()];
  };
  return { nodes, selections, names };
}

test('a plan selects by its selector, and takes nodes of the control plane only where it says so', () => {
  const { names } = bench();
  assert.deepEqual(names({ ...blue, controlPlane: 'Never' }), [['cp', 'n1'], ['n1']]);
  assert.deepEqual(names({ ...blue, uid: 'other', controlPlane: 'Last' }), [
    ['cp', 'n1'],
    ['cp', 'n1'],
  ]);
});

test('what has been found is kept until labels change, nodes come or go, or the plan is edited', () => {
  const { nodes, selections, names } = bench();
  const plan = makePlan({ ...blue, controlPlane: 'Never' });
  const first = selections.of(plan);
  assert.equal(selections.of({ ...plan, status: { phase: 'Running' } }), first);
  nodes.apply({
    type: 'changed',
    object: { ...worker('n1', 'blue'), resourceVersion: '99' },
    before: worker('n1', 'blue'),
  });
  assert.equal(selections.of(plan), first, 'a heartbeat');
  nodes.observe({ ...worker('n2', 'blue'), resourceVersion: '100' });
  assert.deepEqual([...selections.of(plan).selected].sort(), ['n1', 'n2']);
  nodes.forget('n1');
  assert.deepEqual([...selections.of(plan).selected], ['n2']);
  assert.deepEqual(
    names({ nodeSelector: {}, controlPlane: 'Never', generation: plan.generation + 1 })[1],
    ['n2'],
  );
  assert.deepEqual(
    names({ nodeSelector: { matchLabels: { pool: 'none' } }, generation: plan.generation + 2 }),
    [[], []],
  );
  const last = selections.of(plan);
  selections.forget(plan.uid);
  assert.notEqual(selections.of(plan), last);
});
