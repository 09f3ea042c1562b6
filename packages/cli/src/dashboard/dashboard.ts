import { kindsOf } from '@drydock/operator/discovery';
import type { Env } from '@drydock/utils';
import { pinoLog } from '@drydock/utils/pino-log';
import type { ConnectionFlags } from '../shared/connection-flags.ts';
import { plainOutput } from '../shared/output.ts';
import { withCluster } from '../shared/with-cluster.ts';
import { openPage, pagePort, untilStopped } from './page.ts';

export type DashboardFlags = ConnectionFlags & { readonly port?: string };

/**
 * `drydock dashboard`: serves the dashboard for the chosen cluster, as the user of the kubeconfig,
 * until SIGINT or SIGTERM.
 */
export function dashboard(flags: DashboardFlags, env: Env): Promise<void> {
  const port = pagePort(flags.port);
  return withCluster(flags, env, async connection => {
    const log = pinoLog({
      format: 'text',
      level: 'warn',
      stream: process.stderr,
      colour: process.stderr.isTTY,
    });
    const adapters = await kindsOf(connection, env);
    const page = await openPage({
      ports: connection,
      adapters,
      cluster: connection.server,
      port,
      clock: connection.clock,
      log,
    });
    plainOutput.line(`Dashboard of ${connection.server}:`);
    plainOutput.line(`  ${page.url}`);
    plainOutput.line(
      'Anybody with this link acts in the cluster with your rights. Press Ctrl-C to stop.',
    );
    await untilStopped();
    await page.close();
  });
}
