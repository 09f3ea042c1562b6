import { refuse } from './arguments.ts';
import type { ContenderName } from './contenders/contender.ts';

/** One situation that every contender meets in the same initial state. */
export type Scenario = {
  readonly name: string;
  readonly what: string;
  /** The nodes that are drained, all at the same moment. All pods are on them at the start. */
  readonly targets: number;
  /**
   * The nodes that take the pods: empty and cordoned until all pods are Ready, so that none starts
   * there.
   */
  readonly spares: number;
  readonly deployments: number;
  readonly replicas: number;
  readonly maxUnavailable?: number | string;
  /** How many disruptions each budget allows at the start. */
  readonly allowed?: number;
  readonly runs: number;
  /** Who does not take part: 200 processes of kubectl at once are a bench of something else. */
  readonly without?: readonly ContenderName[];
};

/** Part of the run when nothing else is asked for. */
export const defaults = ['free', 'pdb', 'mix', 'fleet'] as const;

/**
 * Spares: three for one node, so that the scheduler has a choice; half as many as targets for the
 * fleet, a fifth for scale. A node takes 250 pods, so room is never what is measured.
 */
const scenarios: readonly Scenario[] = [
  {
    name: 'warm-up',
    what: '4 pods of one Deployment',
    targets: 1,
    spares: 1,
    deployments: 1,
    replicas: 4,
    maxUnavailable: 2,
    allowed: 2,
    runs: 1,
  },
  {
    name: 'free',
    what: '30 pods, no budget',
    targets: 1,
    spares: 3,
    deployments: 1,
    replicas: 30,
    runs: 3,
  },
  {
    name: 'pdb',
    what: '12 pods of one Deployment, maxUnavailable 1',
    targets: 1,
    spares: 3,
    deployments: 1,
    replicas: 12,
    maxUnavailable: 1,
    allowed: 1,
    runs: 3,
  },
  {
    name: 'mix',
    what: '6 Deployments × 5, maxUnavailable 1 each',
    targets: 1,
    spares: 3,
    deployments: 6,
    replicas: 5,
    maxUnavailable: 1,
    allowed: 1,
    runs: 3,
  },
  {
    name: 'fleet',
    what: '20 nodes at once, 20 Deployments × 20, maxUnavailable 25 %',
    targets: 20,
    spares: 10,
    deployments: 20,
    replicas: 20,
    maxUnavailable: '25%',
    allowed: 5,
    runs: 2,
  },
  {
    name: 'scale',
    what: '200 nodes at once, 30 Deployments × 100, maxUnavailable 10 %',
    targets: 200,
    spares: 40,
    deployments: 30,
    replicas: 100,
    maxUnavailable: '10%',
    allowed: 10,
    runs: 1,
    without: ['kubectl'],
  },
];

export function podsIn(scenario: Scenario): number {
  return scenario.deployments * scenario.replicas;
}

export function scenarioNamed(name: string): Scenario {
  const found = scenarios.find(scenario => scenario.name === name);
  return (
    found ??
    refuse(`no scenario ${name}; there are ${scenarios.map(({ name }) => name).join(', ')}`)
  );
}
