import type { Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { KindAdapter } from '@drydock/core/request';
import type { Watcher } from '@drydock/kube-client';
import type { Clock, Log, PanicHandler } from '@drydock/utils';
import { boundedServer, connectionLimits } from '@drydock/utils';
import type { DemoCloud } from '../actions/demo-cloud.ts';
import { readAssets } from '../assets.ts';
import { SseClients } from '../stream/sse-clients.ts';
import type { MachineClient } from '../watch/machine-watch.ts';
import { Observer } from '../watch/observer.ts';
import type { PlanClient } from '../watch/plan-watch.ts';
import { answerJson } from './answer.ts';
import { hostsOf } from './guard.ts';
import { type Access, answer, type Served } from './routes.ts';

export type DashboardOptions = {
  /** Watcher of the shown cluster. */
  readonly watcher: Watcher;
  readonly adapters: readonly KindAdapter[];
  /** Reader of machine maintenances; they are not watched when left out. */
  readonly machines?: MachineClient;
  /** Reader of plans; they are not watched when left out. */
  readonly plans?: PlanClient;
  /** Hosts of a simulated cloud: users who may act can have it announce events. */
  readonly hosts?: DemoCloud | undefined;
  readonly access: Access;
  /** Name of the cluster, for people. */
  readonly cluster: string;
  /** Host to listen on; 127.0.0.1 when left out. */
  readonly host?: string;
  /** Port to listen on; 0 means any free one. */
  readonly port: number;
  readonly clock: Clock;
  readonly log: Log;
  readonly defects: PanicHandler;
};

export type Dashboard = {
  /** URL with the token in its fragment where one is needed: browsers do not send fragments. */
  readonly url: string;
  readonly port: number;
  /** Ends everything, including open streams. */
  close(): Promise<void>;
};

async function listening(server: Server, host: string, port: number): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port }, resolve);
  });
  return (server.address() as AddressInfo).port;
}

function failed(
  error: unknown,
  response: ServerResponse,
  { log, defects }: DashboardOptions,
): void {
  // The client has disconnected: no response is possible.
  if (response.destroyed) return;
  log.error('the dashboard failed to respond', {
    error: defects.textOf('Process', 'dashboard', error),
  });
  if (response.headersSent) response.destroy();
  else
    answerJson(response, 500, {
      message: 'internal error: see the log of the command that serves this dashboard',
    });
}

function urlOf(host: string, port: number, access: Access): string {
  const name = host.includes(':') ? `[${host}]` : host;
  return `http://${name}:${port}/${access.kind === 'link' ? `#${access.token}` : ''}`;
}

/**
 * Serves the dashboard and watches the cluster for it. Rejects when the address is not available.
 */
export async function startDashboard(options: DashboardOptions): Promise<Dashboard> {
  const { hosts, access, host = '127.0.0.1', clock } = options;
  const assets = readAssets();
  const observer = new Observer({
    ...options,
    simulated: hosts !== undefined,
    access: access.kind,
  });
  const clients = new SseClients(observer, clock);
  let names: ReadonlySet<string> = new Set();
  const server = boundedServer({ connections: connectionLimits.pages }, (request, response) => {
    const served: Served = { access, assets, observer, clients, hosts, names };
    answer(request, response, served).catch((error: unknown) => failed(error, response, options));
  });
  const done = new AbortController();
  const port = await listening(server, host, options.port).catch((error: unknown) => {
    clients.end();
    throw error;
  });
  names = hostsOf(host, port);
  const running = observer.run(done.signal);
  const close = async (): Promise<void> => {
    done.abort();
    clients.end();
    const closed = new Promise(resolve => server.close(resolve));
    server.closeAllConnections();
    await Promise.all([running, closed]);
  };
  return { url: urlOf(host, port, access), port, close };
}
