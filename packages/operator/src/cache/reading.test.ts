import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { isControlPlane } from '@drydock/core/quorum';
import { noHistory } from '@drydock/core/request';
import { at, heldNode, makeNode, makeRequest } from '@drydock/core/testing';
import type { ApiCall, ApiResponse } from '@drydock/kube-client';
import { listAll } from '@drydock/kube-client';
import { maxDrain } from '../node/node-states.ts';
import { failure, response, ScriptedApi } from '../testing/fakes.ts';
import { fingerprint, isOwnedNode, quorumFingerprint } from './lifecycle-evictions.ts';

describe('a whole collection', () => {
  const page = (items: readonly number[], next?: string): ApiResponse =>
    response(200, { items, metadata: next === undefined ? {} : { continue: next } });
  const read = async (
    reply: (call: ApiCall) => ApiResponse,
    ...rest: readonly ['empty'] | readonly []
  ) => {
    const api = new ScriptedApi(reply);
    const items = await listAll(api, '/things', { labelSelector: 'a' }, ...rest);
    return { items, asked: api.calls.map(({ query }) => query?.['continue']) };
  };

  test('is read page by page, to the last', async () => {
    const pages: Record<string, ApiResponse> = {
      first: page([1, 2], 'second'),
      second: page([3], 'third'),
      third: page([4], ''),
    };
    const { items, asked } = await read(
      ({ query }) => pages[String(query?.['continue'] ?? 'first')] ?? failure(400, 'no such page'),
    );
    assert.deepEqual(
      [items, asked],
      [
        [1, 2, 3, 4],
        [undefined, 'second', 'third'],
      ],
    );
    assert.deepEqual((await read(() => response(200, {}))).items, []);
  });

  test('that is not served is empty only where that is said to be right; everything else is an error', async () => {
    assert.deepEqual((await read(() => failure(404, 'not found'), 'empty')).items, []);
    await assert.rejects(
      read(() => failure(404, 'not found')),
      /cannot read \/things: .*not found/,
    );
    await assert.rejects(
      read(() => failure(403, 'forbidden'), 'empty'),
      /forbidden/,
    );
  });
});

describe('what of a node matters', () => {
  const word = { type: 'Drained', status: 'True', reason: 'DrydockDrainCompleted', message: '' };
  test('something of ours is on it: a hold, or a word', () => {
    assert.deepEqual(
      [
        isOwnedNode(undefined),
        isOwnedNode(makeNode()),
        isOwnedNode(heldNode),
        isOwnedNode(makeNode({ conditions: [word] })),
      ],
      [false, false, true, true],
    );
    assert.equal(
      isOwnedNode(makeNode({ conditions: [{ ...word, reason: 'KubectlDrain' }] })),
      false,
    );
  });

  test('it is of the quorum by one of its labels, and what it stands for changes with Ready and the hold', () => {
    const member = { labels: { 'node-role.kubernetes.io/control-plane': '' } };
    const ready = (status: string) => ({
      ...member,
      conditions: [{ ...word, type: 'Ready', status }],
    });
    assert.deepEqual(
      [
        isControlPlane(makeNode(member)),
        isControlPlane(makeNode({ labels: { 'node-role.kubernetes.io/worker': '' } })),
      ],
      [true, false],
    );
    assert.deepEqual([quorumFingerprint(undefined), quorumFingerprint(makeNode())], ['', '']);
    const said = [
      quorumFingerprint(makeNode(ready('True'))),
      quorumFingerprint(makeNode(ready('False'))),
      quorumFingerprint({ ...heldNode, ...ready('True') }),
      quorumFingerprint(makeNode(member)),
    ];
    assert.equal(new Set(said).size, 4);
    assert.ok(!said.includes(''));
  });

  test('heartbeats and versions do not matter, what is decided by does', () => {
    const node = makeNode({
      conditions: [{ ...word, lastTransitionTime: '2026-11-21T08:00:00Z' }],
    });
    assert.equal(
      fingerprint(node),
      fingerprint({
        ...node,
        resourceVersion: '6',
        conditions: [{ ...word, message: 'seen', lastTransitionTime: '2026-11-21T08:00:09Z' }],
      }),
    );
    const changes = [
      { unschedulable: true },
      { uid: 'other' },
      { bootId: 'b' },
      { deleting: true },
      { holdRecord: 'x' },
      { labels: { a: '' } },
      { conditions: [{ ...word, status: 'False' }] },
    ];
    for (const change of changes)
      assert.notEqual(
        fingerprint(node),
        fingerprint({ ...node, ...change }),
        JSON.stringify(change),
      );
  });
});

test('how long drains have taken is the longest of those that are complete', () => {
  const request = (name: string, history: object) =>
    makeRequest(name, { history: { ...noHistory, ...history } });
  const [short, long, open, odd] = [
    request('a', { drainStartedAt: at(0), drainedAt: at(60) }),
    request('b', { drainStartedAt: at(0), drainedAt: at(600) }),
    request('c', { drainStartedAt: at(0) }),
    request('d', { drainedAt: at(9000) }),
  ];
  assert.deepEqual(maxDrain([short, long, open, odd]), { drainSeconds: 600 });
  assert.deepEqual(maxDrain([long, short]), { drainSeconds: 600 });
  assert.deepEqual(maxDrain([open, odd]), {});
});
