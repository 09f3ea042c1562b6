import { readFileSync } from 'node:fs';
import { type WebhookEntry, webhooks } from '@drydock/apis/admission-rules';
import type { Binding, Manifest, OlmVersion } from '@drydock/cli/install';
import { commit } from '../commit.ts';
import { manifest, releases, root } from '../paths.ts';
import { ownedKind } from './descriptors.ts';
import { isOperators } from './places.ts';

/** The ClusterServiceVersion: of the same objects as `drydock install` prints. */

/** Also the name of the bundle in a catalog. */
export const csvName = `${manifest.name}.v${manifest.version}`;

type Role = Manifest & { readonly rules: readonly unknown[] };
type Deployment = Manifest & {
  readonly spec: {
    readonly template: {
      readonly spec: { readonly containers: readonly { readonly image: string }[] };
    };
  };
};

function ofKind<T extends Manifest>(all: readonly Manifest[], kind: string): readonly T[] {
  return all.filter((one): one is T => one.kind === kind);
}

/**
 * Rules of the roles that bindings of this kind give the operator; a RoleBinding counts in the
 * operator's namespace alone.
 */
function rulesBoundBy(
  all: readonly Manifest[],
  kind: 'ClusterRoleBinding' | 'RoleBinding',
  namespace: string,
): readonly unknown[] {
  const bindings = ofKind<Binding>(all, kind).filter(
    binding =>
      isOperators(binding) &&
      (kind === 'ClusterRoleBinding' || binding.metadata.namespace === namespace),
  );
  return bindings.flatMap(({ roleRef }) => {
    const role = ofKind<Role>(all, roleRef.kind).find(
      ({ metadata }) =>
        metadata.name === roleRef.name &&
        (roleRef.kind === 'ClusterRole' || metadata.namespace === namespace),
    );
    if (role === undefined)
      throw new Error(`a ${kind} names the ${roleRef.kind} ${roleRef.name}, which is not there`);
    return role.rules;
  });
}

/** Webhooks that must not stand in the way of the operator's own writes. */
const conditions = new Set(['not-by-the-operator', 'plan-is-new-or-its-expressions-changed']);

/**
 * OLM knows no match conditions. What is left out for that is asked elsewhere too: rights by the
 * admission policies, expressions of plans by their condition Valid.
 */
function isForOlm({ matchConditions }: WebhookEntry): boolean {
  return !matchConditions.some(({ name }) => conditions.has(name));
}

function webhookDefinitions(): readonly object[] {
  return webhooks()
    .filter(isForOlm)
    .map(
      ({
        name,
        path,
        rules,
        failurePolicy,
        matchPolicy,
        sideEffects,
        timeoutSeconds,
        admissionReviewVersions,
      }) => ({
        type: 'ValidatingAdmissionWebhook',
        generateName: name,
        webhookPath: path,
        deploymentName: manifest.name,
        containerPort: 443,
        targetPort: 9443,
        rules,
        failurePolicy,
        matchPolicy,
        sideEffects,
        timeoutSeconds,
        admissionReviewVersions,
      }),
    );
}

const drydock = 'drydock.dev/v1alpha1';

const examples = [
  {
    apiVersion: drydock,
    kind: 'Maintenance',
    metadata: { name: 'worker-1-disk' },
    spec: { nodeName: 'worker-1', reason: 'replace the disk' },
  },
  {
    apiVersion: drydock,
    kind: 'MaintenanceWindow',
    metadata: { name: 'nights' },
    spec: {
      timeZone: 'Europe/Berlin',
      openings: [{ weekdays: ['Mon', 'Tue', 'Wed', 'Thu'], start: '22:00', duration: '6h' }],
    },
  },
  {
    apiVersion: drydock,
    kind: 'MaintenancePlan',
    metadata: { name: 'drain-pool' },
    spec: {
      nodeSelector: { matchLabels: { pool: 'general' } },
      concurrency: { maxInFlight: 1 },
      work: { none: {} },
    },
  },
  {
    apiVersion: drydock,
    kind: 'MaintenanceApproval',
    metadata: { name: 'drain-pool' },
    spec: { planName: 'drain-pool', runID: '1', revision: 'as-in-status-run' },
  },
  {
    apiVersion: drydock,
    kind: 'MachineEventSource',
    metadata: { name: 'cloud' },
    spec: { aws: {} },
  },
  {
    apiVersion: 'nodemaintenance.medik8s.io/v1beta1',
    kind: 'NodeMaintenance',
    metadata: { name: 'worker-2-kernel' },
    spec: { nodeName: 'worker-2', reason: 'new kernel' },
  },
];

/** Made by the operator and its agent, not by people. */
const internalKinds = [
  'nodenotices.drydock.dev',
  'maintenanceplanrecords.drydock.dev',
  'machinemaintenances.machinemaintenance.managed.openshift.io',
];

/** What the console of OpenShift asks (features.operators.openshift.io): only what is so. */
const features = {
  disconnected: 'false',
  'fips-compliant': 'false',
  'proxy-aware': 'true',
  'tls-profiles': 'false',
  'token-auth-aws': 'false',
  'token-auth-azure': 'false',
  'token-auth-gcp': 'false',
  cnf: 'false',
  cni: 'false',
  csi: 'false',
};

function annotations(image: string, namespace: string): Readonly<Record<string, string>> {
  return {
    'alm-examples': JSON.stringify(examples, undefined, 2),
    capabilities: 'Full Lifecycle',
    categories: 'OpenShift Optional',
    containerImage: image,
    createdAt: commit.time().toString(),
    description: manifest.description,
    'operatorframework.io/suggested-namespace': namespace,
    'operators.operatorframework.io/internal-objects': JSON.stringify(internalKinds),
    support: 'Drydock',
    ...Object.fromEntries(
      Object.entries(features).map(([name, value]) => [
        `features.operators.openshift.io/${name}`,
        value,
      ]),
    ),
  };
}

/** Name of the file with the objects that are applied before the bundle is installed. */
export function prerequisitesFile(generation: OlmVersion): string {
  return `${manifest.name}-${generation}-prerequisites-${manifest.version}.yaml`;
}

function about(generation: OlmVersion): string {
  return `Drydock takes nodes out of service safely, keeps them out for as long as the work lasts, and brings them back. Create a Maintenance (or a NodeMaintenance of medik8s) that names a node: it is
cordoned, tainted and drained as fast as its disruption budgets allow. Delete it, and the node is as it was.

**Before you install it** apply the objects that a bundle cannot contain: namespaces with the bindings in them, admission policies${generation === 'olm-1' ? ', the webhook' : ''}, the NetworkPolicy and the quota for critical pods.

    kubectl apply --server-side -f ${releases}/v${manifest.version}/${prerequisitesFile(generation)}
`;
}

function icon(): object {
  return {
    base64data: readFileSync(`${root}packages/dashboard/assets/icon.svg`).toString('base64'),
    mediatype: 'image/svg+xml',
  };
}

/** Of the image. */
const platforms = {
  'operatorframework.io/arch.amd64': 'supported',
  'operatorframework.io/arch.arm64': 'supported',
  'operatorframework.io/os.linux': 'supported',
};

/**
 * In a group of all namespaces OLM would make the operator's permissions in its own namespace count
 * in all of them: leases and certificates of everybody. Nodes have no namespace anyway. OLM 1
 * installs nothing else than for all namespaces: there these permissions are a Role in the bundle.
 */
const modeOf: Readonly<Record<OlmVersion, string>> = {
  olm: 'OwnNamespace',
  'olm-1': 'AllNamespaces',
};

const modes = ['OwnNamespace', 'SingleNamespace', 'MultiNamespace', 'AllNamespaces'];

/** The CSV of these objects, which are in the namespace that is suggested for it. */
export function clusterServiceVersion(
  all: readonly Manifest[],
  namespace: string,
  generation: OlmVersion,
): Manifest {
  const [deployment] = ofKind<Deployment>(all, 'Deployment');
  const image = deployment?.spec.template.spec.containers[0]?.image;
  if (deployment === undefined || image === undefined)
    throw new Error('the manifests have no Deployment with an image');
  const serviceAccountName = manifest.name;
  const permissions = (kind: 'ClusterRoleBinding' | 'RoleBinding'): readonly object[] => [
    { serviceAccountName, rules: rulesBoundBy(all, kind, namespace) },
  ];
  return {
    apiVersion: 'operators.coreos.com/v1alpha1',
    kind: 'ClusterServiceVersion',
    metadata: {
      name: csvName,
      labels: platforms,
      annotations: annotations(image, namespace),
    } as Manifest['metadata'],
    spec: {
      displayName: 'Drydock',
      description: about(generation),
      version: manifest.version,
      maturity: 'beta',
      minKubeVersion: '1.30.0',
      keywords: ['node', 'maintenance', 'drain', 'cordon', 'medik8s', 'kubevirt'],
      provider: { name: 'Drydock', url: 'https://drydock.dev' },
      links: [{ name: 'Drydock', url: 'https://drydock.dev' }],
      maintainers: [{ name: 'Drydock', email: 'maintainers@drydock.dev' }],
      icon: [icon()],
      relatedImages: [{ name: manifest.name, image }],
      installModes: modes.map(type => ({ type, supported: type === modeOf[generation] })),
      customresourcedefinitions: { owned: ofKind(all, 'CustomResourceDefinition').map(ownedKind) },
      install: {
        strategy: 'deployment',
        spec: {
          clusterPermissions: permissions('ClusterRoleBinding'),
          ...(generation === 'olm' && { permissions: permissions('RoleBinding') }),
          deployments: [
            {
              name: manifest.name,
              label: (deployment.metadata as { readonly labels?: object }).labels,
              spec: deployment.spec,
            },
          ],
        },
      },
      ...(generation === 'olm' && { webhookdefinitions: webhookDefinitions() }),
    },
  };
}
