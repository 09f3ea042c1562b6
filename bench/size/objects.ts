/**
 * A large cluster: objects as long as those of real ones, with images, conditions, variables and
 * managed fields.
 */

export type Fleet = {
  readonly nodes: number;
  readonly podsEach: number;
  readonly namespaces: number;
};

type Made = { readonly [key: string]: unknown };

const time = '2026-01-01T00:00:00Z';
function condition(type: string, status: string): Made {
  return {
    type,
    status,
    lastHeartbeatTime: time,
    lastTransitionTime: time,
    reason: `Kubelet${type}`,
    message: `kubelet has something to say about ${type}, as long as what it usually says`,
  };
}

export function nodeName(index: number): string {
  return `node-${String(index).padStart(5, '0')}`;
}

/** One of twenty. */
export function poolOf(index: number): string {
  return `pool-${index % 20}`;
}

/** As kubelet and its cloud write it: fifty images of two names, some 10 kB. */
function node(index: number): Made {
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name: nodeName(index),
      uid: `node-uid-${index}`,
      creationTimestamp: time,
      annotations: {
        'kwok.x-k8s.io/node': 'fake',
        'volumes.kubernetes.io/controller-managed-attach-detach': 'true',
      },
      labels: {
        'kubernetes.io/hostname': nodeName(index),
        'kubernetes.io/arch': 'amd64',
        'kubernetes.io/os': 'linux',
        'node.kubernetes.io/instance-type': 'm6i.2xlarge',
        'topology.kubernetes.io/region': 'region-1',
        'topology.kubernetes.io/zone': `region-1${'abc'[index % 3]}`,
        pool: poolOf(index),
      },
    },
    spec: {
      podCIDR: `10.${index >> 8}.${index & 255}.0/24`,
      providerID: `aws:///region-1a/i-${String(index).padStart(17, '0')}`,
    },
    status: {
      capacity: { cpu: '16', memory: '64Gi', pods: '110' },
      allocatable: { cpu: '16', memory: '64Gi', pods: '110' },
      conditions: [
        ...['MemoryPressure', 'DiskPressure', 'PIDPressure'].map(type => condition(type, 'False')),
        condition('Ready', 'True'),
      ],
      addresses: [{ type: 'InternalIP', address: `10.0.${index >> 8}.${index & 255}` }],
      nodeInfo: {
        bootID: `boot-${index}`,
        kernelVersion: '6.1.0',
        kubeletVersion: 'v1.37.2',
        osImage: 'Linux',
        architecture: 'amd64',
      },
      images: Array.from({ length: 50 }, (_, image) => ({
        names: [
          `registry.example.com/team-${image}/service@sha256:${'0'.repeat(64)}`,
          `registry.example.com/team-${image}/service:1.${image}`,
        ],
        sizeBytes: 123_456_789,
      })),
    },
  };
}

function namespaceOf({ namespaces }: Fleet, app: number): string {
  return `team-${app % namespaces}`;
}

/** Pods of one app; each app has a budget. */
const podsOfApp = 50;

function pod(fleet: Fleet, on: number, each: number): Made {
  const number = each * fleet.nodes + on;
  const app = Math.floor(number / podsOfApp);
  const name = `app-${app}-${number % podsOfApp}`;
  const owner = {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    name: `app-${app}`,
    uid: `app-uid-${app}`,
    controller: true,
  };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace: namespaceOf(fleet, app),
      uid: `pod-uid-${number}`,
      creationTimestamp: time,
      labels: {
        app: `app-${app}`,
        'pod-template-hash': '5d4f8c7b9d',
        'app.kubernetes.io/managed-by': 'Helm',
      },
      annotations: { 'checksum/config': '0'.repeat(64), 'prometheus.io/scrape': 'true' },
      ownerReferences: [owner],
    },
    spec: {
      nodeName: nodeName(on),
      serviceAccountName: 'default',
      containers: ['main', 'sidecar'].map(container => ({
        name: container,
        image: `registry.example.com/team/${container}:1`,
        env: Array.from({ length: 15 }, (_, index) => ({
          name: `VARIABLE_${index}`,
          value: 'a value of some length',
        })),
        resources: { requests: { cpu: '100m', memory: '128Mi' } },
        volumeMounts: [
          {
            name: 'token',
            mountPath: '/var/run/secrets/kubernetes.io/serviceaccount',
            readOnly: true,
          },
        ],
      })),
      volumes: [
        { name: 'token', projected: { sources: [{ serviceAccountToken: { path: 'token' } }] } },
      ],
    },
    status: {
      phase: 'Running',
      startTime: time,
      conditions: ['Initialized', 'Ready', 'ContainersReady', 'PodScheduled'].map(type => ({
        type,
        status: 'True',
        lastTransitionTime: time,
      })),
      containerStatuses: ['main', 'sidecar'].map(container => ({
        name: container,
        image: `registry.example.com/team/${container}:1`,
        imageID: `sha256:${'0'.repeat(64)}`,
        ready: true,
        restartCount: 0,
        state: { running: { startedAt: time } },
      })),
    },
  };
}

function app(fleet: Fleet, index: number): readonly Made[] {
  const metadata = {
    name: `app-${index}`,
    namespace: namespaceOf(fleet, index),
    creationTimestamp: time,
  };
  const selector = { matchLabels: { app: `app-${index}` } };
  const template = {
    metadata: { labels: { app: `app-${index}` } },
    spec: { containers: [{ name: 'main', image: 'registry.example.com/team/main:1' }] },
  };
  return [
    {
      apiVersion: 'apps/v1',
      kind: 'ReplicaSet',
      metadata: { ...metadata, uid: `app-uid-${index}` },
      spec: { replicas: podsOfApp, selector, template },
    },
    {
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: { ...metadata, generation: 1 },
      spec: { maxUnavailable: '20%', selector },
      status: {
        observedGeneration: 1,
        disruptionsAllowed: podsOfApp / 5,
        currentHealthy: podsOfApp,
        desiredHealthy: podsOfApp - podsOfApp / 5,
        expectedPods: podsOfApp,
        conditions: [],
      },
    },
  ];
}

/** Every object of the fleet, one after the other. */
export function* objectsOf(fleet: Fleet): Generator<Made> {
  const { nodes, podsEach } = fleet;
  for (let index = 0; index < nodes; index += 1) yield node(index);
  for (let index = 0; index < Math.ceil((nodes * podsEach) / podsOfApp); index += 1)
    yield* app(fleet, index);
  for (let each = 0; each < podsEach; each += 1)
    for (let on = 0; on < nodes; on += 1) yield pod(fleet, on, each);
}
