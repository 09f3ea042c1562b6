import assert from 'node:assert/strict';
import { test } from 'node:test';
import { at, part, type Stored, seeded } from '@drydock/kube-sim';
import { isReady } from '@drydock/kube-sim/controllers';
import { budget, drill, shop } from '../testing/drill.ts';

/**
 * A long life in simulated time: many maintenances, several at once, while calls of the operator go
 * wrong.
 */

const nodes = Array.from({ length: 24 }, (_, index) => `n${index + 1}`);
const shops = [
  { name: 'web', replicas: 24, spec: { maxUnavailable: 2 }, mayMiss: 2 },
  { name: 'api', replicas: 12, spec: { minAvailable: 10 }, mayMiss: 2 },
  { name: 'cart', replicas: 6, spec: { maxUnavailable: 1 }, mayMiss: 1 },
  { name: 'mail', replicas: 10, spec: { minAvailable: '60%' }, mayMiss: 4 },
];
const atOnce = 4;
const maintenances = 'maintenances.drydock.dev';

function isUp(pod: Stored): boolean {
  return isReady(pod) && pod.metadata.deletionTimestamp === undefined;
}

async function play(seed: number, count: number) {
  const world = drill({ seed, nodes, faults: { refused: 0.02, lost: 0.02, unanswered: 0.02 } });
  const { clock, store, writes, make, end } = world;
  for (const { name, replicas, spec } of shops) {
    make('deployments.apps', shop('Deployment', name, { replicas }));
    make('poddisruptionbudgets.policy', budget(name, spec));
  }
  make('statefulsets.apps', shop('StatefulSet', 'db', { replicas: 5, serviceName: 'db' }));
  make('poddisruptionbudgets.policy', budget('db', { maxUnavailable: 1 }));
  make('daemonsets.apps', shop('DaemonSet', 'agent', {}));
  await clock.advance(120_000);
  const podsOf = (app: string): readonly Stored[] =>
    store.list('pods', 'shop').filter(({ metadata }) => metadata.labels?.['app'] === app);
  const fewest = new Map(shops.map(({ name, replicas }) => [name, replicas]));
  store.subscribe(({ object }) => {
    const app = object.metadata.labels?.['app'] ?? '';
    const least = fewest.get(app);
    if (least !== undefined) fewest.set(app, Math.min(least, podsOf(app).filter(isUp).length));
  }, 'pods');
  const faces = new Map(nodes.map(name => [name, faceOf(store.get('nodes', '', name))]));
  const chance = seeded(seed + 2);
  const held = new Map<string, number>();
  let begun = 0;
  let over = 0;
  while (over < count) {
    for (const [name, until] of held) {
      const phase = at(store.get(maintenances, '', name), 'status', 'phase');
      if (phase === 'Drained') writes.remove(maintenances, '', name);
      else if (phase === undefined && store.get(maintenances, '', name) === undefined) {
        held.delete(name);
        over += 1;
        assert.deepEqual(
          faceOf(store.get('nodes', '', name)),
          faces.get(name),
          `${name} is as it was`,
        );
      }
      assert.ok(
        clock.now().epochMilliseconds < until,
        `${name} takes too long: ${JSON.stringify(part(store.get(maintenances, '', name), 'status'))}`,
      );
    }
    while (held.size < atOnce && begun < count) {
      const name = nodes[Math.floor(chance() * nodes.length)] ?? '';
      if (held.has(name)) continue;
      make(maintenances, { metadata: { name }, spec: { nodeName: name } });
      held.set(name, clock.now().epochMilliseconds + 30 * 60_000);
      begun += 1;
    }
    await clock.advance(2000);
  }
  await end();
  return {
    fewest,
    minutes: (clock.now().epochMilliseconds - Date.parse('2026-01-01T00:00:00Z')) / 60_000,
  };
}

/** All of a node that a maintenance might touch. */
function faceOf(node: Stored | undefined): object {
  return {
    spec: at(node, 'spec'),
    labels: node?.metadata.labels,
    annotations: node?.metadata.annotations,
  };
}

test('hundreds of maintenances with calls that go wrong: each is drained and released, and no budget is ever exceeded', async () => {
  const { fewest } = await play(11, 200);
  for (const { name, replicas, mayMiss } of shops) {
    const least = fewest.get(name) ?? 0;
    assert.ok(least >= replicas - mayMiss, `${name} was down to ${least} of ${replicas}`);
  }
});
