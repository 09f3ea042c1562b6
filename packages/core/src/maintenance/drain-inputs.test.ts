import assert from 'node:assert/strict';
import { test } from 'node:test';
import { at, makePod, makeRequest } from '../testing/make.ts';
import { type DrainInputs, decideDrainOnly, snapshotOf } from './decide.ts';

const nothing: DrainInputs = { pods: [], budgets: [], daemonSets: new Set() };
function states(drainInputs: DrainInputs) {
  return decideDrainOnly(snapshotOf(makeRequest('one'), drainInputs), at(0)).reports.map(
    ({ state }) => state,
  );
}

test('what is seen at one moment counts as it is: a node without pods is empty, there is nothing to be confirmed', () => {
  assert.deepEqual(states(nothing), ['Drained']);
  assert.deepEqual(states({ ...nothing, pods: [makePod('a')] }), ['Draining']);
});
