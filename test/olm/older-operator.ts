import type { Manifest } from '@drydock/cli/install';
import { stringify } from 'yaml';

/**
 * What OLM has to know of medik8s' operator, as its own bundle has it: the kind that it owns, the
 * webhook that fails closed, for all namespaces.
 */

export const olderName = 'node-maintenance-operator';
export const olderCsv = `${olderName}.v5.4.0`;
const deployment = `${olderName}-controller-manager`;
const serviceAccountName = deployment;
const labels = { 'control-plane': 'controller-manager', [olderName]: '' };

/** The kind, without the fields that only Drydock has. */
export const olderKind: Manifest = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'nodemaintenances.nodemaintenance.medik8s.io' },
  spec: {
    group: 'nodemaintenance.medik8s.io',
    scope: 'Cluster',
    names: {
      kind: 'NodeMaintenance',
      listKind: 'NodeMaintenanceList',
      plural: 'nodemaintenances',
      singular: 'nodemaintenance',
    },
    versions: [
      {
        name: 'v1beta1',
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: {
                type: 'object',
                required: ['nodeName'],
                properties: { nodeName: { type: 'string' }, reason: { type: 'string' } },
              },
              status: {
                type: 'object',
                properties: { phase: { type: 'string' }, drainProgress: { type: 'integer' } },
              },
            },
          },
        },
      },
    ],
  },
};

const csv: Manifest = {
  apiVersion: 'operators.coreos.com/v1alpha1',
  kind: 'ClusterServiceVersion',
  metadata: { name: olderCsv },
  spec: {
    displayName: 'Node Maintenance Operator',
    version: '5.4.0',
    installModes: ['OwnNamespace', 'SingleNamespace', 'MultiNamespace', 'AllNamespaces'].map(
      type => ({
        type,
        supported: type === 'AllNamespaces',
      }),
    ),
    customresourcedefinitions: {
      owned: [{ name: olderKind.metadata.name, version: 'v1beta1', kind: 'NodeMaintenance' }],
    },
    install: {
      strategy: 'deployment',
      spec: {
        clusterPermissions: [
          {
            serviceAccountName,
            rules: [{ apiGroups: [''], resources: ['nodes'], verbs: ['get', 'list', 'watch'] }],
          },
        ],
        deployments: [
          {
            name: deployment,
            spec: {
              replicas: 1,
              selector: { matchLabels: labels },
              template: {
                metadata: { labels },
                spec: {
                  serviceAccountName,
                  containers: [{ name: 'manager', image: 'example.test/older:1' }],
                },
              },
            },
          },
        ],
      },
    },
    webhookdefinitions: [
      {
        type: 'ValidatingAdmissionWebhook',
        generateName: 'vnodemaintenance.kb.io',
        webhookPath: '/validate-nodemaintenance-medik8s-io-v1beta1-nodemaintenance',
        deploymentName: deployment,
        containerPort: 443,
        targetPort: 9443,
        failurePolicy: 'Fail',
        sideEffects: 'None',
        timeoutSeconds: 15,
        admissionReviewVersions: ['v1'],
        rules: [
          {
            apiGroups: ['nodemaintenance.medik8s.io'],
            apiVersions: ['v1beta1'],
            operations: ['CREATE', 'UPDATE'],
            resources: ['nodemaintenances'],
          },
        ],
      },
    ],
  },
};

function embedded(object: Manifest): object {
  return {
    type: 'olm.bundle.object',
    value: { data: Buffer.from(JSON.stringify(object)).toString('base64') },
  };
}

const name = olderName;

/** A catalog with it. */
export const olderCatalog = [
  { schema: 'olm.package', name, defaultChannel: 'stable' },
  { schema: 'olm.channel', package: name, name: 'stable', entries: [{ name: olderCsv }] },
  {
    schema: 'olm.bundle',
    package: name,
    name: olderCsv,
    properties: [
      {
        type: 'olm.gvk',
        value: { group: 'nodemaintenance.medik8s.io', version: 'v1beta1', kind: 'NodeMaintenance' },
      },
      { type: 'olm.package', value: { packageName: name, version: '5.4.0' } },
      embedded(csv),
      embedded(olderKind),
    ],
  },
]
  .map(document => `---\n${stringify(document)}`)
  .join('');
