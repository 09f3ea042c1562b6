import type { JsonObject } from '@drydock/apimachinery';
import type { Stored } from '@drydock/kube-sim';
import type { SimulatedCloud } from '@drydock/kube-sim/machines';
import { machineDefinitions, machineGroups } from '@drydock/kube-sim/machines';
import type { Resource } from '@drydock/kube-sim/store';
import { worker, workerLabels, zones } from './demo-objects.ts';
import { oldKernel } from './plans.ts';

/**
 * Machines of the demo: instances of a simulated cloud, in a MachineSet for each zone, as on
 * OpenShift.
 */

const { group, version } = machineGroups.openshift;
const namespace = 'openshift-machine-api';

/** Namespace of the MachineMaintenances. */
export const ownNamespace = 'drydock-system';

type Make = (resource: Resource, object: JsonObject) => Stored;

function machineSpec(zone: string): JsonObject {
  return { failureDomain: zone, metadata: { labels: workerLabels } };
}

function machineSet(name: string, zone: string): JsonObject {
  return {
    metadata: { name, namespace },
    spec: { replicas: 2, template: { metadata: { labels: { zone } }, spec: machineSpec(zone) } },
  };
}

function owner({ metadata: { name, uid } }: Stored): JsonObject {
  return {
    apiVersion: `${group}/${version}`,
    kind: 'MachineSet',
    name,
    uid,
    controller: true,
    blockOwnerDeletion: true,
  };
}

/** Creates a machine that counts as long-running, together with its node. */
function adopt(make: Make, cloud: SimulatedCloud, set: Stored, name: string, zone: string): void {
  const providerID = `aws:///${zone}/${cloud.launch(zone).id}`;
  make(`machines.${group}`, {
    metadata: {
      name,
      namespace,
      labels: { zone },
      finalizers: [`machine.${group}`],
      ownerReferences: [owner(set)],
    },
    spec: { ...machineSpec(zone), providerID },
  });
  const bootId = cloud.instance(providerID.split('/').at(-1) ?? '')?.bootId ?? '';
  make(
    'nodes',
    worker(name, zone, {
      providerID,
      bootId,
      kernel: oldKernel,
      annotations: { [`${group}/machine`]: `${namespace}/${name}` },
    }),
  );
}

const day = 24 * 3600 * 1000;

function inDays(now: Temporal.Instant, days: number): string {
  return Temporal.Instant.fromEpochMilliseconds(now.epochMilliseconds + days * day).toString({
    smallestUnit: 'second',
  });
}

/** Returns a window with a freeze in the future; starts are allowed today. */
function freeze(now: Temporal.Instant): JsonObject {
  return {
    metadata: { name: 'sale' },
    spec: { freezes: [{ from: inDays(now, 30), to: inDays(now, 33), reason: 'the big sale' }] },
  };
}

/**
 * Event source with an interval of a day, like a cloud's; annotate a node with
 * `demo.drydock.dev/redeploy` to see an approval.
 */
const source: JsonObject = {
  metadata: { name: 'cloud' },
  spec: {
    aws: { intervalSeconds: 86_400 },
    signals: [
      {
        annotation: { key: 'demo.drydock.dev/redeploy' },
        kind: 'redeploy',
        description: 'somebody wants this machine on another host',
      },
    ],
    responses: [{ kinds: ['redeploy'], strategy: 'Replace', approval: 'Required' }],
  },
};

/** Creates the kinds, the sets with their machines and nodes, and their configuration. */
export function furnishMachines(make: Make, cloud: SimulatedCloud, now: Temporal.Instant): void {
  for (const definition of machineDefinitions('openshift'))
    make('customresourcedefinitions.apiextensions.k8s.io', definition);
  for (const name of [namespace, ownNamespace]) make('namespaces', { metadata: { name } });
  for (const [index, zone] of zones.entries()) {
    const set = make(`machinesets.${group}`, machineSet(`worker-${zone}`, zone));
    for (const number of [2 * index + 1, 2 * index + 2])
      adopt(make, cloud, set, `worker-${number}`, zone);
  }
  make('maintenancewindows.drydock.dev', freeze(now));
  make('machineeventsources.drydock.dev', source);
}
