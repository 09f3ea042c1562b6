import type { JsonObject } from '@drydock/apimachinery';

/** CRDs of machines for the simulation: fields are free, subresources are the real ones. */

function column(name: string, type: string, jsonPath: string): JsonObject {
  return { name, type, jsonPath };
}

const anything = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };

const age = column('Age', 'date', '.metadata.creationTimestamp');

const ofSet = {
  subresources: {
    status: {},
    scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' },
  },
  additionalPrinterColumns: [
    column('Desired', 'integer', '.spec.replicas'),
    column('Current', 'integer', '.status.replicas'),
    age,
  ],
};

const ofMachine = {
  subresources: { status: {} },
  additionalPrinterColumns: [
    column('Phase', 'string', '.status.phase'),
    column('Node', 'string', '.status.nodeRef.name'),
    column('ProviderID', 'string', '.spec.providerID'),
    age,
  ],
};

const columnsOf = {
  Machine: ofMachine,
  MachineSet: ofSet,
  Cluster: { subresources: { status: {} }, additionalPrinterColumns: [age] },
} as const;

function definition(group: string, version: string, kind: keyof typeof columnsOf): JsonObject {
  const plural = `${kind.toLowerCase()}s`;
  const schema = {
    openAPIV3Schema: { type: 'object', properties: { spec: anything, status: anything } },
  };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { kind, listKind: `${kind}List`, plural, singular: kind.toLowerCase() },
      versions: [{ name: version, served: true, storage: true, schema, ...columnsOf[kind] }],
    },
  };
}

/** The simulated machine API. */
export type Flavour = 'openshift' | 'capi';

export const machineGroups: Readonly<
  Record<Flavour, { readonly group: string; readonly version: string }>
> = {
  openshift: { group: 'machine.openshift.io', version: 'v1beta1' },
  capi: { group: 'cluster.x-k8s.io', version: 'v1beta2' },
};

/** Returns the CRDs to create before the controllers start. */
export function machineDefinitions(flavour: Flavour): readonly JsonObject[] {
  const { group, version } = machineGroups[flavour];
  const kinds = [
    'Machine',
    'MachineSet',
    ...(flavour === 'capi' ? (['Cluster'] as const) : []),
  ] as const;
  return kinds.map(kind => definition(group, version, kind));
}
