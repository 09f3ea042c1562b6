import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readMachineMaintenance } from '@drydock/apis';
import { type MachineKind, readMachine } from '@drydock/core/machine';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import { NodeCache } from '../cache/node-cache.ts';
import { subjectOf } from './gather.ts';
import { type MachineCache, MachineStore } from './machine-cache.ts';

const kind: MachineKind = {
  api: 'capi',
  apiVersion: 'cluster.x-k8s.io/v1beta2',
  kind: 'Machine',
  plural: 'machines',
};

test('of two Machines of one name it is the one that the cloud calls so, in an Azure scale set too', () => {
  const machines = new MachineStore();
  for (const namespace of ['one', 'two']) {
    const providerID = `azure:///subscriptions/s/virtualMachineScaleSets/pool-${namespace}/virtualMachines/0`;
    const metadata = { name: 'm', namespace, uid: namespace, resourceVersion: '1' };
    machines.apply({
      type: 'added',
      object: readMachine({ metadata, spec: { providerID } }, kind),
    });
  }
  const request = readMachineMaintenance({
    metadata: { name: 'mm-m', namespace: 'x', uid: 'u', resourceVersion: '1' },
    spec: { maintenancescheduled: false, machineid: 'pool-two_0', machinelink: 'm' },
  });
  assert.ok(typeof request !== 'string');
  assert.equal(
    subjectOf(request, { machines } as MachineCache, { nodes: new NodeCache() } as ClusterCache)
      .machine?.namespace,
    'two',
  );
});
