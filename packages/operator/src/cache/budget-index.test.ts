import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Budget } from '@drydock/core/drain';
import { makeBudget, makePod } from '@drydock/core/testing';
import { Cache } from './cache.ts';
import { BudgetIndex } from './node-cache.ts';

function setUp() {
  const budgets = new Cache<Budget>(({ namespace }) => namespace);
  const budgetIndex = new BudgetIndex(budgets);
  const tell = (type: 'added' | 'removed', object: Budget): void =>
    budgetIndex.changed(budgets.apply({ type, object }), object);
  return { budgetIndex, tell };
}

const web = { matchLabels: { app: 'web' } };
const pod = makePod('web-1', { labels: { app: 'web' } });
const other = makePod('db-1', { labels: { app: 'db' } });

test('the budgets of some pods are those that select one of them, each once, as they are now', () => {
  const { budgetIndex, tell } = setUp();
  tell('added', makeBudget('web', { selector: web, resourceVersion: '1', disruptionsAllowed: 1 }));
  tell('added', makeBudget('mail', { selector: { matchLabels: { app: 'mail' } } }));
  assert.deepEqual(
    budgetIndex
      .over([pod, makePod('web-2', { labels: { app: 'web' } }), other])
      .map(({ name }) => name),
    ['web'],
  );
  tell('added', makeBudget('web', { selector: web, resourceVersion: '2', disruptionsAllowed: 0 }));
  assert.deepEqual(
    budgetIndex.over([pod]).map(({ disruptionsAllowed }) => disruptionsAllowed),
    [0],
  );
});

test('a budget that comes, goes, or selects others is seen by pods that have been asked about before', () => {
  const { budgetIndex, tell } = setUp();
  assert.deepEqual(budgetIndex.over([pod]), []);
  tell('added', makeBudget('web', { selector: web, resourceVersion: '1' }));
  assert.equal(budgetIndex.over([pod]).length, 1);
  tell(
    'added',
    makeBudget('web', { selector: { matchLabels: { app: 'db' } }, resourceVersion: '2' }),
  );
  assert.deepEqual(budgetIndex.over([pod]), []);
  assert.equal(budgetIndex.over([other]).length, 1);
  tell('removed', makeBudget('web', { resourceVersion: '3' }));
  assert.deepEqual(budgetIndex.over([other]), []);
  tell('added', makeBudget('web', { selector: web, resourceVersion: '4', uid: 'another' }));
  assert.equal(budgetIndex.over([pod]).length, 1);
});
