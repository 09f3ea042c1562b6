import type { MaintenancePlanSpec } from '@drydock/apis/schema';
import { budget, deployment, type Manifest } from '../../test/control-plane/objects/manifests.ts';

/** One plan that is first rehearsed and then really run. */
export type PlanScenario = {
  readonly name: string;
  readonly what: string;
  /** Nodes of the plan, in three zones by turns. All pods are on them at the start. */
  readonly targets: number;
  readonly spares: number;
  /** Pods that fit on a spare; 250 when left out. */
  readonly sparePods?: number;
  readonly deployments: number;
  readonly replicas: number;
  readonly maxUnavailable: number | string;
  /** One Deployment of three more, whose budget never allows anything. */
  readonly never?: true;
  readonly spec: Partial<MaintenancePlanSpec>;
};

export function podsIn({ deployments, replicas, never }: PlanScenario): number {
  return deployments * replicas + (never === true ? 3 : 0);
}

export function workloadsOf(
  { deployments, replicas, maxUnavailable, never }: PlanScenario,
  namespace: string,
): readonly Manifest[] {
  return [
    ...Array.from({ length: deployments }, (_, index) => `app-${index + 1}`).flatMap(app => [
      budget(app, { namespace, maxUnavailable }),
      deployment(app, { namespace, replicas }),
    ]),
    ...(never === true
      ? [
          budget('strict', { namespace, minAvailable: 3 }),
          deployment('strict', { namespace, replicas: 3 }),
        ]
      : []),
  ];
}

const common = { targets: 6, spares: 3, deployments: 3, replicas: 6, maxUnavailable: 1 } as const;
function hook(
  name: string,
  at: 'BeforeNode' | 'AfterNode',
): NonNullable<MaintenancePlanSpec['hooks']>[number] {
  return {
    name,
    at,
    job: { podSpec: { containers: [{ name: 'up', image: 'example.test/hook:1' }] } },
  };
}

export const planScenarios: readonly PlanScenario[] = [
  {
    name: 'one by one',
    what: '6 nodes, 3 Deployments × 6, maxUnavailable 1',
    ...common,
    spec: { concurrency: { maxInFlight: 1 } },
  },
  {
    name: 'two at once',
    what: 'the same, two nodes at once',
    ...common,
    spec: { concurrency: { maxInFlight: 2 } },
  },
  {
    name: 'a quarter',
    what: '12 nodes, 25 % at once, 6 Deployments × 12, maxUnavailable 25 %',
    targets: 12,
    spares: 4,
    deployments: 6,
    replicas: 12,
    maxUnavailable: '25%',
    spec: { concurrency: { maxInFlight: '25%' } },
  },
  {
    name: 'zone by zone',
    what: '9 nodes in three zones, three at once of one zone at a time',
    ...common,
    targets: 9,
    spec: {
      concurrency: {
        maxInFlight: 3,
        perTopology: [{ key: 'topology.kubernetes.io/zone', maxDomains: 1 }],
      },
      order: { by: ['Zone', 'Name'] },
    },
  },
  {
    name: 'canary',
    what: 'one node first, then 5 s of soaking, then two at once',
    ...common,
    spec: {
      stages: [{ name: 'canary', limit: 1, soakSeconds: 5 }],
      concurrency: { maxInFlight: 2 },
    },
  },
  {
    name: 'soak',
    what: 'two at once, each healthy for 4 s before it is released',
    ...common,
    spec: { soakSeconds: 4, concurrency: { maxInFlight: 2 } },
  },
  {
    name: 'unavailable',
    what: 'four may be in flight, two out of service',
    ...common,
    spec: { concurrency: { maxInFlight: 4, maxUnavailable: 2 } },
  },
  {
    name: 'hooks',
    what: 'two at once, with a hook before and after each node',
    ...common,
    spec: {
      hooks: [hook('before', 'BeforeNode'), hook('after', 'AfterNode')],
      concurrency: { maxInFlight: 2 },
    },
  },
  {
    name: 'never',
    what: 'a budget that never allows, beside 18 pods that may go, one by one by name',
    ...common,
    never: true,
    spec: { concurrency: { maxInFlight: 6 }, order: { by: ['Name'] } },
  },
  {
    name: 'no room',
    what: '3 Deployments × 8, and room for 6 on the spare; three at once',
    ...common,
    targets: 3,
    spares: 1,
    sparePods: 6,
    replicas: 8,
    spec: { concurrency: { maxInFlight: 3 } },
  },
];
