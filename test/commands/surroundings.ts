import { create, nodesReady, podsReady } from '../control-plane/objects/cluster.ts';
import {
  budget,
  daemonSet,
  deployment,
  namespace,
  node,
} from '../control-plane/objects/manifests.ts';
import type { ControlPlane } from '../control-plane/types.ts';

/** The cluster that the documents speak of. */

const workers = ['worker-1', 'worker-2', 'worker-3', 'worker-4'];

/** What leaves quickly, so that the tests are soon over. */
const quick = { annotations: { 'drydock.test/gone-after': '50ms' } };

/** Nodes with workloads on them, before Drydock has come. */
export async function furnish({ api }: ControlPlane): Promise<void> {
  await create(
    api,
    ...workers.map((name, at) => node(name, { labels: at > 1 ? { pool: 'blue' } : {} })),
    namespace('shop'),
  );
  await create(
    api,
    deployment('web', { namespace: 'shop', replicas: 4, ...quick }),
    budget('web', { namespace: 'shop', maxUnavailable: 2 }),
    deployment('cache', { namespace: 'shop', localData: true, onNodes: ['worker-2'], ...quick }),
    daemonSet('agent', { namespace: 'shop' }),
  );
  await nodesReady(api, workers);
  await podsReady(api, 'shop', 5 + workers.length);
}

const older = [
  ['machine-maintenance-operator', 'machine-maintenance-operator'],
  ['node-maintenance-operator', 'node-maintenance-operator'],
  ['node-maintenance-operator-system', 'node-maintenance-operator-controller-manager'],
] as const;

/** What the documents about operators before this one find, once its kinds are there. */
export async function furnishOlder(controlPlane: ControlPlane): Promise<void> {
  const { api } = controlPlane;
  for (const [home, name] of older)
    await create(api, namespace(home), deployment(name, { namespace: home }));
  await create(api, namespace('leases-of-our-own'), {
    apiVersion: 'machinemaintenance.managed.openshift.io/v1alpha1',
    kind: 'MachineMaintenance',
    metadata: { name: 'mm-worker-a1', namespace: 'drydock-system' },
    spec: { machinelink: 'worker-a1', machineid: 'i-0a1', maintenancescheduled: false },
  });
  await controlPlane.kubectl(['taint', 'node', 'worker-3', 'kubevirt.io/drain=drain:NoSchedule']);
}
