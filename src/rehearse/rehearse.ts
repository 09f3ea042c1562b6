import { type CopyOptions, PlayableCopy } from './prepare/sandbox-options.ts';
import { lookBehind } from './report/behind.ts';
import { type Forecast, forecastOf } from './report/forecast.ts';
import { type Order, type Progress, type Run, simulate } from './simulate/run.ts';

export type RehearsalOptions = CopyOptions & {
  readonly order: Order;
  /** How often it is played. */
  readonly seeds: number;
  /** Told every second or so of simulated time. A run after the last of `seeds` looks behind refused pods. */
  readonly tell?: (run: number, progress: Progress) => void;
};

/**
 * Plays maintenances on a copy of a cluster, with the operator itself, in simulated time, once for each seed, and says how that goes. Nothing
 * outside this process is asked or changed. Throws a PlannedMaintenanceError when the API would refuse a maintenance.
 */
export const rehearse = async ({ order, seeds, tell = () => {}, ...options }: RehearsalOptions): Promise<Forecast> => {
  const copy = new PlayableCopy(options, new Set(order.plannedMaintenances.map(({ node }) => node)));
  const { sandboxOptions, workloads, unloaded } = copy;
  const runs: Run[] = [];
  for (let seed = 1; seed <= seeds; seed += 1) {
    const told = (progress: Progress): void => tell(seed, progress);
    runs.push(await simulate(sandboxOptions, order, { seed, workloads, unloaded, tell: told }));
  }
  const behind = await lookBehind(runs, order, async wider => {
    const told = (progress: Progress): void => tell(seeds + 1, progress);
    return simulate(sandboxOptions, wider, { seed: 1, workloads, unloaded: () => {}, tell: told });
  });
  return forecastOf(runs, { ...copy.about(runs), ...(behind && { behind }) });
};
