import type { JsonObject } from '@drydock/apimachinery';
import { apiVersion, group, home } from './words.ts';

/** CRDs of KubeVirt for the simulation: fields are free, subresources are the real ones. */

function column(name: string, type: string, jsonPath: string): JsonObject {
  return { name, type, jsonPath };
}

const anything = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };

type Kind = {
  readonly kind: string;
  readonly shortNames: readonly string[];
  readonly hasStatus: boolean;
  readonly columns: readonly JsonObject[];
};

const age = column('Age', 'date', '.metadata.creationTimestamp');
const phase = column('Phase', 'string', '.status.phase');
const ready = column('Ready', 'string', ".status.conditions[?(@.type=='Ready')].status");

const kinds: readonly Kind[] = [
  { kind: 'KubeVirt', shortNames: ['kv', 'kvs'], hasStatus: true, columns: [age, phase] },
  {
    kind: 'VirtualMachine',
    shortNames: ['vm', 'vms'],
    hasStatus: true,
    columns: [age, column('Status', 'string', '.status.printableStatus'), ready],
  },
  {
    kind: 'VirtualMachineInstance',
    shortNames: ['vmi', 'vmis'],
    // As in the real one, the status is written with the object.
    hasStatus: false,
    columns: [age, phase, column('NodeName', 'string', '.status.nodeName'), ready],
  },
  {
    kind: 'VirtualMachineInstanceMigration',
    shortNames: ['vmim', 'vmims'],
    hasStatus: true,
    columns: [phase, column('VMI', 'string', '.spec.vmiName')],
  },
];

function definition({ kind, shortNames, hasStatus, columns }: Kind): JsonObject {
  const plural = `${kind.toLowerCase()}s`;
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { kind, listKind: `${kind}List`, plural, singular: kind.toLowerCase(), shortNames },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: {
            openAPIV3Schema: { type: 'object', properties: { spec: anything, status: anything } },
          },
          ...(hasStatus && { subresources: { status: {} } }),
          additionalPrinterColumns: columns,
        },
      ],
    },
  };
}

/** Paths of the simulated virt-api's webhooks. */
export const paths = {
  eviction: '/pod-eviction-validate',
  migration: '/migration-validate-create',
} as const;

function webhook(name: string, path: string, rule: JsonObject, more: JsonObject): JsonObject {
  return {
    name,
    clientConfig: { service: { namespace: home, name: 'virt-api', path, port: 443 } },
    rules: [rule],
    failurePolicy: 'Fail',
    timeoutSeconds: 10,
    admissionReviewVersions: ['v1'],
    ...more,
  };
}

const webhooks: JsonObject = {
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingWebhookConfiguration',
  metadata: { name: 'virt-api-validator' },
  webhooks: [
    webhook(
      'virt-launcher-eviction-interceptor.kubevirt.io',
      paths.eviction,
      { operations: ['*'], apiGroups: [''], apiVersions: ['v1'], resources: ['pods/eviction'] },
      {
        sideEffects: 'NoneOnDryRun',
        matchConditions: [
          { name: 'only-vms', expression: 'object.metadata.name.startsWith("virt-launcher")' },
        ],
      },
    ),
    webhook(
      'migration-create-validator.kubevirt.io',
      paths.migration,
      {
        operations: ['CREATE'],
        apiGroups: [group],
        apiVersions: ['v1'],
        resources: ['virtualmachineinstancemigrations'],
      },
      { sideEffects: 'None' },
    ),
  ],
};

/** CRDs to create before the controllers start. */
export const kubeVirtDefinitions: readonly JsonObject[] = kinds.map(definition);

/**
 * Objects that virt-operator leaves in a cluster beside the CRDs: to be created after them, as an
 * administrator would.
 */
export function kubeVirtObjects(
  configuration: JsonObject = { evictionStrategy: 'LiveMigrate' },
): readonly JsonObject[] {
  return [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: home } },
    {
      apiVersion,
      kind: 'KubeVirt',
      metadata: { name: 'kubevirt', namespace: home },
      spec: { configuration },
      status: { phase: 'Deployed' },
    },
    webhooks,
  ];
}
