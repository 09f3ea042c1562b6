import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Api, ApiResponse } from '@drydock/kube-client';
import { createCluster, inProcess, seeded } from '@drydock/kube-sim';
import { writesOn } from '@drydock/kube-sim/controllers';
import { machineDefinitions } from '@drydock/kube-sim/machines';
import { VirtualClock } from '@drydock/utils';
import { collect } from './support-bundle.ts';

/**
 * What is in a support bundle of a cluster with machines; test/deploy/diagnose.test.ts makes one of
 * a real API server.
 */

const secret = 'hidden-value-4711';

function clusterWithMachines() {
  const cluster = createCluster({ clock: new VirtualClock(), random: seeded(1) });
  const writes = writesOn(cluster.registry);
  const make = (resource: string, draft: Parameters<typeof writes.create>[1]): void => {
    const written = writes.create(resource, draft);
    assert.equal(written.kind, 'stored', JSON.stringify(written));
  };
  for (const one of machineDefinitions('capi'))
    make('customresourcedefinitions.apiextensions.k8s.io', one);
  make('namespaces', { metadata: { name: 'machines' } });
  make('machinesets.cluster.x-k8s.io', {
    metadata: { name: 'workers', namespace: 'machines' },
    spec: { replicas: 3, template: { spec: { failureDomain: secret } } },
  });
  return cluster;
}

test('machines and their sets are in it, without what they are made from, and kinds that are not served are no trouble', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'drydock-bundle-'));
  try {
    const leftOut = await collect(inProcess(clusterWithMachines(), { userAgent: 'test' }), folder);
    assert.deepEqual(leftOut, []);
    const read = (name: string): string => readFileSync(join(folder, name), 'utf8');
    const sets = JSON.parse(read('objects/machinesets.cluster.x-k8s.io.json')) as {
      readonly items: readonly { readonly spec: object }[];
    };
    assert.deepEqual(
      sets.items.map(({ spec }) => spec),
      [{ replicas: 3 }],
    );
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(name =>
      /\.(json|txt)$/.test(name),
    );
    assert.deepEqual(
      files.filter(name => read(name).includes(secret)),
      [],
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
});

/** An API server that says what it likes. */
function hostile(podName: string, container = 'main'): Api {
  const operator = {
    metadata: {
      name: 'drydock',
      namespace: 'drydock-system',
      labels: { 'app.kubernetes.io/name': 'drydock' },
    },
    spec: {
      replicas: 1,
      template: {
        spec: {
          containers: [
            {
              name: 'drydock',
              image: 'drydock',
              args: ['operator', '--metrics-secure'],
              env: [{ name: 'A', value: secret }],
            },
          ],
        },
      },
    },
    status: { conditions: [{ type: 'Available', message: secret }] },
  };
  const pods = [podName, 'drydock-5d8f-abcde'].map(name => ({
    metadata: { name, namespace: 'drydock-system' },
    spec: { containers: [{ name: container }] },
  }));
  const reply = (body: unknown): ApiResponse => ({ status: 200, headers: {}, body });
  return {
    call: async ({ path }) => {
      if (path.endsWith('/log')) return reply('a line\n');
      if (path === '/version') return reply({ gitVersion: 'v1.36.3', major: '1', minor: '36' });
      if (path.endsWith('/deployments')) return reply({ items: [operator] });
      if (path.endsWith('/pods')) return reply({ items: pods });
      if (path === '/api/v1/nodes') return reply({ items: [{ metadata: { name: 'n1' } }] });
      return { status: 404, headers: {}, body: { message: 'not found' } };
    },
  };
}

const odd = [
  '../../../../escaped',
  '..',
  'a/../../b',
  '/etc/x',
  'x; rm -rf /',
  '$(touch x)',
  "a'b",
  'a\nb',
  '-rf',
  '',
  'UPPER',
  'a'.repeat(300),
];

for (const name of odd)
  test(`a server that calls a pod ${JSON.stringify(name).slice(0, 30)} has no file written outside of the folder, and no word in a script`, async () => {
    const root = mkdtempSync(join(tmpdir(), 'drydock-hostile-'));
    try {
      for (const [folder, api] of [
        [join(root, 'a', 'b', 'c', 'pod'), hostile(name)],
        [join(root, 'a', 'b', 'c', 'container'), hostile('fine', name)],
      ] as const) {
        const leftOut = await collect(api, folder);
        assert.ok(
          leftOut.some(
            line =>
              line.startsWith('logs of pod ') &&
              line.includes('the API server returned an invalid name'),
          ),
          leftOut.join('\n'),
        );
        const files = readdirSync(root, { recursive: true, encoding: 'utf8' });
        assert.deepEqual(
          files.filter(file => /escaped|\.\.|rm -rf|touch/.test(file)),
          [],
        );
        assert.deepEqual(
          readdirSync(join(root, 'a', 'b', 'c')).filter(
            file => !['pod', 'container'].includes(file),
          ),
          [],
        );
      }
      const script = readFileSync(
        join(root, 'a', 'b', 'c', 'pod', 'metrics', 'how-to-get-them.sh'),
        'utf8',
      );
      assert.match(script, /^get drydock-5d8f-abcde$/m);
      assert.equal(script.match(/^get \S/gm)?.length, 1, script);
      assert.ok(
        !readFileSync(join(root, 'a', 'b', 'c', 'pod', 'workloads.json'), 'utf8').includes(secret),
      );
    } finally {
      rmSync(root, { recursive: true });
    }
  });
