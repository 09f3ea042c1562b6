import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BudgetWaiters } from './in-flight-evictions.ts';

const ranks: Readonly<Record<string, number>> = { n1: 5, n2: 1, n3: 5, n4: 3 };
function rank(node: string): number {
  return ranks[node] ?? 0;
}

function waiting(
  budget = 'web',
  nodes: readonly string[] = ['n3', 'n1', 'n2', 'n4'],
): BudgetWaiters {
  const budgetWaiters = new BudgetWaiters();
  for (const node of nodes) budgetWaiters.set(node, [budget]);
  return budgetWaiters;
}

test('a budget is offered to as many nodes as it allows, the lowest rank first and the name where ranks are equal', () => {
  assert.deepEqual(waiting().offer('web', '1', 2, rank), ['n2', 'n4']);
  assert.deepEqual(waiting().offer('web', '1', 9, rank), ['n2', 'n4', 'n1', 'n3']);
  assert.deepEqual(waiting().offer('other', '1', 9, rank), []);
});

test('one version is offered to each node once, the next version to all again', () => {
  const budgetWaiters = waiting();
  assert.deepEqual(budgetWaiters.offer('web', '1', 1, rank), ['n2']);
  assert.deepEqual(
    budgetWaiters.offer('web', '1', 1, rank),
    ['n4'],
    'what the first has left goes to the second',
  );
  assert.deepEqual(budgetWaiters.offer('web', '1', 9, rank), ['n1', 'n3']);
  assert.deepEqual(budgetWaiters.offer('web', '1', 9, rank), []);
  assert.deepEqual(budgetWaiters.offer('web', '2', 1, rank), ['n2']);
});

test('a node waits for what it said last and for nothing else', () => {
  const budgetWaiters = new BudgetWaiters();
  budgetWaiters.set('n1', ['web', 'db']);
  assert.deepEqual(budgetWaiters.budgetsOf('n1'), ['web', 'db']);
  budgetWaiters.set('n1', ['db', 'cache']);
  assert.deepEqual(
    [budgetWaiters.nodesOf('web'), budgetWaiters.nodesOf('db'), budgetWaiters.nodesOf('cache')],
    [[], ['n1'], ['n1']],
  );
  budgetWaiters.set('n1', []);
  assert.deepEqual(
    [budgetWaiters.budgetsOf('n1'), budgetWaiters.nodesOf('db'), budgetWaiters.nodesOf('cache')],
    [[], [], []],
  );
});

test('one that leaves does not take the others with it, nor what they have been offered', () => {
  const budgetWaiters = waiting();
  budgetWaiters.offer('web', '1', 1, rank);
  budgetWaiters.set('n4', []);
  assert.deepEqual(budgetWaiters.offer('web', '1', 9, rank), ['n1', 'n3']);
});

test('when the last one has left, the next one that comes is offered the same version', () => {
  const budgetWaiters = waiting('web', ['n1']);
  assert.deepEqual(budgetWaiters.offer('web', '1', 1, rank), ['n1']);
  budgetWaiters.set('n1', []);
  budgetWaiters.set('n1', ['web']);
  assert.deepEqual(budgetWaiters.offer('web', '1', 1, rank), ['n1']);
});
