import { performance } from 'node:perf_hooks';
import { ClusterRuntime, createCluster, load, seeded } from '@drydock/kube-sim';
import { VirtualClock } from '@drydock/utils';

/**
 * How fast the embedded cluster is, and how large: `npm run bench:embedded -- [NODES] [PODS A
 * NODE]`. No control plane is needed.
 */

const [nodes = 10_000, podsEach = 20] = process.argv.slice(2).map(Number);

type Loaded = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly [key: string]: unknown;
};

function meta(name: string, namespace?: string): object {
  return {
    name,
    ...(namespace !== undefined && { namespace }),
    uid: `uid-${namespace ?? ''}-${name}`,
    creationTimestamp: '2026-01-01T00:00:00Z',
    labels: { app: name.slice(0, 3) },
  };
}

const time = '2026-01-01T00:00:00Z';
const conditions = ['PodReadyToStartContainers', 'Initialized', 'Ready', 'PodScheduled'].map(
  type => ({
    type,
    status: 'True',
    lastProbeTime: null,
    lastTransitionTime: time,
  }),
);

function pod(node: number, index: number): Loaded {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: meta(`pod-${node}-${index}`, `space-${index}`),
    spec: {
      nodeName: `node-${node}`,
      containers: [
        {
          name: 'main',
          image: 'example.test/app:1',
          resources: { requests: { cpu: '100m', memory: '128Mi' } },
        },
      ],
      volumes: [{ name: 'settings', configMap: { name: 'settings' } }],
      tolerations: [
        {
          key: 'node.kubernetes.io/not-ready',
          operator: 'Exists',
          effect: 'NoExecute',
          tolerationSeconds: 300,
        },
      ],
    },
    status: { phase: 'Running', startTime: time, conditions },
  };
}

function node(index: number): Loaded {
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: meta(`node-${index}`),
    spec: {},
    status: {
      capacity: { cpu: '16', memory: '64Gi', pods: '110' },
      allocatable: { cpu: '16', memory: '64Gi', pods: '110' },
      conditions: [
        { type: 'Ready', status: 'True', lastHeartbeatTime: time, lastTransitionTime: time },
      ],
    },
  };
}

function* everything(): Generator<Loaded> {
  for (let index = 0; index < nodes; index += 1) {
    yield node(index);
    for (let each = 0; each < podsEach; each += 1) yield pod(index, each);
  }
}

function told(what: string, value: number, unit: string): void {
  console.log(`${what.padEnd(52)} ${value.toFixed(value < 10 ? 2 : 0)} ${unit}`);
}

function timed(work: () => void, times = 1): number {
  const since = performance.now();
  for (let count = 0; count < times; count += 1) work();
  return (performance.now() - since) / times;
}

const clock = new VirtualClock();
const cluster = createCluster({ clock, random: seeded(1) });
const { registry } = cluster;
function ask(
  method: string,
  path: string,
  query: Readonly<Record<string, string>> = {},
  value?: unknown,
): void {
  const body =
    value === undefined ? ({ kind: 'none' } as const) : ({ kind: 'json', value } as const);
  const contentType = method === 'PATCH' ? 'application/merge-patch+json' : '';
  const asked = {
    method,
    path,
    query: new Map(Object.entries(query)),
    accept: 'application/json',
    contentType,
    userAgent: 'bench',
    body,
  };
  const answer = cluster.answer(asked);
  if (answer.kind !== 'object' || answer.status !== 200)
    throw new Error(`${method} ${path}: ${JSON.stringify(answer)}`);
}

told(
  `${nodes} nodes and ${nodes * podsEach} pods are loaded in`,
  timed(() => load(registry, everything())) / 1000,
  's',
);
told('resident memory then', process.memoryUsage.rss() / 1e6, 'MB');
told(
  'the pods of one node are listed in',
  timed(() => ask('GET', '/api/v1/pods', { fieldSelector: 'spec.nodeName=node-7' }), 100),
  'ms',
);
told(
  'a page of 500 pods is listed in',
  timed(() => ask('GET', '/api/v1/pods', { limit: '500' }), 20),
  'ms',
);
let heartbeat = 0;
function patch(): void {
  heartbeat += 1;
  const annotations = { heartbeat: String(heartbeat) };
  ask('PATCH', '/api/v1/nodes/node-7/status', {}, { metadata: { annotations } });
}
told('a status is patched in', timed(patch, 1000) * 1000, 'µs');
const runtime = new ClusterRuntime({
  registry,
  clock,
  pace: { startMs: 1000, stopMs: 1000, spread: 0.2 },
});
told('controllers, scheduler and kubelets take it up in', timed(() => runtime.start()) / 1000, 's');
const since = performance.now();
await clock.advance(10_000);
told('the first ten seconds of its life take', (performance.now() - since) / 1000, 's');
told('resident memory at the end', process.memoryUsage.rss() / 1e6, 'MB');
runtime.stop();
