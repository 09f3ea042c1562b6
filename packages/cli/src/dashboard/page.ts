import { randomBytes } from 'node:crypto';
import { machineAdapter, planAdapter } from '@drydock/apis';
import type { KindAdapter } from '@drydock/core/request';
import type { DemoCloud } from '@drydock/dashboard';
import { type Dashboard, startDashboard } from '@drydock/dashboard';
import type { Api, Watcher } from '@drydock/kube-client';
import type { Clock, Log } from '@drydock/utils';
import { errorText, PanicHandler, UsageError } from '@drydock/utils';
import { onStop } from '../shared/on-stop.ts';

/** Default port of the dashboard. */
const defaultPort = 8720;

/**
 * Returns the value of `--port`; undefined when it is left out. Throws a UsageError that names the
 * flag.
 */
export function pagePort(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const port = Number(text);
  if (text === '' || !Number.isInteger(port) || port < 0 || port > 65_535) {
    throw new UsageError(
      `invalid value "${text}" for --port: expected a number up to 65535, or 0 for any free port`,
    );
  }
  return port;
}

type PageOptions = {
  /** Client for all reads and writes, with its user's rights. */
  readonly ports: Api & Watcher;
  readonly adapters: readonly KindAdapter[];
  readonly cluster: string;
  readonly port: number | undefined;
  /** Hosts of a simulated cloud. */
  readonly hosts?: DemoCloud | undefined;
  readonly clock: Clock;
  readonly log: Log;
};

function isTaken(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
}

/**
 * Serves the dashboard on this machine, for everyone who has its link. Without a port it takes the
 * default, or any free one where that is in use; a requested port that is not available is a
 * UsageError.
 */
export async function openPage({
  ports,
  adapters,
  cluster,
  port,
  hosts,
  clock,
  log,
}: PageOptions): Promise<Dashboard> {
  const token = randomBytes(24).toString('base64url');
  const common = {
    watcher: ports,
    adapters,
    machines: machineAdapter,
    plans: planAdapter,
    hosts,
    cluster,
    clock,
    log,
    defects: new PanicHandler({ log }),
  };
  const on = (port: number): Promise<Dashboard> =>
    startDashboard({ ...common, access: { kind: 'link', token, api: ports }, port });
  try {
    return await on(port ?? defaultPort);
  } catch (error) {
    if (port === undefined && isTaken(error)) return on(0);
    const cause = errorText(error);
    throw new UsageError(`failed to serve the dashboard on port ${port ?? defaultPort}: ${cause}`, {
      cause: error,
    });
  }
}

/** Resolves at the first SIGINT or SIGTERM. */
export function untilStopped(): Promise<void> {
  return new Promise(resolve => onStop(() => resolve()));
}
