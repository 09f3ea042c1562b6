import { type CopyOptions, SandboxSnapshot } from './prepare/sandbox-options.ts';
import { forecastOf, hiddenBlockers, type RehearsalForecast } from './report/forecast.ts';
import { type Order, type RunProgress, type SimulatedRun, simulate } from './simulate/run.ts';

export type RehearsalOptions = CopyOptions & {
  readonly order: Order;
  /** Number of runs. */
  readonly seeds: number;
  /**
   * Callback for progress, about every second of simulated time. A run after the last of `seeds`
   * looks for blockers behind refused pods.
   */
  readonly onProgress?: (run: number, progress: RunProgress) => void;
};

/**
 * Simulates maintenances on a copy of a cluster, with the operator itself, in simulated time, once
 * for each seed, and returns the forecast. Contacts and changes nothing outside this process.
 * Throws a PlannedMaintenanceError when the API would refuse a maintenance.
 */
export async function rehearse({
  order,
  seeds,
  onProgress = () => {},
  ...options
}: RehearsalOptions): Promise<RehearsalForecast> {
  const copy = new SandboxSnapshot(
    options,
    new Set(order.plannedMaintenances.map(({ node }) => node)),
  );
  const { sandboxOptions, workloads, unloaded } = copy;
  const runs: SimulatedRun[] = [];
  for (let seed = 1; seed <= seeds; seed += 1) {
    const report = (progress: RunProgress): void => onProgress(seed, progress);
    runs.push(
      await simulate(sandboxOptions, order, { seed, workloads, unloaded, onProgress: report }),
    );
  }
  const behind = await hiddenBlockers(runs, order, async wider => {
    const report = (progress: RunProgress): void => onProgress(seeds + 1, progress);
    return simulate(sandboxOptions, wider, {
      seed: 1,
      workloads,
      unloaded: () => {},
      onProgress: report,
    });
  });
  return forecastOf(runs, { ...copy.about(runs), ...(behind && { behind }) });
}
