import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Write } from '@drydock/core';
import type { Plan } from '@drydock/core/plan';
import { makeInFlight, makePlan } from '@drydock/core/testing';
import type { Change } from '@drydock/kube-client';
import { Cache } from '../cache/cache.ts';
import { nodesDone, planCacheUpdater } from './own-writes.ts';

test('whoever waits for the work of a plan hears of its end from the answer to our own write: the watch tells nothing that is known', () => {
  const working = makePlan({ inFlight: [makeInFlight('n1', { state: 'Working' })] });
  const proven: Plan = {
    ...working,
    resourceVersion: `${working.resourceVersion}0`,
    inFlight: [makeInFlight('n1', { state: 'Verifying' })],
  };
  const plans = new Cache<Plan>();
  plans.observe(working);
  const changes: Change<Plan>[] = [];
  const updater = planCacheUpdater(
    { plans } as never,
    { cache: {}, adapters: [], adapter: { readPlan: () => proven }, machines: {} } as never,
    change => changes.push(change),
  );
  updater.observe({ cache: 'plans' } as Write, {});
  assert.deepEqual(changes.map(nodesDone), [['n1']]);
  assert.equal(plans.get(working.key)?.inFlight[0]?.state, 'Verifying');
});
