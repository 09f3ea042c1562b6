import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { JsonObject } from '@drydock/apimachinery';
import { looksTheSame, readWholeNode } from './pod-watches.ts';

const lastTransitionTime = '2026-11-20T08:00:00Z';
const ready: JsonObject = {
  type: 'Ready',
  status: 'True',
  reason: 'KubeletReady',
  message: 'posting',
  lastTransitionTime,
};

function rawNode(metadata: JsonObject = {}, condition: JsonObject = {}): JsonObject {
  return {
    metadata: {
      name: 'n1',
      uid: 'u1',
      resourceVersion: '7',
      labels: { a: 'b' },
      managedFields: [{ huge: true }],
      ...metadata,
    },
    spec: { podCIDR: '10.0.0.0/24' },
    status: {
      images: [{ names: ['a'] }],
      volumesInUse: ['v'],
      nodeInfo: { kernelVersion: '6.1.0' },
      conditions: [{ ...ready, lastHeartbeatTime: '2026-11-21T08:00:00Z', ...condition }],
    },
  };
}

function conditionsOf({ status }: JsonObject): readonly JsonObject[] {
  return (status as { readonly conditions: readonly JsonObject[] }).conditions;
}

function partOf(raw: JsonObject, name: string): JsonObject {
  return readWholeNode(raw).object?.[name] as JsonObject;
}

describe('a node that is kept whole', () => {
  test('has what is kept of every node, and all that expressions may ask, as the API has it', () => {
    const { object, ...node } = readWholeNode(rawNode());
    assert.deepEqual([node.name, node.resourceVersion, node.labels], ['n1', '7', { a: 'b' }]);
    assert.deepEqual(object, {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: 'n1', uid: 'u1', resourceVersion: '7', labels: { a: 'b' } },
      spec: { podCIDR: '10.0.0.0/24' },
      status: { nodeInfo: { kernelVersion: '6.1.0' }, conditions: [ready] },
    });
  });

  test('may say nothing at all', () => {
    const { spec, status } =
      readWholeNode({ metadata: { name: 'n1', uid: 'u1', resourceVersion: '7' } }).object ?? {};
    assert.deepEqual([spec, status], [{}, { conditions: [] }]);
  });

  test('has each condition once, unless the API has it otherwise than it is kept', () => {
    const { conditions, object } = readWholeNode(rawNode());
    assert.equal(conditionsOf(object ?? {})[0], conditions[0]);
    const bare = { conditions: [{ type: 'Ready', status: 'True' }] };
    assert.deepEqual(
      partOf({ ...rawNode(), status: bare }, 'status'),
      bare,
      'no reason is made up for expressions',
    );
    const more = { ...ready, observedGeneration: 3 };
    assert.deepEqual(
      conditionsOf(readWholeNode(rawNode({}, { observedGeneration: 3 })).object ?? {}),
      [more],
    );
  });

  test('keeps for expressions the annotations that are too long for anything else', () => {
    const long = 'x'.repeat(1000);
    const raw = rawNode({ annotations: { long, short: 's' } });
    assert.deepEqual(
      [readWholeNode(raw).annotations, partOf(raw, 'metadata')['annotations']],
      [{ short: 's' }, { long, short: 's' }],
    );
  });

  test('looks the same as long as nothing but heartbeats comes', () => {
    const [before, later] = [
      rawNode(),
      rawNode({ resourceVersion: '8' }, { lastHeartbeatTime: '2026-11-21T08:05:00Z' }),
    ].map(readWholeNode);
    assert.ok(before !== undefined && later !== undefined);
    assert.equal(looksTheSame(before, later), true);
    assert.equal(looksTheSame(before, readWholeNode(rawNode({ labels: {} }))), false);
    assert.equal(looksTheSame(before, readWholeNode(rawNode({}, { status: 'False' }))), false);
    const { object: _object, ...bare } = before;
    assert.equal(looksTheSame(bare, later), false, 'nothing is known of it');
  });
});
