/**
 * The objects around Machines of Cluster API: a provider of infrastructure of our own
 * (infrastructure.ts), and a cluster that is the management cluster itself.
 */

export const namespace = 'default';
export const cluster = 'c1';
const group = 'cluster.x-k8s.io';
export const apiVersion = `${group}/v1beta2`;
export const infrastructure = {
  group: `infrastructure.${group}`,
  apiVersion: `infrastructure.${group}/v1beta2`,
} as const;

export const labels = {
  cluster: `${group}/cluster-name`,
  controlPlane: `${group}/control-plane`,
  deployment: `${group}/deployment-name`,
} as const;

const kinds = ['TestCluster', 'TestMachine', 'TestMachineTemplate'] as const;

/**
 * The label says which version of the contract a provider keeps; without it the core does not find
 * its kinds.
 */
export const definitions: readonly object[] = kinds.map(kind => {
  const singular = kind.toLowerCase();
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${singular}s.${infrastructure.group}`, labels: { [apiVersion]: 'v1beta2' } },
    spec: {
      group: infrastructure.group,
      scope: 'Namespaced',
      names: {
        kind,
        singular,
        plural: `${singular}s`,
        listKind: `${kind}List`,
        categories: ['cluster-api'],
      },
      versions: [
        {
          name: 'v1beta2',
          served: true,
          storage: true,
          subresources: { status: {} },
          schema: {
            openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
          },
        },
      ],
    },
  };
});

function reference(kind: (typeof kinds)[number], name: string): object {
  return { apiGroup: infrastructure.group, kind, name };
}
function ours(kind: (typeof kinds)[number], name: string, rest: object = {}): object {
  return {
    apiVersion: infrastructure.apiVersion,
    kind,
    metadata: { name, namespace },
    ...rest,
  };
}

/** What a Machine is made from. Nothing is bootstrapped: the secret that is named is never read. */
function machineSpec(kind: 'TestMachine' | 'TestMachineTemplate', name: string): object {
  return {
    clusterName: cluster,
    version: 'v1.37.2',
    bootstrap: { dataSecretName: 'none' },
    infrastructureRef: reference(kind, name),
  };
}

/** The cluster, whose kubeconfig leads back to where it is managed from. */
export function theCluster(kubeconfig: string): readonly object[] {
  return [
    {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: `${cluster}-kubeconfig`, namespace, labels: { [labels.cluster]: cluster } },
      type: `${group}/secret`,
      stringData: { value: kubeconfig },
    },
    ours('TestCluster', cluster),
    {
      apiVersion,
      kind: 'Cluster',
      metadata: { name: cluster, namespace },
      spec: { infrastructureRef: reference('TestCluster', cluster) },
    },
  ];
}

/** A Machine of nobody, with the role of the control plane. */
export function controlPlaneMachine(name: string): readonly object[] {
  const machineLabels = { [labels.controlPlane]: '', [labels.cluster]: cluster };
  return [
    ours('TestMachine', name, {
      metadata: { name, namespace, labels: { [labels.controlPlane]: '' } },
    }),
    {
      apiVersion,
      kind: 'Machine',
      metadata: { name, namespace, labels: machineLabels },
      spec: machineSpec('TestMachine', name),
    },
  ];
}

export function machineDeployment(name: string, replicas: number): readonly object[] {
  return [
    ours('TestMachineTemplate', name, { spec: { template: { spec: {} } } }),
    {
      apiVersion,
      kind: 'MachineDeployment',
      metadata: { name, namespace },
      spec: {
        clusterName: cluster,
        replicas,
        selector: {},
        template: { spec: machineSpec('TestMachineTemplate', name) },
      },
    },
  ];
}
