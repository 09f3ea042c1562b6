import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inPlanOrder, readSummary } from '@drydock/core/plan';
import { at, makePlan, makePlanNode, makeReadyNode } from '@drydock/core/testing';
import { readWorkPod } from '@drydock/operator/plans';

/**
 * Whoever owns the node of a rehearsal's pod forges its answer, from the pod as kubelet reports it
 * to what the plan makes of it.
 */

const answer = {
  snapshotTime: '2026-11-20T08:00:00Z',
  finishes: true,
  nodes: 2,
  windows: 1,
  podsMoved: 10,
  podsMovedAgain: 1,
  blocked: [],
  blockedNodes: 0,
  lowest: [],
  firstNodes: ['n2'],
};

function podSaying(message: unknown): unknown {
  return {
    metadata: { name: 'kernel-1', namespace: 'drydock-plans', uid: 'u', resourceVersion: '1' },
    status: {
      phase: 'Succeeded',
      containerStatuses: [{ name: 'rehearse', state: { terminated: { exitCode: 0, message } } }],
    },
  };
}

function read(message: string): ReturnType<typeof readSummary> {
  return readSummary(readWorkPod(podSaying(message)).output ?? '');
}

test('a forged answer that is too large, no JSON or of a wrong shape is none', () => {
  assert.ok(read(JSON.stringify(answer)), 'the honest one is');
  const hostile = [
    JSON.stringify({ ...answer, more: 'x'.repeat(100_000) }),
    `{"snapshotTime":"2026-11-20T08:00:00Z","finishes":true,"nodes":NaN}`,
    '['.repeat(4000),
    JSON.stringify([answer]),
    JSON.stringify({ ...answer, finishes: 1 }),
    JSON.stringify({ ...answer, snapshotTime: 1e300 }),
    '\u0000',
  ];
  assert.deepEqual(
    hostile.filter(text => read(text) !== undefined),
    [],
  );
});

test('a forged answer has numbers and lists within bounds', () => {
  const wrong = {
    nodes: -7,
    windows: 1e308,
    podsMoved: '9',
    podsMovedAgain: null,
    blockedNodes: { constructor: 1 },
  };
  const told = read(
    JSON.stringify({
      ...answer,
      ...wrong,
      blocked: { length: 1e9 },
      lowest: 'all',
      firstNodes: [1, null, ['n1']],
    }),
  );
  const { nodes, windows, podsMoved, podsMovedAgain, blockedNodes, blocked, lowest, firstNodes } =
    told ?? {};
  assert.deepEqual(
    [nodes, windows, podsMoved, podsMovedAgain, blockedNodes],
    [0, 1_000_000_000, 0, 0, 0],
  );
  assert.deepEqual([blocked, lowest, firstNodes], [[], [], []]);
});

test('a forged answer that names nodes of others changes the order among those of the plan, and nothing else', () => {
  const nodes = ['n1', 'n2', 'n3'].map(name => makePlanNode(makeReadyNode(name)));
  const told = read(
    JSON.stringify({ ...answer, firstNodes: ['control-plane-1', '__proto__', 'n3', 'n3'] }),
  );
  assert.ok(told);
  const forecast = { ...told, runId: '1', specHash: 'h1', rehearsedAt: at(0) };
  const order = inPlanOrder(nodes, makePlan({ order: ['Cost', 'Name'], forecast }));
  assert.deepEqual(
    order.map(({ node }) => node.name),
    ['n3', 'n1', 'n2'],
  );
});
