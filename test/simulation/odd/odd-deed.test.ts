import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SimClock } from '../cluster/sim-clock.ts';
import { setUp } from '../cluster/simulated-cluster.ts';
import { generate } from '../story/generate.ts';
import { bystanders, makeOdd, removeOdd } from './odd-deed.ts';

test('the API server takes odd objects of every kind that stories have, and all of them can be taken away', () => {
  const withVms = Array.from({ length: 40 }, (_, seed) => generate(seed)).find(
    ({ vms }) => vms.length > 0,
  );
  assert.ok(withVms);
  const stage = setUp(withVms, new SimClock(), () => {});
  for (let seed = 0; seed < 150; seed += 1) makeOdd(stage, seed);
  assert.deepEqual(
    [...new Set(stage.odds.map(({ resource }) => resource))].sort(),
    [...bystanders].sort(),
  );
  removeOdd(stage);
  const { store } = stage.cluster.registry;
  const left = stage.odds.filter(({ resource, object: { metadata } }) =>
    store.get(resource, metadata.namespace ?? '', metadata.name),
  );
  assert.deepEqual(
    left.map(({ resource, object }) => `${resource} ${object.metadata.name}`),
    [],
  );
  stage.runtime.stop();
});

test('in most stories somebody makes an odd object', () => {
  const stories = Array.from({ length: 100 }, (_, seed) => generate(seed));
  assert.ok(stories.filter(({ deeds }) => deeds.some(({ kind }) => kind === 'odd')).length > 60);
});
