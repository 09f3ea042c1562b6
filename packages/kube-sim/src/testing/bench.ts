import type { JsonObject } from '@drydock/apimachinery';
import { VirtualClock } from '@drydock/utils';
import { createCluster } from '../cluster.ts';
import { ClusterRuntime, type RuntimeOptions } from '../cluster-runtime.ts';
import { writesOn } from '../controllers/runner.ts';
import { part, type Stored, seeded } from '../object.ts';

/** A cluster that lives in simulated time, with a namespace `shop`. */
export function bench(options: Partial<RuntimeOptions> = {}, seed = 1) {
  const clock = new VirtualClock();
  const cluster = createCluster({ clock, random: seeded(seed) });
  const { registry } = cluster;
  const { store } = registry;
  const runtime = new ClusterRuntime({
    registry,
    clock,
    pace: { startMs: 500, stopMs: 1000, spread: 0 },
    ...options,
  });
  const writes = writesOn(registry);
  const make = (resource: string, draft: JsonObject): Stored => {
    const written = writes.create(resource, draft);
    if (written.kind === 'refused') throw new Error(written.message);
    return written.object;
  };
  make('namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } });
  runtime.start();
  const pods = (): readonly Stored[] => store.list('pods', 'shop');
  const pod = (name: string): Stored | undefined => store.get('pods', 'shop', name);
  const node = (name: string): Stored | undefined => store.get('nodes', '', name);
  const changeNode = (name: string, spec: JsonObject): void => {
    const found = node(name);
    if (found !== undefined)
      writes.update('nodes', { ...found, spec: { ...part(found, 'spec'), ...spec } });
  };
  return { cluster, clock, store, writes, make, runtime, pods, pod, node, changeNode };
}

/** A node of which nothing has been said yet. */
export function freshNode(name: string, more: JsonObject = {}): JsonObject {
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, labels: { 'kubernetes.io/hostname': name } },
    status: { allocatable: { cpu: '8', memory: '32Gi', pods: '110' }, ...more },
  };
}

/** A pod of one container, on a node that is given or that the scheduler finds. */
export function freshPod(
  name: string,
  spec: JsonObject = {},
  annotations: JsonObject = {},
): JsonObject {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'shop', annotations },
    spec: { containers: [{ name: 'main', image: 'example.test/none:1' }], ...spec },
  };
}
