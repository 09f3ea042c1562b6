import { machineAdapter, planAdapter } from '@drydock/apis';
import { startDashboard } from '@drydock/dashboard';
import { kindsHere } from '@drydock/operator/discovery';
import type { SharedParts } from '@drydock/operator/manager';
import { errorText, systemClock, UsageError } from '@drydock/utils';
import type { OperatorSettings } from './operator-flags.ts';

async function closed(): Promise<void> {}

/**
 * Serves the read-only dashboard, if the flag is set; returns a function that closes it. The same
 * in every replica, leader or not. Throws a UsageError when the address is not available.
 */
export async function openOperatorDashboard(
  settings: OperatorSettings,
  { connection, log, defects }: SharedParts,
  signal: AbortSignal,
): Promise<() => Promise<void>> {
  const { dashboardAddress: address } = settings;
  if (address?.host === undefined) return closed;
  const adapters = await kindsHere(
    { api: connection, clock: systemClock, log, defects, signal },
    settings,
  );
  if (adapters === undefined) return closed;
  const { host, port } = address;
  const common = {
    watcher: connection,
    adapters,
    machines: machineAdapter,
    plans: planAdapter,
    cluster: connection.server,
    clock: connection.clock,
    log,
    defects,
  };
  try {
    const dashboard = await startDashboard({
      ...common,
      access: { kind: 'read-only' },
      host,
      port,
    });
    log.info('serving the dashboard', { url: dashboard.url });
    return () => dashboard.close();
  } catch (error) {
    const cause = errorText(error);
    throw new UsageError(`failed to serve the dashboard on ${host}:${port}: ${cause}`, {
      cause: error,
    });
  }
}
