import {
  budget,
  deployment,
  type Manifest,
  pod,
  statefulSet,
} from '../../test/control-plane/objects/manifests.ts';

/** One situation that is first rehearsed and then played. */
export type Scenario = {
  readonly name: string;
  readonly what: string;
  /** Nodes that are drained. All pods are on them at the start. */
  readonly targets: number;
  /** Nodes that take the pods. */
  readonly spares: number;
  /** Pods that fit on a spare; 250 when left out. */
  readonly sparePods?: number;
  /** The workloads and budgets, and how many pods they have together. `nodes` are the targets. */
  readonly furnish: (namespace: string, nodes: readonly string[]) => readonly Manifest[];
  readonly pods: number;
  /**
   * Pods without owner and local data are no obstacle; they are where the scenario is about them.
   */
  readonly careful?: true;
  /** Every pod has been restarted before, so that its cluster has seen how long it takes to end. */
  readonly restarted?: true;
};

type Options = Parameters<typeof deployment>[1];

function guarded(
  namespace: string,
  app: string,
  replicas: number,
  bound: Parameters<typeof budget>[1],
  options: Options = {},
): readonly Manifest[] {
  return [
    budget(app, { namespace, ...bound }),
    deployment(app, { namespace, replicas, ...options }),
  ];
}

function times(count: number, make: (app: string) => readonly Manifest[]): readonly Manifest[] {
  return Array.from({ length: count }, (_, index) => make(`app-${index + 1}`)).flat();
}

function localVolume(namespace: string, node: string): readonly Manifest[] {
  const terms = [
    { matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: [node] }] },
  ];
  const common = { accessModes: ['ReadWriteOnce'], storageClassName: '' };
  return [
    {
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name: `disk-${namespace}` },
      spec: {
        ...common,
        capacity: { storage: '1Gi' },
        local: { path: '/data' },
        nodeAffinity: { required: { nodeSelectorTerms: terms } },
      },
    },
    {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name: 'disk', namespace },
      spec: {
        ...common,
        volumeName: `disk-${namespace}`,
        resources: { requests: { storage: '1Gi' } },
      },
    },
  ];
}

export const scenarios: readonly Scenario[] = [
  {
    name: 'free',
    what: '30 pods, no budget',
    targets: 1,
    spares: 3,
    pods: 30,
    furnish: namespace => [deployment('web', { namespace, replicas: 30 })],
  },
  {
    name: 'pdb',
    what: '12 pods of one Deployment, maxUnavailable 1',
    targets: 1,
    spares: 3,
    pods: 12,
    furnish: namespace => guarded(namespace, 'web', 12, { maxUnavailable: 1 }),
  },
  {
    name: 'mix',
    what: '6 Deployments × 5, maxUnavailable 1 each',
    targets: 1,
    spares: 3,
    pods: 30,
    furnish: namespace => times(6, app => guarded(namespace, app, 5, { maxUnavailable: 1 })),
  },
  {
    name: 'slow start',
    what: '8 pods that take 4 s to be ready, maxUnavailable 2',
    targets: 1,
    spares: 3,
    pods: 8,
    furnish: namespace =>
      guarded(
        namespace,
        'web',
        8,
        { maxUnavailable: 2 },
        { annotations: { 'drydock.test/ready-after': '4s' } },
      ),
  },
  {
    name: 'slow end',
    what: '6 pods that take 5 s to end, which nobody has seen yet, maxUnavailable 1',
    targets: 1,
    spares: 3,
    pods: 6,
    furnish: namespace =>
      guarded(
        namespace,
        'web',
        6,
        { maxUnavailable: 1 },
        { annotations: { 'drydock.test/gone-after': '5s' } },
      ),
  },
  {
    name: 'slow end, seen',
    what: 'a StatefulSet of 5 whose pods take 5 s to end and were restarted before, maxUnavailable 1',
    targets: 1,
    spares: 3,
    pods: 5,
    restarted: true,
    furnish: namespace => [
      budget('db', { namespace, maxUnavailable: 1 }),
      statefulSet('db', {
        namespace,
        replicas: 5,
        annotations: { 'drydock.test/gone-after': '5s' },
      }),
    ],
  },
  {
    name: 'stateful',
    what: 'a StatefulSet of 5, maxUnavailable 1',
    targets: 1,
    spares: 3,
    pods: 5,
    furnish: namespace => [
      budget('db', { namespace, maxUnavailable: 1 }),
      statefulSet('db', { namespace, replicas: 5 }),
    ],
  },
  {
    name: 'never',
    what: 'a budget that never allows, beside 10 pods that may go',
    targets: 1,
    spares: 3,
    pods: 13,
    furnish: namespace => [
      ...guarded(namespace, 'strict', 3, { minAvailable: 3 }),
      deployment('web', { namespace, replicas: 10 }),
    ],
  },
  {
    name: 'two budgets',
    what: 'two budgets on 2 pods, beside 6 that may go one by one',
    targets: 1,
    spares: 3,
    pods: 8,
    furnish: namespace => [
      budget('other', { namespace, maxUnavailable: 1, matchLabels: { app: 'twice' } }),
      ...guarded(namespace, 'twice', 2, { maxUnavailable: 1 }),
      ...guarded(namespace, 'web', 6, { maxUnavailable: 1 }),
    ],
  },
  {
    name: 'no room',
    what: '8 pods, maxUnavailable 1, and room for 3 elsewhere',
    targets: 1,
    spares: 1,
    sparePods: 3,
    pods: 8,
    furnish: namespace => guarded(namespace, 'web', 8, { maxUnavailable: 1 }),
  },
  {
    name: 'bare pod',
    what: 'a pod without owner, without --force',
    targets: 1,
    spares: 3,
    pods: 5,
    careful: true,
    furnish: namespace => [
      pod('bare', { namespace }),
      deployment('web', { namespace, replicas: 4 }),
    ],
  },
  {
    name: 'local data',
    what: '2 pods with an emptyDir, without --delete-emptydir-data',
    targets: 1,
    spares: 3,
    pods: 6,
    careful: true,
    furnish: namespace => [
      deployment('cache', { namespace, replicas: 2, localData: true }),
      deployment('web', { namespace, replicas: 4 }),
    ],
  },
  {
    name: 'tied volume',
    what: '3 pods on a volume of the node, maxUnavailable 1',
    targets: 1,
    spares: 3,
    pods: 3,
    furnish: (namespace, [node = '']) => [
      ...localVolume(namespace, node),
      ...guarded(
        namespace,
        'web',
        3,
        { maxUnavailable: 1 },
        {
          spec: { volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'disk' } }] },
        },
      ),
    ],
  },
  {
    name: 'four nodes',
    what: '4 nodes at once, 6 Deployments × 8, maxUnavailable 25 %',
    targets: 4,
    spares: 3,
    pods: 48,
    furnish: namespace => times(6, app => guarded(namespace, app, 8, { maxUnavailable: '25%' })),
  },
  {
    name: 'too many nodes',
    what: '3 nodes at once, 2 Deployments × 9, maxUnavailable 2, and room for 10 elsewhere',
    targets: 3,
    spares: 1,
    sparePods: 10,
    pods: 18,
    furnish: namespace => times(2, app => guarded(namespace, app, 9, { maxUnavailable: 2 })),
  },
  {
    name: 'fleet',
    what: '20 nodes at once, 20 Deployments × 20, maxUnavailable 25 %',
    targets: 20,
    spares: 10,
    pods: 400,
    furnish: namespace => times(20, app => guarded(namespace, app, 20, { maxUnavailable: '25%' })),
  },
  {
    name: 'large fleet',
    what: '200 nodes at once, 30 Deployments × 100, maxUnavailable 10 %',
    targets: 200,
    spares: 40,
    pods: 3000,
    furnish: namespace => times(30, app => guarded(namespace, app, 100, { maxUnavailable: '10%' })),
  },
];
