import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../core/json.ts';
import { budget, shop } from '../embedded/testing/drill.ts';
import { copied, foresee, nodes } from './testing/copied.ts';
import { foresightText } from './words.ts';

const asking = (cpu: string): JsonObject => ({
  spec: { containers: [{ name: 'main', image: 'example.test/none:1', resources: { requests: { cpu } } }] },
});

const web = (replicas: number, cpu = '100m', more: JsonObject = {}): JsonObject =>
  shop('Deployment', 'web', {
    replicas,
    template: { metadata: { labels: { app: 'web' } }, spec: { ...(asking(cpu)['spec'] as JsonObject), ...more } },
  });

test('a drain that nothing is in the way of: it finishes, and says when and in which order', async () => {
  const copy = await copied(async (make, settle) => {
    nodes(make, 'n1');
    make('deployments.apps', web(6));
    make('poddisruptionbudgets.policy', budget('web', { maxUnavailable: 1 }));
    make('statefulsets.apps', shop('StatefulSet', 'db', { replicas: 3, serviceName: 'db' }));
    make('daemonsets.apps', shop('DaemonSet', 'agent', {}));
    await settle();
    nodes(make, 'n2', 'n3');
  });
  const seen = await foresee(copy, ['n1']);
  console.log(foresightText(seen));
  assert.equal(seen.finishes, true);
  assert.deepEqual(seen.notes, []);
});
