/** What the machine API needs to find in a cluster, and what its operator would have put there. */

export const namespace = 'openshift-machine-api';
const group = 'machine.openshift.io';
export const apiVersion = `${group}/v1beta1`;
const cluster = 'c1-abcde';

export const labels = {
  cluster: `${group}/cluster-api-cluster`,
  role: `${group}/cluster-api-machine-role`,
  type: `${group}/cluster-api-machine-type`,
  set: `${group}/cluster-api-machineset`,
} as const;

/** The webhooks read both once, when they start. */
export const surroundings = [
  { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
  {
    apiVersion: 'config.openshift.io/v1',
    kind: 'Infrastructure',
    metadata: { name: 'cluster' },
    spec: { platformSpec: { type: 'AWS', aws: {} } },
  },
  {
    apiVersion: 'config.openshift.io/v1',
    kind: 'DNS',
    metadata: { name: 'cluster' },
    spec: { baseDomain: 'test.example.com' },
  },
] as const;

export const infrastructureStatus = {
  infrastructureName: cluster,
  platform: 'AWS',
  platformStatus: { type: 'AWS', aws: { region: 'us-east-1' } },
  controlPlaneTopology: 'HighlyAvailable',
  infrastructureTopology: 'HighlyAvailable',
  apiServerURL: 'https://127.0.0.1',
  apiServerInternalURI: 'https://127.0.0.1',
  etcdDiscoveryDomain: '',
} as const;

/** The webhooks of its manifests, with an address in the place of a Service. */
export function webhooks(port: number, caBundle: string): readonly object[] {
  const webhook = (
    verb: 'mutate' | 'validate',
    kind: 'machine' | 'machineset',
    operations: readonly string[],
  ): object => ({
    name: `${verb === 'mutate' ? 'default' : 'validation'}.${kind}.${group}`,
    admissionReviewVersions: ['v1'],
    sideEffects: 'None',
    failurePolicy: 'Fail',
    clientConfig: {
      url: `https://127.0.0.1:${port}/${verb}-machine-openshift-io-v1beta1-${kind}`,
      caBundle,
    },
    rules: [{ apiGroups: [group], apiVersions: ['v1beta1'], resources: [`${kind}s`], operations }],
  });
  const configuration = (
    kind: string,
    verb: 'mutate' | 'validate',
    operations: readonly string[],
  ): object => ({
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind,
    metadata: { name: 'machine-api' },
    webhooks: [webhook(verb, 'machine', operations), webhook(verb, 'machineset', operations)],
  });
  return [
    configuration('MutatingWebhookConfiguration', 'mutate', ['CREATE']),
    configuration('ValidatingWebhookConfiguration', 'validate', ['CREATE', 'UPDATE']),
  ];
}

const providerSpec = {
  value: {
    apiVersion,
    kind: 'AWSMachineProviderConfig',
    ami: { id: 'ami-12c6146b' },
    instanceType: 'm5.large',
    placement: { availabilityZone: 'us-east-1a', region: 'us-east-1' },
    credentialsSecret: { name: 'aws-cloud-credentials' },
    userDataSecret: { name: 'worker-user-data' },
    subnet: { id: 'subnet-1' },
    iamInstanceProfile: { id: 'p' },
  },
} as const;

function roleLabels(role: string): Readonly<Record<string, string>> {
  return {
    [labels.role]: role,
    [labels.type]: role,
    [labels.cluster]: cluster,
  };
}

/** A Machine of nobody, as masters are. */
export function machine(name: string, role: string): object {
  return {
    apiVersion,
    kind: 'Machine',
    metadata: { name, namespace, labels: roleLabels(role) },
    spec: { providerSpec },
  };
}

export function machineSet(name: string, replicas: number): object {
  const matchLabels = { [labels.set]: name, [labels.cluster]: cluster };
  return {
    apiVersion,
    kind: 'MachineSet',
    metadata: { name, namespace },
    spec: {
      replicas,
      selector: { matchLabels },
      template: {
        metadata: { labels: { ...roleLabels('worker'), ...matchLabels } },
        spec: { providerSpec },
      },
    },
  };
}
