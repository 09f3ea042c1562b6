import assert from 'node:assert/strict';
import { test } from 'node:test';
import { at } from '../testing/make.ts';
import { beforeAnnotation, conditionOf, readNode, transitionTimeOf } from './node.ts';

const metadata = { name: 'n1', uid: 'u', resourceVersion: '7' };

test('a node that says nothing is schedulable, and has nothing on it', () => {
  const plain = {
    key: 'n1',
    name: 'n1',
    uid: 'u',
    resourceVersion: '7',
    deleting: false,
    labels: {},
    annotations: {},
    unschedulable: false,
    taints: [],
    conditions: [],
  };
  assert.deepEqual(readNode({ metadata }), plain);
  assert.deepEqual(readNode({ metadata, spec: { providerID: '' }, status: { nodeInfo: { bootID: '' } } }), plain);
});

test('what it says is kept; of its annotations those that are short, and the record of the hold however long it is', () => {
  const long = 'x'.repeat(300);
  const taints = [{ key: 'a', effect: 'NoSchedule' }];
  const node = readNode({
    metadata: {
      ...metadata,
      deletionTimestamp: '2026-11-21T08:00:00Z',
      labels: { pool: 'blue' },
      annotations: { short: 'y'.repeat(256), long, [beforeAnnotation]: long },
    },
    spec: { unschedulable: true, taints, providerID: 'aws:///i-1' },
    status: {
      nodeInfo: { bootID: 'b' },
      conditions: [
        { type: 'Ready', status: 'True', lastTransitionTime: '2026-11-21T08:00:00Z' },
        { type: 'Other', status: 'False', reason: 'r', message: 'm' },
      ],
    },
  });
  assert.partialDeepStrictEqual(node, {
    deleting: true,
    labels: { pool: 'blue' },
    unschedulable: true,
    taints,
    providerId: 'aws:///i-1',
    bootId: 'b',
    holdRecord: long,
  });
  assert.deepEqual(Object.keys(node.annotations), ['short']);
  assert.deepEqual(conditionOf(node, 'Other'), { type: 'Other', status: 'False', reason: 'r', message: 'm' });
  assert.equal(transitionTimeOf(conditionOf(node, 'Ready')!)?.toString(), at(0).toString());
  assert.equal(transitionTimeOf(conditionOf(node, 'Other')!), undefined);
  assert.equal(conditionOf(node, 'Missing'), undefined);
});
