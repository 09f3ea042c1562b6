import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '@drydock/apimachinery';
import { crdTexts, defaultGroups } from '@drydock/apis/crds';
import { createDemoVms } from '@drydock/cli/demo';
import {
  ClusterRuntime,
  createCluster,
  inProcess,
  type Stored,
  seeded,
  text,
} from '@drydock/kube-sim';
import { writesOn } from '@drydock/kube-sim/controllers';
import { SimulatedKubeVirt } from '@drydock/kube-sim/kubevirt';
import type { ClusterSnapshot } from '@drydock/rehearse/snapshot';
import { takeCopy } from '@drydock/rehearse/snapshot';
import { foresee, nodes } from '@drydock/rehearse/testing';
import { VirtualClock } from '@drydock/utils';
import { parse } from 'yaml';

/** The demo's VM that cannot be migrated may be shut down; here it may not. */
function mustMigrate(draft: JsonObject): JsonObject {
  return text(draft, 'metadata', 'name') === 'plotter'
    ? (JSON.parse(
        JSON.stringify(draft).replace('LiveMigrateIfPossible', 'LiveMigrate'),
      ) as JsonObject)
    : draft;
}

/** Six VMs on one node, of which one cannot be moved; and two nodes that may take them. */
async function copyOf(): Promise<ClusterSnapshot> {
  const clock = new VirtualClock();
  const kubeVirt = new SimulatedKubeVirt();
  const cluster = createCluster({ clock, random: seeded(1), extensions: [kubeVirt.extension()] });
  const { registry } = cluster;
  const runtime = new ClusterRuntime({
    registry,
    clock,
    pace: { startMs: 500, stopMs: 1000, spread: 0 },
    more: kubeVirt.controllers(),
  });
  const make = (resource: string, draft: JsonObject): Stored => {
    const written = writesOn(registry).create(resource, draft);
    if (written.kind === 'refused') throw new Error(written.message);
    return written.object;
  };
  for (const crd of crdTexts(defaultGroups))
    make('customresourcedefinitions.apiextensions.k8s.io', parse(crd) as JsonObject);
  runtime.start();
  createDemoVms((resource, draft) => make(resource, mustMigrate(draft)));
  const grown = (...names: readonly string[]): void =>
    nodes(
      (resource, draft) =>
        make(resource, {
          ...draft,
          status: { allocatable: { cpu: '32', memory: '128Gi', pods: '50' } },
        }),
      ...names,
    );
  grown('n1');
  await clock.advance(60_000);
  grown('n2', 'n3');
  await clock.advance(30_000);
  const copy = await takeCopy({
    api: inProcess(cluster, { userAgent: 'test' }),
    now: () => clock.now(),
  });
  runtime.stop();
  return copy;
}

test('VMs move, and the one that cannot is named with what would help', async () => {
  const seen = await foresee(await copyOf(), ['n1'], { seeds: 1 });
  assert.deepEqual([seen.finishes, seen.notes], [false, []]);
  const [blocker, ...others] = seen.blockers.filter(({ reason }) => reason === 'NotMigratable');
  assert.deepEqual(others, []);
  assert.match(blocker?.what ?? '', /^vms\/virt-launcher-plotter-/);
  assert.ok(blocker?.remedy !== undefined);
  assert.equal(seen.blockers.length, 1, 'all others have moved');
});
