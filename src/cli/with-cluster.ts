import { type Connection, connect } from '../kube/connect.ts';
import { version } from './version.ts';

type Flags = { readonly kubeconfig?: string; readonly context?: string };

/** Does the work with a connection to the chosen cluster, and closes it. Throws a KubeconfigError when there is none to be found. */
export const withCluster = async (
  flags: Flags,
  env: Readonly<Record<string, string | undefined>>,
  work: (connection: Connection) => Promise<void>,
): Promise<void> => {
  const { kubeconfig, context } = flags;
  const connection = await connect({ kubeconfig, context, env, userAgent: `drydock/${version()}`, interactive: process.stdin.isTTY });
  try {
    await work(connection);
  } finally {
    connection.close();
  }
};
