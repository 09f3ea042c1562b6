import assert from 'node:assert/strict';
import { test } from 'node:test';
import { budget, shop } from '@drydock/operator/testing';
import { ofKind } from '../snapshot/kept.ts';
import { copied, foresee, nodes } from '../testing/copied.ts';
import { reduce } from './relevant-pods.ts';

function spec(cpu: string): object {
  return {
    containers: [
      {
        name: 'main',
        image: 'example.test/none:1',
        resources: { requests: { cpu, memory: '300Mi' } },
      },
    ],
  };
}

const names = Array.from({ length: 12 }, (_, index) => `n${index + 1}`);

const town = copied(async make => {
  nodes(make, ...names);
  for (let index = 0; index < 14; index += 1) {
    const name = `app-${index}`;
    const template = {
      metadata: { labels: { app: name } },
      spec: { ...spec(`${100 + 37 * index}m`) },
    };
    make('deployments.apps', shop('Deployment', name, { replicas: 3 + (index % 4), template }));
    if (index % 2 === 0) make('poddisruptionbudgets.policy', budget(name, { maxUnavailable: 1 }));
  }
  make('daemonsets.apps', shop('DaemonSet', 'agent', {}));
});

test('without those that have no say the play is the same, pod by pod and to the millisecond', async () => {
  const copy = await town;
  for (const targets of [['n3'], ['n1', 'n7']]) {
    const less = reduce(copy.objects, new Set(targets), 0);
    assert.ok(ofKind(less, 'Deployment').length < 14, 'some have no say');
    const [whole, part] = [
      await foresee(copy, targets),
      await foresee(copy, targets, { fewPods: 0 }),
    ];
    assert.ok(part.copied.loadedPods < whole.copied.loadedPods);
    const told = ({ typical, nodes, blockers, levels, finishes }: typeof whole): object => ({
      typical,
      nodes,
      blockers,
      levels,
      finishes,
    });
    assert.deepEqual(told(part), told(whole));
    assert.deepEqual(part.notes, []);
  }
});
