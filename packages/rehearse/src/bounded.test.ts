import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { JsonObject } from '@drydock/apimachinery';
import { bench, freshNode } from '@drydock/kube-sim/testing';
import { bounded, maxMissingPods } from './prepare/sandbox-options.ts';
import { copied, foresee, nodes } from './testing/copied.ts';

/**
 * Workloads that ask for two thousand million pods end neither a rehearsal nor the embedded
 * cluster.
 */

const many = 2_000_000_000;
const template = {
  metadata: { labels: { app: 'x' } },
  spec: { containers: [{ name: 'main', image: 'x' }] },
};
const selector = { matchLabels: { app: 'x' } };

const huge: Readonly<
  Record<string, readonly [resource: string, kind: string, apiVersion: string, spec: JsonObject]>
> = {
  'a StatefulSet, one pod after the other': [
    'statefulsets.apps',
    'StatefulSet',
    'apps/v1',
    { replicas: many, serviceName: 'x', selector, template },
  ],
  'a StatefulSet, all at once': [
    'statefulsets.apps',
    'StatefulSet',
    'apps/v1',
    { replicas: many, serviceName: 'x', podManagementPolicy: 'Parallel', selector, template },
  ],
  'a StatefulSet that starts far away': [
    'statefulsets.apps',
    'StatefulSet',
    'apps/v1',
    { replicas: many, ordinals: { start: 2_000_000_000 }, serviceName: 'x', selector, template },
  ],
  'a Deployment': [
    'deployments.apps',
    'Deployment',
    'apps/v1',
    { replicas: many, selector, template },
  ],
  'a ReplicaSet': [
    'replicasets.apps',
    'ReplicaSet',
    'apps/v1',
    { replicas: many, selector, template },
  ],
  'a Job': [
    'jobs.batch',
    'Job',
    'batch/v1',
    {
      parallelism: many,
      completions: many,
      template: { ...template, spec: { ...template.spec, restartPolicy: 'Never' } },
    },
  ],
  'an indexed Job': [
    'jobs.batch',
    'Job',
    'batch/v1',
    {
      parallelism: 100_000,
      completions: many,
      completionMode: 'Indexed',
      template: { ...template, spec: { ...template.spec, restartPolicy: 'Never' } },
    },
  ],
};

describe('two thousand million pods', { timeout: 120_000 }, () => {
  for (const [what, [resource, kind, apiVersion, spec]] of Object.entries(huge)) {
    test(`${what}: a rehearsal is done, and says of whom it makes no more`, async () => {
      const copy = await copied(make => {
        nodes(make, 'n1', 'n2');
        make('deployments.apps', {
          apiVersion: 'apps/v1',
          kind: 'Deployment',
          metadata: { name: 'web', namespace: 'shop' },
          spec: {
            replicas: 2,
            selector: { matchLabels: { app: 'web' } },
            template: { ...template, metadata: { labels: { app: 'web' } } },
          },
        });
      });
      const object = {
        apiVersion,
        kind,
        metadata: {
          name: 'huge',
          namespace: 'shop',
          uid: 'huge',
          creationTimestamp: '2026-11-20T08:00:00Z',
        },
        spec,
      };
      const forecast = await foresee({ ...copy, objects: [...copy.objects, object] }, ['n1'], {
        seeds: 1,
      });
      assert.ok(forecast.finishes);
      assert.deepEqual(
        forecast.notes.filter(note => note.startsWith(`${kind} shop/huge asks for `)).length,
        1,
        forecast.notes.join('\n'),
      );
    });

    test(`${what}: in the embedded cluster one step of its controller is bounded`, async () => {
      const { make, clock, store, runtime } = bench();
      make('nodes', freshNode('n1'));
      make(resource, { apiVersion, kind, metadata: { name: 'huge', namespace: 'shop' }, spec });
      await clock.advance(10);
      runtime.stop();
      const count = store.count('pods');
      assert.ok(count >= 1 && count <= 10_000, `${count} pods`);
    });
  }

  test('a Job that says of itself that two thousand million indexes are done goes on behind them', async () => {
    const { make, clock, store, writes, runtime } = bench();
    make('nodes', freshNode('n1'));
    const spec = {
      parallelism: 0,
      completions: many,
      completionMode: 'Indexed',
      template: { ...template, spec: { ...template.spec, restartPolicy: 'Never' } },
    };
    const job = make('jobs.batch', {
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: { name: 'huge', namespace: 'shop' },
      spec,
    });
    writes.update(
      'jobs.batch',
      { ...job, status: { completedIndexes: '0-1999999989,1999999992' } },
      'status',
    );
    const stored = store.get('jobs.batch', 'shop', 'huge');
    if (stored !== undefined)
      writes.update('jobs.batch', {
        ...stored,
        spec: { ...(stored['spec'] as JsonObject), parallelism: 3 },
      });
    await clock.advance(10);
    runtime.stop();
    const indexes = store
      .list('pods', 'shop')
      .map(({ metadata }) => metadata.annotations?.['batch.kubernetes.io/job-completion-index']);
    assert.deepEqual(new Set(indexes), new Set(['1999999990', '1999999991', '1999999993']));
  });

  test('what the cluster has is played, and what is missing by the smallest first', () => {
    const workload = (name: string, replicas: number): JsonObject => ({
      apiVersion: 'apps/v1',
      kind: 'StatefulSet',
      metadata: { name, namespace: 'shop', uid: name },
      spec: { replicas },
    });
    const pods = Array.from({ length: 3 }, (_, at) => ({
      kind: 'Pod',
      metadata: {
        name: `big-${at}`,
        namespace: 'shop',
        uid: `p${at}`,
        ownerReferences: [{ uid: 'big', kind: 'StatefulSet', controller: true }],
      },
    }));
    const { objects, notes } = bounded([
      workload('big', maxMissingPods),
      workload('small', 5),
      workload('as-it-is', 0),
      ...pods,
    ]);
    const replicas = objects.slice(0, 3).map(one => (one['spec'] as JsonObject)['replicas']);
    assert.deepEqual(replicas, [3, 5, 0]);
    assert.deepEqual(notes, [
      `StatefulSet shop/big asks for ${maxMissingPods} pods and has 3: no more are made, for a rehearsal makes ${maxMissingPods} missing pods at most`,
    ]);
  });
});
