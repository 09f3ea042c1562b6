import { statusMessage } from '@drydock/apimachinery';
import type { MachineKind } from '@drydock/core/machine';
import type { Api } from '@drydock/kube-client';

/** Discovers which machine APIs this cluster serves, in which versions. */

type Wanted = Pick<MachineKind, 'api' | 'kind' | 'plural'>;

const openShift = { api: 'openshift' } as const;
const capi = { api: 'capi' } as const;

/** Machine kinds by group; the supported versions, the newest first. */
const groups: readonly {
  readonly group: string;
  readonly versions: readonly string[];
  readonly kinds: readonly Wanted[];
}[] = [
  {
    group: 'machine.openshift.io',
    versions: ['v1beta1'],
    kinds: [
      { ...openShift, kind: 'Machine', plural: 'machines' },
      { ...openShift, kind: 'MachineSet', plural: 'machinesets' },
    ],
  },
  {
    group: 'machine.openshift.io',
    versions: ['v1'],
    kinds: [{ ...openShift, kind: 'ControlPlaneMachineSet', plural: 'controlplanemachinesets' }],
  },
  {
    group: 'cluster.x-k8s.io',
    versions: ['v1beta2', 'v1beta1'],
    kinds: [
      { ...capi, kind: 'Machine', plural: 'machines' },
      { ...capi, kind: 'MachineSet', plural: 'machinesets' },
      { ...capi, kind: 'MachineDeployment', plural: 'machinedeployments' },
      { ...capi, kind: 'Cluster', plural: 'clusters' },
    ],
  },
  {
    group: 'controlplane.cluster.x-k8s.io',
    versions: ['v1beta2', 'v1beta1'],
    kinds: [{ ...capi, kind: 'KubeadmControlPlane', plural: 'kubeadmcontrolplanes' }],
  },
];

/** Returns the resources of one version; none if it is not served. Throws if discovery fails. */
async function resourcesOf(
  api: Api,
  version: string,
  signal: AbortSignal,
): Promise<ReadonlySet<string>> {
  const response = await api.call({ method: 'GET', path: `/apis/${version}` }, signal);
  if (response.status === 404) return new Set();
  if (response.status !== 200)
    throw new Error(`failed to discover what ${version} serves: ${statusMessage(response)}`);
  const { resources = [] } = response.body as {
    readonly resources?: readonly { readonly name: string }[];
  };
  return new Set(resources.map(({ name }) => name));
}

/**
 * Returns the machine kinds that are served here, each in the newest supported version. Throws if
 * the API server cannot be reached.
 */
export async function machineKindsHere(
  api: Api,
  signal: AbortSignal,
): Promise<readonly MachineKind[]> {
  const found: MachineKind[] = [];
  for (const { group, versions, kinds } of groups) {
    for (const version of versions) {
      const apiVersion = `${group}/${version}`;
      const resources = await resourcesOf(api, apiVersion, signal);
      const served = kinds
        .filter(({ plural }) => resources.has(plural))
        .map(kind => ({ ...kind, apiVersion }));
      found.push(...served);
      if (served.length > 0) break;
    }
  }
  return found;
}
