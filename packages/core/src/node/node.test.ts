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
  assert.deepEqual(
    readNode({ metadata, spec: { providerID: '' }, status: { nodeInfo: { bootID: '' } } }),
    plain,
  );
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
  assert.deepEqual(conditionOf(node, 'Other'), {
    type: 'Other',
    status: 'False',
    reason: 'r',
    message: 'm',
  });
  assert.equal(transitionTimeOf(conditionOf(node, 'Ready')!)?.toString(), at(0).toString());
  assert.equal(transitionTimeOf(conditionOf(node, 'Other')!), undefined);
  assert.equal(conditionOf(node, 'Missing'), undefined);
});

test('who else wrote to the spec last is known of a node with a record, by managedFields, and by nothing else', () => {
  const entry = (manager: string, time: string, over: object = {}) => ({
    manager,
    time,
    fieldsV1: { 'f:spec': { 'f:taints': {} } },
    ...over,
  });
  const early = '2026-11-21T08:00:00Z';
  const late = '2026-11-21T08:00:05Z';
  const writer = (
    managedFields: readonly object[],
    record: object = { [beforeAnnotation]: '{}' },
  ) => readNode({ metadata: { ...metadata, annotations: record, managedFields } }).specWriter;
  assert.deepEqual(writer([entry('autoscaler', late), entry('kubectl', early)]), {
    name: 'autoscaler',
    at: at(5),
  });
  assert.deepEqual(writer([entry('autoscaler', early), entry('kubectl', late)]), {
    name: 'kubectl',
    at: at(5),
  });
  assert.equal(writer([entry('drydock', late)]), undefined, 'ourselves');
  assert.equal(
    writer([entry('kubectl', early), entry('kube-controller-manager', late)])?.name,
    'kubectl',
    'it mends taints of cordons',
  );
  assert.equal(writer([entry('kubelet', late, { subresource: 'status' })]), undefined);
  assert.equal(writer([entry('kubelet', late, { fieldsV1: { 'f:metadata': {} } })]), undefined);
  assert.equal(writer([entry('kubectl', 'yesterday')]), undefined);
  assert.equal(writer([entry('kubectl', late)], {}), undefined, 'nobody asks while it is not held');
  assert.equal(writer([entry('\u001b[31mx', late)])?.name.includes('\u001b'), false);
});
