import assert from 'node:assert/strict';
import { test } from 'node:test';
import { blockerId } from '../drain/blockers/blocker.ts';
import { seedPolicy } from '../drain/policy.ts';
import { noHistory } from '../request/request.ts';
import { at, makeBudget, makePod, makeRequest } from '../testing/make.ts';
import { blockersNow } from './blockers-now.ts';
import type { DrainInputs } from './decide.ts';

/** What `drydock status` says of the blockers of one maintenance. */

const nothing: DrainInputs = { pods: [], budgets: [], daemonSets: new Set() };
const twice: DrainInputs = {
  ...nothing,
  pods: [makePod('a')],
  budgets: [makeBudget('one'), makeBudget('two')],
};

test('what the status stores is told as it stands, by pod, server or volume', () => {
  const since = '2026-11-21T08:00:00Z';
  const blockers = [
    {
      reason: 'PodDisruptionBudget',
      pod: { namespace: 'shop', name: 'a' },
      message: 'full',
      remedy: 'wait',
      startTime: since,
    },
    { reason: 'Server', server: { name: 'vm-1' }, message: 'locked', startTime: since },
    { reason: 'VolumeAttached', volume: 'pv-1', message: 'attached', startTime: since },
    { reason: 'Other', message: 'odd', startTime: since },
  ];
  assert.deepEqual(blockersNow(makeRequest('one', { status: { blockers } }), twice, at(0)), [
    { reason: 'PodDisruptionBudget', what: 'shop/a', message: 'full', since, remedy: 'wait' },
    { reason: 'Server', what: 'vm-1', message: 'locked', since },
    { reason: 'VolumeAttached', what: 'pv-1', message: 'attached', since },
    { reason: 'Other', what: '', message: 'odd', since },
  ]);
});

test('a kind that stores none is judged by the pods and budgets that are there, and told since when where that is known', () => {
  const draining = { ...noHistory, state: 'Draining' as const, drainStartedAt: at(0) };
  const request = makeRequest('one', { history: draining, policy: seedPolicy });
  const [found, ...others] = blockersNow(request, twice, at(10));
  assert.deepEqual(others, []);
  assert.deepEqual(
    [found?.reason, found?.what, 'since' in (found ?? {})],
    ['MultipleBudgets', 'shop/a', false],
  );
  assert.notEqual(found?.remedy ?? '', '');
  const id = blockerId({ reason: 'MultipleBudgets', pod: { namespace: 'shop', name: 'a' } });
  const known = makeRequest('one', {
    history: { ...draining, blockedSince: new Map([[id, at(3.5)]]) },
    policy: seedPolicy,
  });
  assert.equal(blockersNow(known, twice, at(10))[0]?.since, '2026-11-21T08:00:03Z');
});

test('with nothing in the way there is none', () => {
  assert.deepEqual(blockersNow(makeRequest('one'), nothing, at(10)), []);
  assert.deepEqual(
    blockersNow(makeRequest('one', { status: { blockers: [] } }), nothing, at(10)),
    [],
  );
  assert.deepEqual(
    blockersNow(makeRequest('one', { deleting: true }), twice, at(10)),
    [],
    'nothing is drained any more',
  );
});
