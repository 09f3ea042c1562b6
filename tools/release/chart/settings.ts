import { count, flag, group, map, type Settings, text, texts } from './values.ts';

type Resources = { readonly requests?: object; readonly limits?: object };

/** Everything that can be set in the chart. The defaults install what `drydock install` installs. */
export const settingsOf = ({
  image,
  replicas,
  resources,
}: {
  readonly image: string;
  readonly replicas: number;
  readonly resources: Resources;
}): Settings => ({
  image: group('Image of the operator and of the agent, as the nodes pull it.', {
    repository: text('With the registry.', image.split(':')[0] ?? ''),
    tag: text('The version of the chart when left empty.', ''),
    digest: text('Goes before the tag: sha256:…', '', { pattern: '^(sha256:[0-9a-f]{64})?$' }),
    pullSecrets: {
      about: 'Names of Secrets to pull it with.',
      value: [],
      schema: { type: 'array', items: { type: 'object', required: ['name'] } },
    },
  }),
  replicas: count('Replicas of the operator: one leads, the others stand by.', replicas, 1),
  extraArgs: texts('Further flags of the operator: drydock operator --help.'),
  extraEnv: {
    about: 'Further environment variables of the operator, for example HTTPS_PROXY and NO_PROXY.',
    value: [],
    schema: { type: 'array', items: { type: 'object', required: ['name'] } },
  },
  resources: map('Resources of the operator.', resources),
  nodeSelector: map('Nodes that the operator may run on.'),
  affinity: map(
    'Takes the place of the affinity of the operator, which prefers infra nodes and the control plane and keeps replicas apart.',
  ),
  tolerations: {
    about: 'Further tolerations of the operator; it has those for nodes of the control plane and infra nodes.',
    value: [],
    schema: { type: 'array', items: { type: 'object' } },
  },
  controlPlane: group('Where the operator runs.', {
    only: flag('Only on nodes of the control plane or infra nodes; otherwise it prefers them.', false),
  }),
  crds: group('The kinds. They are upgraded with the chart, and stay when it is uninstalled.', {
    enabled: flag('Install them.', true),
    groups: {
      about: 'Older kinds to serve as well.',
      value: [],
      schema: { type: 'array', items: { enum: ['nodemaintenance.kubevirt.io', 'kubevirt.io'] } },
    },
  }),
  webhook: group('The validating webhook.', {
    enabled: flag('Serve it.', true),
    certManager: flag('Its certificate comes from cert-manager; otherwise the operator makes its own.', false),
  }),
  admissionPolicies: group('ValidatingAdmissionPolicies that check rights of their own.', { enabled: flag('Install them.', true) }),
  networkPolicy: group('NetworkPolicy of the operator.', { enabled: flag('Install it.', true) }),
  podDeletion: group('The right to delete pods past their budgets, where a policy specifies it.', { enabled: flag('Grant it.', true) }),
  machineApi: group('Rights to machines of OpenShift and Cluster API, where the cluster serves them.', {
    enabled: flag('Grant them.', false),
  }),
  virtualMachines: group("Rights to KubeVirt's VMs.", { enabled: flag('Grant them.', false) }),
  plans: group('Rights to carry out MaintenancePlans, and the namespace of their pods.', { enabled: flag('Grant them.', false) }),
  agent: group('A DaemonSet that receives what the cloud announces about each node.', { enabled: flag('Install it.', false) }),
  monitoring: group('ServiceMonitor, alerts and dashboard; needs the Prometheus operator.', { enabled: flag('Install them.', false) }),
  apiPriority: group("A FlowSchema: the operator's calls go before those of ordinary pods.", { enabled: flag('Install it.', false) }),
});
