import type { JsonObject } from '../../core/json.ts';
import { kubernetesVersion } from '../../embedded/kubernetes-version.ts';

/** A believable cluster: three zones, a control plane, and a shop with the workloads that make draining interesting. */

export const zones = ['north', 'middle', 'south'];

const ready = {
  type: 'Ready',
  status: 'True',
  reason: 'KubeletReady',
  message: 'kubelet is posting ready status',
  lastHeartbeatTime: null,
  lastTransitionTime: null,
};

type Extra = {
  readonly labels: JsonObject;
  readonly annotations?: JsonObject;
  readonly spec?: JsonObject;
  readonly bootId?: string;
  readonly kernel?: string;
};

const node = (
  name: string,
  zone: string,
  { labels, annotations = {}, spec, bootId: bootID = '', kernel: kernelVersion = '' }: Extra,
): JsonObject => ({
  kind: 'Node',
  metadata: {
    name,
    labels: { 'kubernetes.io/hostname': name, 'kubernetes.io/os': 'linux', 'topology.kubernetes.io/zone': zone, ...labels },
    annotations,
  },
  ...(spec && { spec }),
  status: {
    capacity: { cpu: '16', memory: '64Gi', pods: '110' },
    allocatable: { cpu: '16', memory: '64Gi', pods: '110' },
    conditions: [ready],
    nodeInfo: { kubeletVersion: kubernetesVersion, kernelVersion, operatingSystem: 'linux', architecture: 'amd64', bootID },
  },
});

const controlPlane = 'node-role.kubernetes.io/control-plane';

/** On every worker, also on those that come later. */
export const workerLabels: JsonObject = { 'node-role.kubernetes.io/worker': '', 'kubernetes.io/os': 'linux' };

/** The control plane is nobody's machine. */
const nodes: readonly JsonObject[] = zones.map((zone, index) =>
  node(`control-${index + 1}`, zone, {
    labels: { [controlPlane]: '' },
    spec: { taints: [{ key: controlPlane, effect: 'NoSchedule' }] },
  }),
);

/** The node of a machine. */
export const worker = (
  name: string,
  zone: string,
  { providerID, ...more }: Required<Pick<Extra, 'bootId' | 'kernel' | 'annotations'>> & { readonly providerID: string },
): JsonObject => node(name, zone, { labels: workerLabels, ...more, spec: { providerID } });

type Workload = {
  readonly namespace?: string;
  readonly replicas?: number;
  readonly spec?: JsonObject;
  readonly pod?: JsonObject;
  readonly annotations?: JsonObject;
};

const workload = (kind: string, name: string, { namespace = 'shop', replicas, spec, pod, annotations }: Workload = {}): JsonObject => ({
  apiVersion: kind === 'Job' ? 'batch/v1' : 'apps/v1',
  kind,
  metadata: { name, namespace },
  spec: {
    ...(replicas !== undefined && { replicas }),
    ...(kind !== 'Job' && { selector: { matchLabels: { app: name } } }),
    template: {
      metadata: { labels: { app: name }, ...(annotations && { annotations }) },
      spec: {
        containers: [{ name: 'main', image: `example.test/${name}:1`, resources: { requests: { cpu: '250m', memory: '256Mi' } } }],
        ...pod,
      },
    },
    ...spec,
  },
});

const budget = (name: string, spec: JsonObject): JsonObject => ({
  apiVersion: 'policy/v1',
  kind: 'PodDisruptionBudget',
  metadata: { name, namespace: 'shop' },
  spec: { ...spec, selector: { matchLabels: { app: name } } },
});

const everywhere = { tolerations: [{ operator: 'Exists' }] };

/** All but the machines and their nodes, by resource, in the order in which they are made. */
export const demoObjects: readonly (readonly [resource: string, object: JsonObject])[] = [
  ['namespaces', { kind: 'Namespace', metadata: { name: 'shop' } }],
  ...nodes.map(one => ['nodes', one] as const),
  ['daemonsets.apps', workload('DaemonSet', 'node-agent', { namespace: 'kube-system', pod: everywhere })],
  ['deployments.apps', workload('Deployment', 'web', { replicas: 9 })],
  ['poddisruptionbudgets.policy', budget('web', { maxUnavailable: 1 })],
  ['deployments.apps', workload('Deployment', 'api', { replicas: 6 })],
  ['poddisruptionbudgets.policy', budget('api', { minAvailable: '50%' })],
  ['deployments.apps', workload('Deployment', 'worker', { replicas: 8 })],
  ['statefulsets.apps', workload('StatefulSet', 'db', { replicas: 3, spec: { serviceName: 'db' } })],
  ['poddisruptionbudgets.policy', budget('db', { maxUnavailable: 1 })],
  // Two replicas, in one zone, and two must always be there: no pod of it may ever go.
  [
    'deployments.apps',
    workload('Deployment', 'payment', { replicas: 2, pod: { nodeSelector: { 'topology.kubernetes.io/zone': 'middle' } } }),
  ],
  ['poddisruptionbudgets.policy', budget('payment', { minAvailable: 2 })],
  // What it keeps in its emptyDir goes with the pod.
  [
    'deployments.apps',
    workload('Deployment', 'cache', {
      replicas: 1,
      pod: { containers: [{ name: 'main', image: 'example.test/cache:1' }], volumes: [{ name: 'data', emptyDir: {} }] },
    }),
  ],
  [
    'jobs.batch',
    workload('Job', 'report', {
      annotations: { 'drydock.test/done-after': '10m' },
      pod: { containers: [{ name: 'main', image: 'example.test/report:1' }], restartPolicy: 'Never' },
    }),
  ],
];
