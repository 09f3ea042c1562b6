import { machineAdapter, planAdapter } from '@drydock/apis';
import { startDashboard } from '@drydock/dashboard';
import { kindsHere } from '@drydock/operator/discovery';
import { newManager, type SharedParts } from '@drydock/operator/manager';
import { type Env, errorText, type Log, systemClock, UsageError } from '@drydock/utils';
import { pinoLog } from '@drydock/utils/pino-log';
import { connectionOf } from '../shared/connection-flags.ts';
import { stopSignal } from '../shared/on-stop.ts';
import { version } from '../shared/version.ts';
import { type OperatorFlags, type OperatorSettings, operatorSettings } from './operator-flags.ts';

async function closed(): Promise<void> {}

/**
 * Serves the read-only dashboard, if the flag is set; returns a function that closes it. The same
 * in every replica, leader or not. Throws a UsageError when the address is not available.
 */
async function openOperatorDashboard(
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

function processLog({ logFormat: format, logLevel: level }: OperatorSettings): Log {
  const stream = process.stderr;
  return pinoLog({ format, level, stream, colour: stream.isTTY });
}

/**
 * `drydock operator`: runs until SIGINT or SIGTERM. Throws a UsageError for wrong flags, a
 * KubeconfigError without a cluster.
 */
export async function operator(flags: OperatorFlags, env: Env): Promise<void> {
  const settings = operatorSettings(flags, env, process.stderr.isTTY);
  const log = processLog(settings);
  const manager = await newManager({
    settings,
    cluster: connectionOf(flags),
    env,
    version: version(),
    log,
    serveBeside: (shared, signal) => openOperatorDashboard(settings, shared, signal),
  });
  await manager.start(stopSignal(log));
}
