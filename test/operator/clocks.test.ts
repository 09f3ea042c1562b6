import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { create, getNode } from '../control-plane/objects/cluster.ts';
import { budget, deployment, namespace } from '../control-plane/objects/manifests.ts';
import { until } from '../control-plane/wait.ts';
import { type OperatorHarness, skipOf, startHarness } from './harness/harness.ts';
import {
  maintenance,
  maintenancePath,
  makeNode,
  podAt,
  untilMaintenance,
  untilPods,
} from './harness/look.ts';

/**
 * An operator whose clock is not that of the API server drains as fast and as carefully as any:
 * what it compares timestamps with is the server's own time.
 */

const started = await startHarness();
const skip = skipOf(started);
const harness = started as OperatorHarness;
const skewed = new URL('./harness/skewed-clock.mjs', import.meta.url).href;

async function seconds(work: () => Promise<unknown>): Promise<number> {
  const begun = performance.now();
  await work();
  return (performance.now() - begun) / 1000;
}

describe('the clock of the operator', { skip, concurrency: 1, timeout: 300_000 }, () => {
  const { api } = harness;
  after(async () => harness.stop());

  const prefer = (nodeName: string, other: string): object => {
    const on = (values: readonly string[]): object => ({
      matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values }],
    });
    return {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [on([nodeName, other])],
        },
        preferredDuringSchedulingIgnoredDuringExecution: [
          { weight: 100, preference: on([nodeName]) },
        ],
      },
    };
  };

  for (const skew of [-3600, -60, 60, 3600])
    test(`is ${Math.abs(skew)} s ${skew < 0 ? 'behind' : 'ahead'}: pods are no late ones, and waited for as long as they should be`, async () => {
      const name = `skew-${skew < 0 ? 'behind' : 'ahead'}-${Math.abs(skew)}`;
      const other = `${name}-other`;
      await Promise.all([name, other].map(one => makeNode(api, one)));
      const environment = { NODE_OPTIONS: `--import=${skewed}`, DRYDOCK_TEST_SKEW: String(skew) };
      const { running } = await harness.startOperator({ environment });
      try {
        await create(
          api,
          namespace(name),
          deployment('web', {
            namespace: name,
            replicas: 6,
            spec: { affinity: prefer(name, other) },
          }),
        );
        await create(api, budget('web', { namespace: name, maxUnavailable: 1 }));
        await untilPods(api, name, 6);
        const fresh = await seconds(async () => {
          await create(api, maintenance(name));
          await untilMaintenance(api, name, 'Drained');
        });
        // Six, one after the other: each takes a second to go, and its successor half a second to
        // be Ready. A late one waits for five seconds and more.
        assert.ok(fresh < 25, `${fresh} s`);
        await api.delete(maintenancePath(name));
        await until(
          'the node to be released',
          async () => (await getNode(api, name)).spec.unschedulable !== true,
        );

        await create(api, namespace(other));
        const slow = podAt(name, 'slow', {
          namespace: other,
          annotations: { 'drydock.test/never-gone': 'true' },
          spec: { terminationGracePeriodSeconds: 8 },
        });
        await create(api, slow);
        await untilPods(api, name, 1);
        const waited = await seconds(async () => {
          await create(api, maintenance(name, { drain: { skipWaitForDeleteTimeoutSeconds: 3 } }));
          await untilMaintenance(api, name, 'Drained');
        });
        assert.ok(waited > 11 && waited < 20, `eight seconds of grace and three more: ${waited} s`);
        const { startTime = '' } = await untilMaintenance(api, name, 'Drained');
        assert.ok(
          Math.abs(Date.parse(startTime) - Date.now()) < 55_000,
          `${startTime} is not the API server's time`,
        );
        await api.delete(maintenancePath(name));
      } finally {
        await running.stop();
      }
    });
});
