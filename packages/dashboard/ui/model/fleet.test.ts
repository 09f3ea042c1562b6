import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BlockerView, HoldView, NodeSummary } from '../../src/scene.ts';
import { makeHold, makeNode } from '../testing/make-node.ts';
import {
  countsOf,
  fleetStateOf,
  type Grouping,
  groupsOf,
  isView,
  readView,
  stepOf,
  viewText,
} from './fleet.ts';

const stuck: BlockerView = {
  reason: 'BudgetNeverAllows',
  what: 'shop/pay-1',
  message: 'the budget allows none',
  stuck: true,
};

function held(key: string, over: Partial<HoldView>, node: Partial<NodeSummary> = {}): NodeSummary {
  return makeNode(key, { cordoned: true, holds: [makeHold(over)], ...node });
}

function asked(grouping: Grouping, search = '') {
  return { grouping, search, awaited: new Set<string>() };
}

/** Groups in words: `north: w1 blocked, w2 service`. */
function told(nodes: readonly NodeSummary[], grouping: Grouping, search = ''): readonly string[] {
  return groupsOf(nodes, asked(grouping, search), []).map(
    ({ name, cells }) => `${name}: ${cells.map(({ key, state }) => `${key} ${state}`).join(', ')}`,
  );
}

const states: readonly (readonly [node: NodeSummary, state: string])[] = [
  [makeNode('w1'), 'service'],
  [makeNode('w1', { cordoned: true }), 'cordoned'],
  [makeNode('w1', { ready: 'unknown' }), 'unready'],
  [held('w1', {}), 'draining'],
  [held('w1', { blockers: [stuck] }), 'blocked'],
  [held('w1', { blockers: [{ ...stuck, stuck: false }] }), 'draining'],
  [held('w1', { draining: false, failed: true }), 'failed'],
  [held('w1', { draining: false, drained: true }), 'held'],
  [held('w1', { draining: false, phase: 'Pending' }), 'waiting'],
  [held('w1', { draining: false, deleting: true }), 'returning'],
  [makeNode('w1', { missing: true }), 'failed'],
  [makeNode('w1', { missing: true, replaced: true }), 'returning'],
];

for (const [node, state] of states) {
  const holds = node.holds
    .map(({ phase, deleting }) => `${phase}${deleting ? ', deleting' : ''}`)
    .join();
  test(`a node that is ${node.ready}, ${node.cordoned}, ${node.missing}, "${holds}": ${state}`, () => {
    assert.equal(fleetStateOf(node, false), state);
  });
}

test('something announced that waits for somebody makes a node wait, unless it is in flight already', () => {
  assert.deepEqual(
    [fleetStateOf(makeNode('w1'), true), fleetStateOf(held('w1', {}), true)],
    ['waiting', 'draining'],
  );
});

test('within a group those come first that need somebody, and among groups too', () => {
  const nodes = [
    makeNode('w1'),
    held('w2', { draining: false, drained: true }),
    held('w3', { draining: false, phase: 'Pending' }),
    held('w4', { draining: false, failed: true }),
    makeNode('w5', { zone: 'east', ready: 'no' }),
    makeNode('w6', { zone: '' }),
    held('w7', { blockers: [stuck] }, { zone: 'south' }),
  ];
  assert.deepEqual(told(nodes, 'zone'), [
    'south: w7 blocked',
    'north: w4 failed, w3 waiting, w2 held, w1 service',
    'east: w5 unready',
    ': w6 service',
  ]);
});

test('groups are zones, pools, or plans: the one that holds a node, else the one that selects it', () => {
  const nodes = [
    makeNode('w1', { pool: 'green', plan: 'kernel' }),
    held('w2', { plan: 'firmware' }, { plan: 'kernel' }),
    makeNode('w10'),
    makeNode('w9', { pool: 'blue' }),
  ];
  assert.deepEqual(told(nodes, 'plan'), [
    'firmware: w2 draining',
    'kernel: w1 service',
    ': w10 service, w9 service',
  ]);
  assert.deepEqual(told(nodes, 'pool'), [
    'blue: w2 draining, w10 service, w9 service',
    'green: w1 service',
  ]);
});

test('a search finds names, places and states', () => {
  const nodes = [
    makeNode('w1'),
    makeNode('w2', { zone: 'south' }),
    held('w3', { blockers: [stuck] }),
  ];
  const found = (search: string): readonly string[] => told(nodes, 'pool', search);
  assert.deepEqual(
    [found(' W1 '), found('south'), found('blocked')],
    [['blue: w1 service'], ['blue: w2 service'], ['blue: w3 blocked']],
  );
  assert.deepEqual(found('nowhere'), []);
});

test('only groups that have changed are other objects than before', () => {
  const nodes = [makeNode('w1'), makeNode('w2', { zone: 'south' })];
  const before = groupsOf(nodes, asked('zone'), []);
  const [north, south] = groupsOf(
    [makeNode('w1', { taints: ['a:NoSchedule'] }), ...nodes.slice(1)],
    asked('zone'),
    before,
  );
  assert.deepEqual(
    [north === before[0], south === before[1]],
    [true, true],
    'nothing that is drawn has changed',
  );
  const after = groupsOf(
    [makeNode('w1', { cordoned: true }), ...nodes.slice(1)],
    asked('zone'),
    before,
  );
  assert.deepEqual([after[0] === before[0], after[1] === before[1]], [false, true]);
  assert.deepEqual(countsOf(after.flatMap(({ cells }) => cells)), [
    ['cordoned', 1],
    ['service', 1],
  ]);
});

test('arrow keys lead to the cells around, and not out of them', () => {
  const steps = (index: number): readonly (number | undefined)[] =>
    ['ArrowLeft', 'ArrowRight', 'ArrowUp', 'ArrowDown', 'Home', 'End', 'Enter'].map(key =>
      stepOf(key, index, 10, 4),
    );
  assert.deepEqual(steps(0), [undefined, 1, undefined, 4, 0, 9, undefined]);
  assert.deepEqual(steps(9), [8, undefined, 5, undefined, 0, 9, undefined]);
});

test('the address says what is looked at, and is no token', () => {
  const views = [
    { asCells: false, grouping: 'zone' },
    { asCells: true, grouping: 'pool', zoom: 'a&b=c' },
    { asCells: false, grouping: 'plan', zoom: '' },
  ] as const;
  for (const view of views) assert.deepEqual(readView(viewText(view)), view);
  assert.equal(viewText(views[0]), '');
  assert.deepEqual(
    [isView(viewText(views[1])), isView('c2VjcmV0_-'), readView('by=colour')],
    [true, false, views[0]],
  );
});
