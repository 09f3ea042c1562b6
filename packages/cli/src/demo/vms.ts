import type { JsonObject } from '@drydock/apimachinery';
import type { Stored } from '@drydock/kube-sim';
import { kubeVirtDefinitions, kubeVirtObjects } from '@drydock/kube-sim/kubevirt';
import type { Resource } from '@drydock/kube-sim/store';

/**
 * VMs of KubeVirt in the demo: five that migrate, and one that cannot: it is shut down and started
 * again on another node.
 */

type Make = (resource: Resource, object: JsonObject) => Stored;

const namespace = 'vms';

type Vm = {
  readonly name: string;
  readonly memory: string;
  readonly strategy: 'LiveMigrate' | 'LiveMigrateIfPossible' | 'None';
  readonly migratable?: boolean;
};

const vms: readonly Vm[] = [
  { name: 'mail', memory: '2Gi', strategy: 'LiveMigrate' },
  { name: 'wiki', memory: '2Gi', strategy: 'LiveMigrate' },
  { name: 'ledger', memory: '8Gi', strategy: 'LiveMigrate' },
  { name: 'builder', memory: '4Gi', strategy: 'LiveMigrateIfPossible' },
  { name: 'desktop', memory: '4Gi', strategy: 'LiveMigrate' },
  { name: 'plotter', memory: '1Gi', strategy: 'LiveMigrateIfPossible', migratable: false },
];

function machine({ name, memory, strategy, migratable = true }: Vm): JsonObject {
  return {
    kind: 'VirtualMachine',
    metadata: { name, namespace },
    spec: {
      runStrategy: 'Always',
      template: {
        metadata: { annotations: { 'drydock.test/migratable': String(migratable) } },
        spec: { evictionStrategy: strategy, domain: { memory: { vmPod: memory }, devices: {} } },
      },
    },
  };
}

function resourceOf({ kind }: JsonObject): Resource {
  if (kind === 'Namespace') return 'namespaces';
  return kind === 'KubeVirt'
    ? 'kubevirts.kubevirt.io'
    : 'validatingwebhookconfigurations.admissionregistration.k8s.io';
}

/** Creates KubeVirt and its VMs. */
export function createDemoVms(make: Make): void {
  for (const definition of kubeVirtDefinitions)
    make('customresourcedefinitions.apiextensions.k8s.io', definition);
  for (const object of kubeVirtObjects()) make(resourceOf(object), object);
  make('namespaces', { metadata: { name: namespace } });
  for (const vm of vms) make('virtualmachines.kubevirt.io', machine(vm));
}
