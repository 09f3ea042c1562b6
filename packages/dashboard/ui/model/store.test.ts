import assert from 'node:assert/strict';
import { test } from 'node:test';
import { effect } from '@preact/signals';
import type { BlockerView, HoldView, MachineView, PodView, Scene } from '../../src/scene.ts';
import { makeHold, makeNode } from '../testing/make-node.ts';
import { makePlan } from '../testing/make-plan.ts';
import type { Move } from './pods.ts';
import { DashboardStore } from './store.ts';

function makePod(name: string, node: string, over: Partial<PodView> = {}): PodView {
  return {
    key: `shop/${name}`,
    uid: `uid-${name}`,
    node,
    kind: 'Deployment',
    workload: 'shop/web',
    phase: 'running',
    stays: false,
    localData: false,
    ...over,
  };
}

const stuck: BlockerView = {
  reason: 'BudgetNeverAllows',
  what: 'shop/pay-1',
  message: 'the budget allows none',
  stuck: true,
};

function makeScene(over: Partial<Scene> = {}): Scene {
  return {
    facts: { access: 'link', cluster: 'test', loading: [], unreadable: [] },
    nodes: [makeNode('w1'), makeNode('w2')],
    pods: [makePod('a', 'w1'), makePod('b', 'w2')],
    counts: [],
    lows: [],
    budgets: [],
    machines: [],
    windows: [],
    plans: [],
    moments: [],
    ...over,
  };
}

function storeOf(scene: Scene) {
  const moves: Move[] = [];
  const store = new DashboardStore(
    () => Date.parse('2026-01-01T00:10:00Z'),
    move => moves.push(move),
  );
  store.replace(scene);
  const names = (node: string): readonly string[] =>
    store.pods.on(node).value.map(({ key }) => key);
  const told = (): readonly string[] =>
    store.news.value.map(({ about, text }) => `${about} ${text}`);
  return { store, moves, names, told };
}

test('nodes are in their zones, control plane first, numbers as numbers', () => {
  const { store } = storeOf(
    makeScene({
      nodes: [
        makeNode('w10'),
        makeNode('w9'),
        makeNode('c1', { roles: ['control-plane'] }),
        makeNode('s1', { zone: 'south' }),
      ],
    }),
  );
  assert.deepEqual(store.zones.value, [
    { zone: 'north', nodes: ['c1', 'w9', 'w10'] },
    { zone: 'south', nodes: ['s1'] },
  ]);
});

test('a pod is where it was told last, and nowhere else', () => {
  const { store, names } = storeOf(makeScene());
  store.apply({ pods: [makePod('c', ''), makePod('a', 'w1', { phase: 'leaving' })] });
  assert.deepEqual([names('w1'), names('w2'), names('')], [['shop/a'], ['shop/b'], ['shop/c']]);
  store.apply({ pods: [makePod('c', 'w2')], gone: { pods: ['shop/a'] } });
  assert.deepEqual([names('w1'), names('w2'), names('')], [[], ['shop/b', 'shop/c'], []]);
  assert.equal(store.pods.count.value, 2);
});

test('applying a change twice changes nothing', () => {
  const { store, names } = storeOf(makeScene());
  const delta = {
    pods: [makePod('a', 'w1', { phase: 'leaving' as const })],
    gone: { pods: ['shop/b'], nodes: ['w2'] },
  };
  store.apply(delta);
  store.apply(delta);
  assert.deepEqual([names('w1'), names('w2'), store.nodeCount()], [['shop/a'], [], 1]);
});

test('a new scene takes the place of everything', () => {
  const { store, names } = storeOf(makeScene());
  store.replace(makeScene({ nodes: [makeNode('w3')], pods: [makePod('z', 'w3')] }));
  assert.deepEqual(
    [store.zones.value.flatMap(({ nodes }) => nodes), names('w1'), names('w3')],
    [['w3'], [], ['shop/z']],
  );
  assert.equal(store.node('w1').value, undefined);
  assert.deepEqual(store.news.value, [], 'what was there before is no news');
});

test('a pod that comes up elsewhere takes the place of one that leaves', () => {
  const { store, moves, told } = storeOf(makeScene());
  store.apply({
    pods: [makePod('a', 'w1', { phase: 'leaving' }), makePod('c', '', { phase: 'pending' })],
  });
  store.apply({ pods: [makePod('c', 'w2', { phase: 'starting' })] });
  assert.deepEqual(
    moves.map(({ fromUid, fromNode, pod }) => [fromUid, fromNode, pod.uid, pod.node]),
    [['uid-a', 'w1', 'uid-c', 'w2']],
  );
  assert.deepEqual(told(), ['w1 web moves to w2']);
  store.apply({ pods: [makePod('d', 'w2')] });
  assert.equal(moves.length, 1, 'a further pod has nobody to follow');
});

test('a pod of the same name with another uid has moved too', () => {
  const { store, moves } = storeOf(
    makeScene({ pods: [makePod('db-0', 'w1', { kind: 'StatefulSet' })] }),
  );
  store.apply({ pods: [makePod('db-0', 'w2', { kind: 'StatefulSet', uid: 'uid-next' })] });
  assert.deepEqual(
    moves.map(({ fromUid, pod }) => [fromUid, pod.uid]),
    [['uid-db-0', 'uid-next']],
  );
});

test('news: what becomes of a node, and each blocker once', () => {
  const { store, told } = storeOf(makeScene());
  const tell = (...holds: readonly HoldView[]): void =>
    store.apply({ nodes: [makeNode('w1', { holds })] });
  tell(makeHold());
  tell(makeHold({ blockers: [stuck] }));
  tell(makeHold({ blockers: [stuck, { ...stuck, what: 'shop/pay-2' }] }));
  tell(makeHold({ draining: false, drained: true }));
  tell(makeHold({ draining: false, deleting: true }));
  tell();
  assert.deepEqual(told().toReversed(), [
    'w1 is being drained',
    'w1 1 pod is blocked: the budget allows none',
    'w1 is out of service',
    'w1 is coming back',
    'w1 is back in service',
  ]);
  assert.deepEqual(store.held.value, []);
});

test('who shows one node hears nothing of the others', () => {
  const { store } = storeOf(makeScene());
  const drawn: string[] = [];
  const stop = effect(
    () =>
      void drawn.push(
        store.pods
          .on('w1')
          .value.map(({ phase }) => phase)
          .join(),
      ),
  );
  store.apply({ pods: [makePod('b', 'w2', { phase: 'leaving' })] });
  store.apply({ nodes: [makeNode('w2', { cordoned: true })] });
  store.apply({ pods: [makePod('a', 'w1', { phase: 'leaving' })] });
  stop();
  assert.deepEqual(drawn, ['running', 'leaving']);
});

function makeMachine(over: Partial<MachineView> = {}): MachineView {
  return {
    key: 'drydock-system/mm-w1',
    machine: 'w1',
    node: 'w1',
    phase: 'Draining',
    over: false,
    deleting: false,
    message: '',
    since: '2026-01-01T00:00:00Z',
    announced: [{ provider: 'aws', kind: 'retirement', state: 'Scheduled' }],
    ...over,
  };
}

test('what is announced is known with its node until it is over, and each of its steps is told once', () => {
  const { store, told } = storeOf(makeScene());
  const shown = (): readonly (readonly string[])[] =>
    [store.machines.value, store.machinesOn('w1').value, store.machinesOn('w2').value].map(all =>
      all.map(({ phase }) => phase),
    );
  store.apply({ machines: [makeMachine({ phase: 'Scheduled' })] });
  assert.deepEqual(shown(), [['Scheduled'], ['Scheduled'], []]);
  store.apply({ machines: [makeMachine()] });
  store.apply({ machines: [makeMachine({ message: 'one pod is left' })] });
  assert.deepEqual(shown(), [['Draining'], ['Draining'], []]);
  store.apply({ machines: [makeMachine({ phase: 'Succeeded', over: true })] });
  assert.deepEqual(shown(), [[], [], []]);
  assert.deepEqual(told().toReversed(), [
    'w1 announced for its machine: retirement',
    'w1 retirement: being drained',
    'w1 retirement: done',
  ]);
  store.replace(makeScene({ machines: [makeMachine()], windows: [{ key: 'nights', open: true }] }));
  assert.deepEqual([shown()[1], store.windows.value.length], [['Draining'], 1]);
  store.replace(makeScene());
  assert.deepEqual([shown()[0], store.windows.value.length, told().length], [[], 0, 3]);
});

test('plans that are over come last, and each phase is told once', () => {
  const { store, told } = storeOf(
    makeScene({
      plans: [
        makePlan({ key: 'b', phase: 'Complete' }),
        makePlan({ key: 'd' }),
        makePlan({ key: 'c' }),
      ],
    }),
  );
  const shown = (): readonly string[] => store.plans.value.map(({ key }) => key);
  assert.deepEqual(shown(), ['c', 'd', 'b']);
  store.apply({
    plans: [
      makePlan({ key: 'c', phase: 'AwaitingApproval' }),
      makePlan({ key: 'a', phase: 'Paused' }),
    ],
  });
  store.apply({ plans: [makePlan({ key: 'c', phase: 'AwaitingApproval', message: 'still' })] });
  store.apply({ plans: [makePlan({ key: 'c', phase: 'Complete' })], gone: { plans: ['d'] } });
  assert.deepEqual(shown(), ['a', 'b', 'c']);
  assert.deepEqual(told().toReversed(), ['plan c waiting for approval', 'plan c complete']);
  store.replace(makeScene());
  assert.deepEqual(shown(), []);
});

test('a node that is being replaced is not said to come back', () => {
  const { store, told } = storeOf(
    makeScene({
      nodes: [makeNode('w1', { holds: [makeHold({ drained: true, draining: false })] })],
    }),
  );
  store.apply({
    nodes: [
      makeNode('w1', { ready: 'unknown', missing: true, replaced: true, holds: [makeHold()] }),
    ],
  });
  assert.deepEqual(told(), ['w1 is gone: its machine is being replaced']);
});

test('a node that joins is news once the page has read the cluster', () => {
  const { store, told } = storeOf(
    makeScene({ facts: { access: 'link', cluster: 'test', loading: ['nodes'], unreadable: [] } }),
  );
  store.apply({ nodes: [makeNode('w3')] });
  assert.deepEqual(told(), []);
  store.apply({ facts: { access: 'link', cluster: 'test', loading: [], unreadable: [] } });
  store.apply({ nodes: [makeNode('w4'), makeNode('w9', { missing: true })] });
  assert.deepEqual(told(), ['w4 has joined the cluster']);
});
