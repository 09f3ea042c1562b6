import { count, flag, group, map, type Settings, text, texts } from './values.ts';

type Resources = { readonly requests?: object; readonly limits?: object };

/** By their names. */
type Ports = Readonly<Record<string, number>>;

function port(about: string, value: number | undefined): ReturnType<typeof count> {
  return {
    about,
    value,
    schema: { type: 'integer', minimum: 1024, maximum: 65_535 },
  };
}

/**
 * Everything that can be set in the chart. The defaults install what `drydock install` installs.
 */
export function settingsOf({
  image,
  replicas,
  ports,
  resources,
  nodeSelector,
}: {
  readonly image: string;
  readonly replicas: number;
  readonly ports: Ports;
  readonly resources: Resources;
  readonly nodeSelector: object;
}): Settings {
  return {
    image: group('Image of the operator and of the agent, as the nodes pull it.', {
      repository: text('With the registry.', image.split(':')[0] ?? ''),
      tag: text('The version of the chart when left empty.', ''),
      digest: text('Goes before the tag: sha256:…', '', { pattern: '^(sha256:[0-9a-f]{64})?$' }),
      pullSecrets: {
        about:
          'Names of Secrets to pull it with. Pods of plans are pulled with Secrets of the same names, which have to be in drydock-plans.',
        value: [],
        schema: { type: 'array', items: { type: 'object', required: ['name'] } },
      },
    }),
    replicas: count('Replicas of the operator: one leads, the others stand by.', replicas, 1),
    extraArgs: texts(
      'Further flags of the operator: drydock operator --help. Those that the chart sets itself are refused.',
    ),
    extraEnv: {
      about: 'Further environment variables of the operator, for example HTTPS_PROXY and NO_PROXY.',
      value: [],
      schema: { type: 'array', items: { type: 'object', required: ['name'] } },
    },
    ports: group(
      'Ports on which the pods of the operator listen: for API servers that reach pods on some ports only.',
      {
        webhook: port('The webhook.', ports['webhook']),
        metrics: port('Metrics.', ports['metrics']),
        health: port('Health.', ports['health']),
      },
    ),
    hostNetwork: flag(
      'The operator is on the network of its node: for API servers that do not reach the network of pods. Its namespace has to allow that (pod-security.kubernetes.io/enforce=privileged), and its NetworkPolicy has no effect.',
      false,
    ),
    resources: map('Resources of the operator.', resources),
    nodeSelector: map(
      'Nodes that the operator may run on. The image is one for Linux.',
      nodeSelector,
    ),
    affinity: map(
      'Takes the place of the affinity of the operator, which prefers infra nodes and the control plane and keeps replicas apart.',
    ),
    tolerations: {
      about:
        'Further tolerations of the operator; it has those for nodes of the control plane and infra nodes.',
      value: [],
      schema: { type: 'array', items: { type: 'object' } },
    },
    controlPlane: group('Where the operator runs.', {
      only: flag(
        'Only on nodes of the control plane or infra nodes; otherwise it prefers them.',
        false,
      ),
    }),
    crds: group('The kinds. They are upgraded with the chart, and stay when it is uninstalled.', {
      enabled: flag('Install them.', true),
      groups: {
        about: 'Older kinds to serve as well.',
        value: [],
        schema: { type: 'array', items: { enum: ['nodemaintenance.kubevirt.io', 'kubevirt.io'] } },
      },
    }),
    sharedNamespaces: group(
      'medik8s-leases and node-maintenance, in which operators agree on who works on a node. They stay when it is uninstalled.',
      {
        enabled: flag('Install them; otherwise they have to be there.', true),
      },
    ),
    webhook: group('The validating webhook.', {
      enabled: flag('Serve it.', true),
      certManager: flag(
        'Its certificate comes from cert-manager; otherwise the operator makes its own.',
        false,
      ),
    }),
    admissionPolicies: group('ValidatingAdmissionPolicies that check rights of their own.', {
      enabled: flag('Install them.', true),
    }),
    networkPolicy: group('NetworkPolicy of the operator.', { enabled: flag('Install it.', true) }),
    podDeletion: group(
      'The right to delete pods past their budgets, where a policy specifies it.',
      { enabled: flag('Grant it.', true) },
    ),
    machineApi: group(
      'Rights to machines of OpenShift and Cluster API, where the cluster serves them.',
      {
        enabled: flag('Grant them.', false),
      },
    ),
    virtualMachines: group("Rights to KubeVirt's VMs.", { enabled: flag('Grant them.', false) }),
    plans: group('Rights to carry out MaintenancePlans, and the namespace of their pods.', {
      enabled: flag('Grant them.', false),
    }),
    agent: group('A DaemonSet that receives what the cloud announces about each node.', {
      enabled: flag('Install it.', false),
    }),
    monitoring: group('ServiceMonitor, alerts and dashboard; needs the Prometheus operator.', {
      enabled: flag('Install them.', false),
    }),
    apiPriority: group("A FlowSchema: the operator's calls go before those of ordinary pods.", {
      enabled: flag('Install it.', false),
    }),
  };
}
