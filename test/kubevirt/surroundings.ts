import type { Manifest } from '../control-plane/objects/manifests.ts';
import { home } from './objects.ts';

/** What virt-operator would have left in a cluster, beside what KubeVirt itself can print. */

export const namespace: Manifest = {
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name: home },
};

/** Whom virt-api and virt-handler believe. */
export function trusted(authority: string): Manifest & { readonly data: unknown } {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'kubevirt-ca', namespace: home },
    data: { 'ca-bundle': authority },
  };
}

/** The usual limits, said aloud. */
export const kubeVirt: Manifest = {
  apiVersion: 'kubevirt.io/v1',
  kind: 'KubeVirt',
  metadata: { name: 'kubevirt', namespace: home },
  spec: {
    configuration: {
      evictionStrategy: 'LiveMigrate',
      // The nodes have no devices.kubevirt.io/kvm.
      developerConfiguration: { useEmulation: true, featureGates: [] },
      migrations: { parallelMigrationsPerCluster: 5, parallelOutboundMigrationsPerNode: 2 },
    },
  },
};

/**
 * Without a phase KubeVirt's parts take no notice of it; without an architecture they refuse VMs.
 */
export function deployed(version: string): object {
  return {
    phase: 'Deployed',
    conditions: [
      {
        type: 'Available',
        status: 'True',
        reason: 'AllComponentsReady',
        message: 'All components are ready.',
      },
    ],
    defaultArchitecture: 'amd64',
    operatorVersion: version,
    targetKubeVirtVersion: version,
    observedKubeVirtVersion: version,
  };
}

/** An EndpointSlice may not hold an address of this machine; a name may stand for it. */
export const service: Manifest = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'virt-api', namespace: home },
  spec: { type: 'ExternalName', externalName: 'localhost' },
};
