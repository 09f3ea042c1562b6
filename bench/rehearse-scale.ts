import { performance } from 'node:perf_hooks';
import type { JsonObject } from '@drydock/apimachinery';
import { rehearsalManager, rehearse } from '@drydock/rehearse';
import type { ClusterSnapshot } from '@drydock/rehearse/snapshot';
import { Shared } from '@drydock/rehearse/snapshot';

/**
 * How long a rehearsal of a large cluster takes: `npm run bench:rehearse -- scale [NODES] [PODS A
 * NODE] [one|all] [SEEDS] [SECONDS AHEAD]`. One in ten pods is of a DaemonSet, the others are of
 * Deployments of 20, half of which have a budget. No control plane is needed.
 */

const [
  nodesText = '10000',
  podsText = '20',
  which = 'one',
  seedsText = '1',
  horizonText = '2592000',
] = process.argv.slice(2);
const [nodes, podsEach, seeds] = [Number(nodesText), Number(podsText), Number(seedsText)];

const time = '2026-01-01T00:00:00Z';
const replicas = 20;

function meta(name: string, uid: string, more: JsonObject = {}): JsonObject {
  return { name, uid, creationTimestamp: time, ...more };
}

function node(index: number): JsonObject {
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: meta(`node-${index}`, `node-${index}`, {
      labels: {
        'kubernetes.io/hostname': `node-${index}`,
        'kubernetes.io/os': 'linux',
        'topology.kubernetes.io/zone': `zone-${index % 3}`,
      },
    }),
    spec: {},
    status: {
      allocatable: { cpu: '16', memory: '64Gi', pods: '110' },
      conditions: [
        { type: 'Ready', status: 'True', lastHeartbeatTime: time, lastTransitionTime: time },
      ],
    },
  };
}

function podSpec(cpu: string): JsonObject {
  return {
    containers: [
      {
        name: 'main',
        image: 'example.test/app:1',
        resources: { requests: { cpu, memory: '512Mi' } },
      },
    ],
    restartPolicy: 'Always',
    terminationGracePeriodSeconds: 30,
    dnsPolicy: 'ClusterFirst',
    schedulerName: 'default-scheduler',
    securityContext: {},
  };
}

const conditions = ['PodScheduled', 'Initialized', 'ContainersReady', 'Ready'].map(type => ({
  type,
  status: 'True',
  lastProbeTime: null,
  lastTransitionTime: type === 'PodScheduled' ? time : '2026-01-01T00:00:05Z',
}));

function owner(kind: string, name: string, uid: string): readonly JsonObject[] {
  return [{ apiVersion: 'apps/v1', kind, name, uid, controller: true, blockOwnerDeletion: true }];
}

function pod(
  name: string,
  namespace: string,
  labels: JsonObject,
  nodeName: string,
  ownerReferences: readonly JsonObject[],
  cpu: string,
): JsonObject {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: meta(name, `${namespace}-${name}`, {
      namespace,
      labels,
      ownerReferences: [...ownerReferences],
    }),
    spec: { ...podSpec(cpu), nodeName },
    status: { phase: 'Running', startTime: time, conditions: [...conditions] },
  };
}

function daemon(index: number): readonly JsonObject[] {
  const name = `daemon-${index}`;
  const labels = { app: name };
  const spec = {
    selector: { matchLabels: labels },
    template: {
      metadata: { labels },
      spec: { ...podSpec('100m'), tolerations: [{ operator: 'Exists' }] },
    },
    updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 1, maxSurge: 0 } },
  };
  const metadata = meta(name, name, { namespace: 'system', generation: 1 });
  const counts = Object.fromEntries(
    [
      'currentNumberScheduled',
      'desiredNumberScheduled',
      'numberAvailable',
      'numberReady',
      'updatedNumberScheduled',
    ].map(one => [one, nodes]),
  );
  const set = {
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    metadata,
    spec,
    status: { observedGeneration: 1, numberMisscheduled: 0, ...counts },
  };
  const own = { ...labels, 'controller-revision-hash': 'abcde', 'pod-template-generation': '1' };
  const pods = Array.from({ length: nodes }, (_, at) => {
    const made = pod(
      `${name}-${at}`,
      'system',
      own,
      `node-${at}`,
      owner('DaemonSet', name, name),
      '100m',
    );
    return {
      ...made,
      spec: { ...(made['spec'] as JsonObject), tolerations: [{ operator: 'Exists' }] },
    };
  });
  return [set, ...pods];
}

function deployment(index: number): readonly JsonObject[] {
  const [name, namespace, hash] = [`app-${index}`, `space-${index % 100}`, 'abcdef'];
  const labels = { app: name };
  const own = { ...labels, 'pod-template-hash': hash };
  const status = {
    observedGeneration: 1,
    replicas,
    updatedReplicas: replicas,
    readyReplicas: replicas,
    availableReplicas: replicas,
  };
  const metadata = meta(name, name, {
    namespace,
    generation: 1,
    annotations: { 'deployment.kubernetes.io/revision': '1' },
  });
  const template = (labels: JsonObject): JsonObject => ({
    metadata: { labels },
    spec: podSpec('500m'),
  });
  const strategy = {
    type: 'RollingUpdate',
    rollingUpdate: { maxSurge: '25%', maxUnavailable: '25%' },
  };
  const set = `${name}-${hash}`;
  return [
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata,
      spec: {
        replicas,
        selector: { matchLabels: labels },
        template: template(labels),
        strategy,
        progressDeadlineSeconds: 600,
      },
      status: {
        ...status,
        conditions: [
          {
            type: 'Available',
            status: 'True',
            reason: 'MinimumReplicasAvailable',
            message: '',
            lastUpdateTime: time,
            lastTransitionTime: time,
          },
          {
            type: 'Progressing',
            status: 'True',
            reason: 'NewReplicaSetAvailable',
            message: '',
            lastUpdateTime: time,
            lastTransitionTime: time,
          },
        ],
      },
    },
    {
      apiVersion: 'apps/v1',
      kind: 'ReplicaSet',
      metadata: {
        ...metadata,
        name: set,
        uid: set,
        labels: own,
        ownerReferences: [...owner('Deployment', name, name)],
        annotations: {
          'deployment.kubernetes.io/revision': '1',
          'deployment.kubernetes.io/desired-replicas': '20',
          'deployment.kubernetes.io/max-replicas': '25',
        },
      },
      spec: { replicas, selector: { matchLabels: own }, template: template(own) },
      status: {
        observedGeneration: 1,
        replicas,
        fullyLabeledReplicas: replicas,
        readyReplicas: replicas,
        availableReplicas: replicas,
      },
    },
    ...(index % 2 === 0
      ? [
          {
            apiVersion: 'policy/v1',
            kind: 'PodDisruptionBudget',
            metadata: meta(name, `budget-${name}`, { namespace, generation: 1 }),
            spec: { maxUnavailable: '10%', selector: { matchLabels: labels } },
          },
        ]
      : []),
    ...Array.from({ length: replicas }, (_, at) =>
      pod(
        `${set}-${at}`,
        namespace,
        own,
        `node-${(index * replicas + at) % nodes}`,
        owner('ReplicaSet', set, set),
        '500m',
      ),
    ),
  ];
}

function copyOf(): ClusterSnapshot {
  const daemons = Math.max(1, Math.round(podsEach / 10));
  const apps = Math.floor((nodes * (podsEach - daemons)) / replicas);
  const objects: JsonObject[] = [];
  const shared = new Shared();
  const push = (one: JsonObject): void => void objects.push(shared.of(one));
  for (let index = 0; index < nodes; index += 1) push(node(index));
  for (let index = 0; index < daemons; index += 1) for (const one of daemon(index)) push(one);
  for (let index = 0; index < apps; index += 1) for (const one of deployment(index)) push(one);
  return { snapshotTime: Temporal.Instant.from('2026-02-01T00:00:00Z'), objects, leftOut: [] };
}

const copy = copyOf();
const names =
  which === 'all' ? Array.from({ length: nodes }, (_, index) => `node-${index}`) : ['node-7'];
const plannedMaintenances = names.map(name => ({
  node: name,
  name,
  object: {
    apiVersion: 'drydock.dev/v1alpha1',
    kind: 'Maintenance',
    metadata: { name },
    spec: { nodeName: name, drain: {} },
  },
}));
const since = performance.now();
let told = 0;
const forecast = await rehearse({
  ...rehearsalManager({}, message => console.error(message)),
  copy,
  seeds,
  order: {
    plannedMaintenances,
    horizonMs: Number(horizonText) * 1000,
    ...(which === 'all' && { parallel: 100 }),
  },
  onProgress: (run, { drained, gone, madeUpMs }) => {
    if (performance.now() - told < 10_000) return;
    told = performance.now();
    console.error(
      `${((told - since) / 1000).toFixed(0)} s: run ${run}, ${drained} nodes, ${gone} pods, ${madeUpMs / 1000} s of simulated time`,
    );
  },
});
const { finishes, end, moves, notes, copied } = forecast;
const figures = {
  nodes,
  pods: nodes * podsEach,
  which,
  seeds,
  finishes,
  end,
  moves,
  notes,
  copied,
};
console.log(
  JSON.stringify(
    {
      seconds: (performance.now() - since) / 1000,
      memoryMB: process.memoryUsage.rss() / 1e6,
      ...figures,
    },
    undefined,
    2,
  ),
);
