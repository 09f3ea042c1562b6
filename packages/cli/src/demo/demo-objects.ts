import type { JsonObject } from '@drydock/apimachinery';
import { nodeNotice } from '@drydock/apis';
import { instanceOf, isPending } from '@drydock/core/machine';
import type { DemoCloud } from '@drydock/dashboard';
import { kubernetesVersion, type Stored, text } from '@drydock/kube-sim';
import type { Writes } from '@drydock/kube-sim/controllers';
import type { SimulatedCloud } from '@drydock/kube-sim/machines';
import type { Store } from '@drydock/kube-sim/store';
import type { Clock } from '@drydock/utils';

/**
 * A realistic cluster: three zones, a control plane, and a shop with workloads that make draining
 * interesting.
 */

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

function node(
  name: string,
  zone: string,
  { labels, annotations = {}, spec, bootId: bootID = '', kernel: kernelVersion = '' }: Extra,
): JsonObject {
  return {
    kind: 'Node',
    metadata: {
      name,
      labels: {
        'kubernetes.io/hostname': name,
        'kubernetes.io/os': 'linux',
        'topology.kubernetes.io/zone': zone,
        ...labels,
      },
      annotations,
    },
    ...(spec && { spec }),
    status: {
      capacity: { cpu: '16', memory: '64Gi', pods: '110' },
      allocatable: { cpu: '16', memory: '64Gi', pods: '110' },
      conditions: [ready],
      nodeInfo: {
        kubeletVersion: kubernetesVersion,
        kernelVersion,
        operatingSystem: 'linux',
        architecture: 'amd64',
        bootID,
      },
    },
  };
}

const controlPlane = 'node-role.kubernetes.io/control-plane';

/** Labels of every worker, also of those created later. */
export const workerLabels: JsonObject = {
  'node-role.kubernetes.io/worker': '',
  'kubernetes.io/os': 'linux',
};

/** Nodes of the control plane, which belong to no machine. */
const nodes: readonly JsonObject[] = zones.map((zone, index) =>
  node(`control-${index + 1}`, zone, {
    labels: { [controlPlane]: '' },
    spec: { taints: [{ key: controlPlane, effect: 'NoSchedule' }] },
  }),
);

/** Returns the node of a machine. */
export function worker(
  name: string,
  zone: string,
  {
    providerID,
    ...more
  }: Required<Pick<Extra, 'bootId' | 'kernel' | 'annotations'>> & { readonly providerID: string },
): JsonObject {
  return node(name, zone, { labels: workerLabels, ...more, spec: { providerID } });
}

type Workload = {
  readonly namespace?: string;
  readonly replicas?: number;
  readonly spec?: JsonObject;
  readonly pod?: JsonObject;
  readonly annotations?: JsonObject;
};

function workload(
  kind: string,
  name: string,
  { namespace = 'shop', replicas, spec, pod, annotations }: Workload = {},
): JsonObject {
  return {
    apiVersion: kind === 'Job' ? 'batch/v1' : 'apps/v1',
    kind,
    metadata: { name, namespace },
    spec: {
      ...(replicas !== undefined && { replicas }),
      ...(kind !== 'Job' && { selector: { matchLabels: { app: name } } }),
      template: {
        metadata: { labels: { app: name }, ...(annotations && { annotations }) },
        spec: {
          containers: [
            {
              name: 'main',
              image: `example.test/${name}:1`,
              resources: { requests: { cpu: '250m', memory: '256Mi' } },
            },
          ],
          ...pod,
        },
      },
      ...spec,
    },
  };
}

function budget(name: string, spec: JsonObject): JsonObject {
  return {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name, namespace: 'shop' },
    spec: { ...spec, selector: { matchLabels: { app: name } } },
  };
}

const everywhere = { tolerations: [{ operator: 'Exists' }] };

/** Objects except the machines and their nodes, by resource, in order of creation. */
export const demoObjects: readonly (readonly [resource: string, object: JsonObject])[] = [
  ['namespaces', { kind: 'Namespace', metadata: { name: 'shop' } }],
  ...nodes.map(one => ['nodes', one] as const),
  [
    'daemonsets.apps',
    workload('DaemonSet', 'node-agent', { namespace: 'kube-system', pod: everywhere }),
  ],
  ['deployments.apps', workload('Deployment', 'web', { replicas: 9 })],
  ['poddisruptionbudgets.policy', budget('web', { maxUnavailable: 1 })],
  ['deployments.apps', workload('Deployment', 'api', { replicas: 6 })],
  ['poddisruptionbudgets.policy', budget('api', { minAvailable: '50%' })],
  ['deployments.apps', workload('Deployment', 'worker', { replicas: 8 })],
  [
    'statefulsets.apps',
    workload('StatefulSet', 'db', { replicas: 3, spec: { serviceName: 'db' } }),
  ],
  ['poddisruptionbudgets.policy', budget('db', { maxUnavailable: 1 })],
  // Two replicas, in one zone, and a budget that requires both: no pod of it can be evicted.
  [
    'deployments.apps',
    workload('Deployment', 'payment', {
      replicas: 2,
      pod: { nodeSelector: { 'topology.kubernetes.io/zone': 'middle' } },
    }),
  ],
  ['poddisruptionbudgets.policy', budget('payment', { minAvailable: 2 })],
  // The data in its emptyDir is lost with the pod.
  [
    'deployments.apps',
    workload('Deployment', 'cache', {
      replicas: 1,
      pod: {
        containers: [{ name: 'main', image: 'example.test/cache:1' }],
        volumes: [{ name: 'data', emptyDir: {} }],
      },
    }),
  ],
  [
    'jobs.batch',
    workload('Job', 'report', {
      annotations: { 'drydock.test/done-after': '10m' },
      pod: {
        containers: [{ name: 'main', image: 'example.test/report:1' }],
        restartPolicy: 'Never',
      },
    }),
  ],
];

/**
 * Hosts of the simulated cloud: actions on them for the dashboard, and the agents on their nodes.
 */

const notices = 'nodenotices.drydock.dev';

/**
 * Notice of a retirement in seconds: two weeks, and an hour so that it still shows as two weeks a
 * moment later.
 */
const retirementSeconds = 14 * 24 * 3600 + 3600;

/** Seconds until the host restarts, whether its node is empty or not. */
const rebootSeconds = 60;

type Parts = {
  readonly cloud: SimulatedCloud;
  readonly store: Store;
  readonly writes: Writes;
  readonly clock: Clock;
};

/** Returns the instance that a node runs on. */
export function instanceOn(node: Stored | undefined): string | undefined {
  return instanceOf(text(node, 'spec', 'providerID'));
}

/**
 * Writes the announcements for a machine into its NodeNotice, as the agent of the node would; the
 * notice is deleted with the node.
 */
function writeNotice({ cloud, store, writes, clock }: Parts, node: Stored, instance: string): void {
  const { name, uid } = node.metadata;
  const { events } = cloud.scan('simulated', [instance]);
  const before = store.get(notices, '', name);
  if (events.length === 0 && before === undefined) return;
  // The machines have providerIDs of AWS; the announcements are marked as simulated.
  const { spec } = nodeNotice(name, { provider: 'aws', instance, events }, clock.now());
  const ownerReferences = [{ apiVersion: 'v1', kind: 'Node', name, uid }];
  const written =
    before === undefined
      ? writes.create(notices, { metadata: { name, ownerReferences }, spec })
      : writes.update(notices, { ...before, spec });
  if (written.kind === 'refused')
    throw new Error(`the agent of ${name} cannot say what it has heard: ${written.message}`);
}

/** Starts an agent on every node of the cloud; returns a function that stops them. */
export function startAgents(parts: Parts): () => void {
  return parts.cloud.subscribe(instance => {
    const node = parts.store.list('nodes').find(one => instanceOn(one) === instance);
    if (node !== undefined) writeNotice(parts, node, instance);
  });
}

/** Returns the actions on hosts for the dashboard. */
export function hostsOf({ cloud, store }: Parts): DemoCloud {
  return {
    announce: (node, what) => {
      const instance = instanceOn(store.get('nodes', '', node));
      if (instance === undefined || cloud.instance(instance) === undefined)
        return `${node} is no machine of the simulated cloud`;
      if (cloud.scan('page', [instance]).events.some(isPending))
        return `something is announced for ${node} already`;
      if (what === 'retirement')
        cloud.announce(instance, { kind: 'retirement', inSeconds: retirementSeconds });
      else
        cloud.announce(instance, {
          kind: 'reboot',
          inSeconds: rebootSeconds,
          description: 'The host of this machine gets new firmware',
        });
      return undefined;
    },
  };
}
