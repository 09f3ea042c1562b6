import { type Connection, connect } from '@drydock/kube-client';
import { type ConnectionFlags, connectionOf } from './connection-flags.ts';
import { version } from './version.ts';

/**
 * Runs the work with a connection to the chosen cluster, and closes it. Throws a KubeconfigError
 * when no cluster is configured.
 */
export async function withCluster(
  flags: ConnectionFlags,
  env: Readonly<Record<string, string | undefined>>,
  work: (connection: Connection) => Promise<void>,
): Promise<void> {
  const connection = await connect({
    ...connectionOf(flags),
    env,
    userAgent: `drydock/${version()}`,
    interactive: process.stdin.isTTY,
  });
  try {
    await work(connection);
  } finally {
    connection.close();
  }
}
