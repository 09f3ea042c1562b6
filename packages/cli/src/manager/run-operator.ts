import { newManager } from '@drydock/operator/manager';
import type { Env, Log } from '@drydock/utils';
import { pinoLog } from '@drydock/utils/pino-log';
import { connectionOf } from '../shared/connection-flags.ts';
import { stopSignal } from '../shared/stop-signal.ts';
import { version } from '../shared/version.ts';
import { openOperatorDashboard } from './operator-dashboard.ts';
import { type OperatorFlags, type OperatorSettings, operatorSettings } from './operator-flags.ts';

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
