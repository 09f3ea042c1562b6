import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readNode } from '@drydock/core/node';
import { readPod } from '@drydock/core/pod';
import { ObjectIndex, PodWatch } from './collections.ts';

const now = Temporal.Instant.from('2026-01-01T00:00:00Z');

/** A pod of the Deployment that its name begins with. */
function pod(name: string, { ready = true, leaving = false, node = 'n1' } = {}) {
  const [app = ''] = name.split('-');
  return readPod({
    metadata: {
      name,
      namespace: 'shop',
      uid: `uid-${name}`,
      resourceVersion: '1',
      labels: { 'pod-template-hash': 'abc' },
      ownerReferences: [
        {
          kind: 'ReplicaSet',
          name: `${app}-abc`,
          uid: 'u',
          apiVersion: 'apps/v1',
          controller: true,
        },
      ],
      ...(leaving && { deletionTimestamp: '2026-01-01T00:00:00Z' }),
    },
    spec: { nodeName: node },
    status: { phase: 'Running', conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }] },
  });
}

function watching() {
  const index = new ObjectIndex();
  const watch = new PodWatch(index);
  const node = (name: string, type: 'added' | 'removed' = 'added'): void => {
    index.nodes.apply({
      type,
      object: readNode({ metadata: { name, uid: name, resourceVersion: '1' } }),
    });
  };
  const put = (...given: Parameters<typeof pod>): void => {
    watch.onChange({ type: 'added', object: pod(...given) });
  };
  const drop = (name: string): void => {
    watch.onChange({ type: 'removed', object: pod(name) });
  };
  const lows = (): readonly string[] => {
    watch.settle(now);
    return watch.lows
      .values()
      .map(
        ({ key, ready, replicas, lowest }) =>
          `${key} ${ready}/${replicas} lowest ${lowest.ready}/${lowest.replicas}`,
      )
      .toSorted();
  };
  return { watch, node, put, drop, lows };
}

test('pods are told one by one up to 150 nodes, counted beyond, and told again well below', () => {
  const { watch, node, put } = watching();
  for (let index = 1; index <= 150; index += 1) node(`n${index}`);
  put('web-1');
  put('web-2', { ready: false });
  assert.deepEqual([watch.settle(now), watch.pods.size, watch.counts.size], [false, 2, 0]);
  node('n151');
  assert.equal(watch.settle(now), true);
  assert.deepEqual(
    [watch.pods.size, watch.counts.values()],
    [0, [{ key: 'n1', running: 1, starting: 1 }]],
  );
  put('web-2');
  assert.equal(watch.settle(now), false);
  assert.deepEqual(watch.counts.values(), [{ key: 'n1', running: 2 }]);
  for (let index = 121; index <= 151; index += 1) {
    assert.equal(watch.settle(now), false, `${index}`);
    node(`n${index}`, 'removed');
  }
  assert.equal(watch.settle(now), true);
  assert.deepEqual([watch.pods.size, watch.counts.size], [2, 0]);
});

test('a workload is remembered at its lowest, once it was whole, from then on', () => {
  const { put, drop, lows } = watching();
  for (const name of ['web-1', 'web-2', 'web-3', 'web-4', 'pay-1', 'pay-2']) put(name);
  put('new-1', { ready: false });
  assert.deepEqual(lows(), [], 'one that has only begun is not low');
  put('web-1', { leaving: true });
  assert.deepEqual(lows(), ['shop/web 3/3 lowest 3/4'], 'its successor is not made yet');
  put('web-5', { ready: false });
  put('pay-1', { ready: false });
  assert.deepEqual(lows(), ['shop/pay 1/2 lowest 1/2', 'shop/web 3/4 lowest 3/4']);
  drop('web-1');
  put('web-5');
  put('pay-1');
  assert.deepEqual(lows(), ['shop/pay 2/2 lowest 1/2', 'shop/web 4/4 lowest 3/4']);
});

test('a workload that was made smaller, or is no more, has no low', () => {
  const { put, drop, lows } = watching();
  for (const name of ['web-1', 'web-2', 'pay-1', 'pay-2']) put(name);
  lows();
  put('web-1', { leaving: true });
  put('pay-1', { leaving: true });
  assert.equal(lows().length, 2);
  drop('web-1');
  assert.deepEqual(lows(), ['shop/pay 1/1 lowest 1/2']);
  drop('pay-1');
  drop('pay-2');
  assert.deepEqual(lows(), []);
});
