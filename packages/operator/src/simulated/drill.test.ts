import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { at, part, type Stored } from '@drydock/kube-sim';
import { isReady, nodeOf } from '@drydock/kube-sim/controllers';
import { budget, drill, shop } from '../testing/drill.ts';

/** All that happens, change by change with its moment, as one digest. */
async function play(seed: number): Promise<string> {
  const { clock, store, writes, make, end } = drill({ seed, nodes: ['n1', 'n2', 'n3'] });
  const tale = createHash('sha256');
  store.subscribe(({ type, resource, object }) => {
    tale.update(`${clock.now().epochMilliseconds} ${type} ${resource} ${JSON.stringify(object)}\n`);
  });
  make('deployments.apps', shop('Deployment', 'web', { replicas: 12 }));
  make('daemonsets.apps', shop('DaemonSet', 'agent', {}));
  make('poddisruptionbudgets.policy', budget('web', { maxUnavailable: 1 }));
  await clock.advance(20_000);
  const web = (): readonly Stored[] =>
    store.list('pods', 'shop').filter(({ metadata }) => metadata.labels?.['app'] === 'web');
  assert.equal(web().filter(isReady).length, 12);
  let fewest = 12;
  const unsubscribe = store.subscribe(() => {
    fewest = Math.min(
      fewest,
      web().filter(pod => isReady(pod) && pod.metadata.deletionTimestamp === undefined).length,
    );
  }, 'pods');
  const before = store.get('nodes', '', 'n1');
  make('maintenances.drydock.dev', {
    apiVersion: 'drydock.dev/v1alpha1',
    kind: 'Maintenance',
    metadata: { name: 'disk' },
    spec: { nodeName: 'n1' },
  });
  await clock.advance(10 * 60_000);
  const status = part(store.get('maintenances.drydock.dev', '', 'disk'), 'status');
  assert.equal(status['phase'], 'Drained', JSON.stringify(status));
  assert.equal(fewest, 11, 'the budget was used, and never exceeded');
  assert.deepEqual(
    store.indexed('pods', 'spec.nodeName', 'n1').map(({ metadata }) => metadata.labels?.['app']),
    ['agent'],
  );
  assert.ok(web().every(pod => nodeOf(pod) !== 'n1'));
  writes.remove('maintenances.drydock.dev', '', 'disk');
  await clock.advance(5000);
  assert.equal(store.get('maintenances.drydock.dev', '', 'disk'), undefined);
  const after = store.get('nodes', '', 'n1');
  assert.deepEqual(
    [at(after, 'spec'), after?.metadata.labels],
    [at(before, 'spec'), before?.metadata.labels],
  );
  unsubscribe();
  await end();
  return tale.digest('hex');
}

test('a maintenance runs its whole life: drained by the budget, held, released as it was', async () => {
  await play(1);
});

test('the same seed is the same maintenance, bit for bit', async () => {
  assert.equal(await play(2), await play(2));
  assert.notEqual(await play(2), await play(3));
});
