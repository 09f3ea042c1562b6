import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeInFlight, makePlan } from '@drydock/core/testing';
import { nodesDone, planWorkOn } from './own-writes.ts';

const failed = { verdict: 'Failed', state: 'Working', message: 'exit code 1', held: true } as const;
const kernel = makePlan({
  name: 'kernel',
  inFlight: [makeInFlight('n1', { state: 'Working' }), makeInFlight('n2', { state: 'Soaking' })],
});
const again = makePlan({ name: 'again', inFlight: [makeInFlight('n1', { state: 'Holding' })] });
const firmware = makePlan({
  name: 'firmware',
  inFlight: [makeInFlight('n1', { state: 'Working', outcome: failed })],
});

test('a node is told which plans work on it; while plans are not known, that none can be excluded', () => {
  const plans = new Map([kernel, firmware, again].map(plan => [plan.name, plan]));
  const workOn = (nodeName: string, arePlansKnown = true) =>
    planWorkOn({ plans, arePlansKnown, workNamespace: 'drydock-plans' }, nodeName);
  // What is left of an earlier attempt of a plan that only holds the node is not waited for: the
  // plan may wait for whoever drains it.
  assert.deepEqual(workOn('n1'), { namespace: 'drydock-plans', plans: new Set(['kernel']) });
  assert.deepEqual(workOn('n2').plans, new Set());
  assert.equal(workOn('n1', false).plans, undefined);
});

test('the nodes on which the work has ended are those that somebody may wait for', () => {
  const proven = { ...kernel, inFlight: [makeInFlight('n1', { state: 'Verifying' })] };
  assert.deepEqual(nodesDone({ type: 'added', object: kernel }), []);
  assert.deepEqual(nodesDone({ type: 'changed', before: kernel, object: kernel }), []);
  assert.deepEqual(nodesDone({ type: 'changed', before: kernel, object: proven }), ['n1']);
  assert.deepEqual(
    nodesDone({ type: 'changed', before: kernel, object: { ...kernel, inFlight: [] } }),
    ['n1'],
  );
  assert.deepEqual(nodesDone({ type: 'removed', object: kernel }), ['n1']);
});
