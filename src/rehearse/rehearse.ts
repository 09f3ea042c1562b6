import type { JsonObject } from '../core/json.ts';
import type { ClientLimit } from '../embedded/controllers/request-limits.ts';
import { prepared, sickIn, unique } from './prepare/prepare.ts';
import { reduce, usualFewPods } from './prepare/reduce.ts';
import { lookBehind } from './report/behind.ts';
import { type Forecast, forecastOf } from './report/forecast.ts';
import { type Order, type Progress, type Run, simulate } from './simulate/run.ts';
import type { SandboxOptions } from './simulate/sandbox.ts';
import { type ClusterSnapshot, ofKind } from './snapshot/cluster-snapshot.ts';
import { Workloads } from './snapshot/workloads.ts';
import { type Defaults, PodTimings } from './timings/learn.ts';
import { learnLimits } from './timings/limits.ts';

export type RehearsalOptions = Pick<SandboxOptions, 'definitions' | 'adapters' | 'operate'> & {
  readonly copy: ClusterSnapshot;
  readonly order: Order;
  /** How often it is played. */
  readonly seeds: number;
  readonly defaults?: Defaults;
  /** What the clients of the cluster's controllers are known to be allowed, instead of what the copy shows. */
  readonly clientLimit?: ClientLimit;
  /** A copy with more pods than this is played without those that have no say. */
  readonly fewPods?: number;
  /** Told every second or so of simulated time. A run after the last of `seeds` looks behind refused pods. */
  readonly tell?: (run: number, progress: Progress) => void;
};

/** Of what could not be taken over, so many are named. */
const mostNamed = 5;

const notesOf = ({ leftOut }: ClusterSnapshot, unloaded: ReadonlySet<string>): readonly string[] => {
  const named = [...unloaded].sort();
  const rest = named.length > mostNamed ? [`${named.length - mostNamed} more objects could not be taken over`] : [];
  return [
    ...leftOut.map(what => `not in the copy: ${what}`),
    ...named.slice(0, mostNamed).map(what => `could not be taken over: ${what}`),
    ...rest,
  ];
};

const countsOf = (copy: ClusterSnapshot, loaded: readonly JsonObject[]): Forecast['copied'] => {
  const count = (kind: string): number => ofKind(copy.objects, kind).length;
  return { nodes: count('Node'), pods: count('Pod'), budgets: count('PodDisruptionBudget'), loadedPods: ofKind(loaded, 'Pod').length };
};

/**
 * Plays maintenances on a copy of a cluster, with the operator itself, in simulated time, once for each seed, and says how that goes. Nothing
 * outside this process is asked or changed. Throws a WishError when the API would refuse a maintenance.
 */
export const rehearse = async ({
  copy,
  order,
  seeds,
  defaults,
  clientLimit,
  tell = () => {},
  fewPods = usualFewPods,
  ...rest
}: RehearsalOptions): Promise<Forecast> => {
  const { takenAt } = copy;
  const workloads = new Workloads(copy.objects);
  const learned = new PodTimings(copy.objects, workloads, defaults);
  const pace = learnLimits(copy.objects, clientLimit);
  const targets = new Set(order.plannedMaintenances.map(({ node }) => node));
  const objects = prepared(reduce(unique(copy.objects), targets, fewPods), takenAt);
  const sandboxOptions: SandboxOptions = { ...rest, takenAt, learned, limits: pace.limits, objects, sick: sickIn(copy.objects, takenAt) };
  const unloaded = new Set<string>();
  const runs: Run[] = [];
  for (let seed = 1; seed <= seeds; seed += 1) {
    const options = { seed, workloads, unloaded: (what: string) => void unloaded.add(what) };
    runs.push(await simulate(sandboxOptions, order, { ...options, tell: progress => tell(seed, progress) }));
  }
  const behind = await lookBehind(runs, order, async wider => {
    const options = { seed: 1, workloads, unloaded: () => {} };
    return simulate(sandboxOptions, wider, { ...options, tell: progress => tell(seeds + 1, progress) });
  });
  const copied = countsOf(copy, objects);
  const moved = new Set(runs.flatMap(({ levels }) => levels.map(({ workload }) => workload)));
  const about = {
    takenAt: takenAt.toString(),
    copied,
    learned: { ...learned.from([...moved].sort()), controlPlane: pace.from },
    notes: notesOf(copy, unloaded),
  };
  return forecastOf(runs, { ...about, ...(behind && { behind }) });
};
