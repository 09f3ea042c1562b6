import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createCluster } from '../../embedded/cluster.ts';
import { writesOn } from '../../embedded/controllers/writes.ts';
import { inProcess } from '../../embedded/in-process.ts';
import { machineDefinitions } from '../../embedded/machines/definitions.ts';
import { seeded } from '../../embedded/seeded.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';
import { collect } from './support-bundle.ts';

/** What is in a support bundle of a cluster with machines; test/deploy/diagnose.test.ts makes one of a real API server. */

const secret = 'hidden-value-4711';

const clusterWithMachines = () => {
  const cluster = createCluster({ clock: new VirtualClock(), random: seeded(1) });
  const writes = writesOn(cluster.registry);
  const make = (resource: string, draft: Parameters<typeof writes.create>[1]): void => {
    const written = writes.create(resource, draft);
    assert.equal(written.kind, 'stored', JSON.stringify(written));
  };
  for (const one of machineDefinitions('capi')) make('customresourcedefinitions.apiextensions.k8s.io', one);
  make('namespaces', { metadata: { name: 'machines' } });
  make('machinesets.cluster.x-k8s.io', {
    metadata: { name: 'workers', namespace: 'machines' },
    spec: { replicas: 3, template: { spec: { failureDomain: secret } } },
  });
  return cluster;
};

test('machines and their sets are in it, without what they are made from, and kinds that are not served are no trouble', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'drydock-bundle-'));
  try {
    const leftOut = await collect(inProcess(clusterWithMachines(), { userAgent: 'test' }), folder);
    assert.deepEqual(leftOut, []);
    const read = (name: string): string => readFileSync(join(folder, name), 'utf8');
    const sets = JSON.parse(read('objects/machinesets.cluster.x-k8s.io.json')) as { readonly items: readonly { readonly spec: object }[] };
    assert.deepEqual(
      sets.items.map(({ spec }) => spec),
      [{ replicas: 3 }],
    );
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(name => /\.(json|txt)$/.test(name));
    assert.deepEqual(
      files.filter(name => read(name).includes(secret)),
      [],
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
});
