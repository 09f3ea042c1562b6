import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '@drydock/apimachinery';
import { at, part, type Stored } from '../../object.ts';
import { bench, freshNode, freshPod } from '../../testing/bench.ts';
import { controllerOf, isActive, isReady } from '../controller.ts';

const labels = { app: 'web' };

const set: JsonObject = {
  apiVersion: 'apps/v1',
  kind: 'ReplicaSet',
  metadata: { name: 'web', namespace: 'shop' },
  spec: {
    replicas: 4,
    selector: { matchLabels: labels },
    template: {
      metadata: { labels },
      spec: { containers: [{ name: 'main', image: 'example.test/none:1' }] },
    },
  },
};

const budget: JsonObject = {
  apiVersion: 'policy/v1',
  kind: 'PodDisruptionBudget',
  metadata: { name: 'web', namespace: 'shop' },
  spec: { maxUnavailable: 1, selector: { matchLabels: labels } },
};

const stray = { ...freshPod('stray'), metadata: { name: 'stray', namespace: 'shop', labels } };

/**
 * What is done to the set, one after the other: what its pods and its budget are then has to be the
 * same whether its status is read or not.
 */
function steps({
  store,
  writes,
  make,
  pods,
}: ReturnType<typeof bench>): readonly (readonly [string, () => void])[] {
  const own = (): readonly Stored[] => pods().filter(pod => controllerOf(pod)?.name === 'web');
  const first = (): Stored => own()[0] ?? assert.fail('the set has no pod');
  const scale = (replicas: number): void => {
    const found = store.get('replicasets.apps', 'shop', 'web') ?? assert.fail('the set is gone');
    writes.update('replicasets.apps', { ...found, spec: { ...part(found, 'spec'), replicas } });
  };
  return [
    ['nothing', () => {}],
    ['a pod is deleted', () => void writes.remove('pods', 'shop', first().metadata.name)],
    [
      'a pod is deleted by force',
      () => void writes.remove('pods', 'shop', first().metadata.name, { gracePeriodSeconds: 0 }),
    ],
    [
      'a pod is relabelled',
      () =>
        void writes.update('pods', {
          ...first(),
          metadata: { ...first().metadata, labels: { app: 'other' } },
        }),
    ],
    ['a pod comes that it picks', () => void make('pods', stray)],
    [
      'a pod ends',
      () =>
        void writes.update(
          'pods',
          { ...first(), status: { ...part(first(), 'status'), phase: 'Failed' } },
          'status',
        ),
    ],
    ['it grows', () => scale(6)],
    ['it shrinks', () => scale(2)],
    ['a node goes', () => void writes.remove('nodes', '', 'n1')],
  ];
}

test('a set has as many pods as it wants, whatever becomes of them, and its budget counts them', async () => {
  const stage = bench();
  const { clock, store, make, pods, runtime } = stage;
  for (const name of ['n1', 'n2', 'n3']) {
    const node = freshNode(name);
    const zoned = { ...part(node, 'metadata', 'labels'), 'topology.kubernetes.io/zone': name };
    make('nodes', { ...node, metadata: { name, labels: zoned } });
  }
  make('poddisruptionbudgets.policy', budget);
  const made = make('replicasets.apps', set);
  const seen: (readonly unknown[])[] = [];
  for (const [what, act] of steps(stage)) {
    act();
    await clock.advance(120_000);
    const own = pods().filter(pod => controllerOf(pod)?.uid === made.metadata.uid);
    const status = at(store.get('poddisruptionbudgets.policy', 'shop', 'web'), 'status');
    const { currentHealthy, desiredHealthy, expectedPods, disruptionsAllowed } =
      status as JsonObject;
    const others = pods().length - own.length;
    const budgetSays = [currentHealthy, desiredHealthy, expectedPods, disruptionsAllowed];
    seen.push([
      what,
      own.filter(isActive).length,
      own.filter(isReady).length,
      others,
      ...budgetSays,
    ]);
  }
  assert.equal(at(store.get('replicasets.apps', 'shop', 'web'), 'status', 'readyReplicas'), 2);
  runtime.stop();
  assert.deepEqual(
    seen.map(([what, active]) => [what, active]),
    [
      ['nothing', 4],
      ['a pod is deleted', 4],
      ['a pod is deleted by force', 4],
      ['a pod is relabelled', 4],
      ['a pod comes that it picks', 4],
      ['a pod ends', 4],
      ['it grows', 6],
      ['it shrinks', 2],
      ['a node goes', 2],
    ],
  );
});
