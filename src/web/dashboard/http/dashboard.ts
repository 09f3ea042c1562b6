import type { Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { KindAdapter } from '../../../core/request/request.ts';
import type { Watcher } from '../../../operator/ports.ts';
import { boundedServer, connectionLimits } from '../../../support/bounded-server.ts';
import type { Clock } from '../../../support/clock.ts';
import type { Log } from '../../../support/log.ts';
import type { PanicHandler } from '../../../support/panic-handler.ts';
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
  /** Follows the cluster that is shown. */
  readonly watcher: Watcher;
  readonly adapters: readonly KindAdapter[];
  /** Reads what is announced about machines; they are not looked at when left out. */
  readonly machines?: MachineClient;
  /** Reads plans; they are not looked at when left out. */
  readonly plans?: PlanClient;
  /** The hosts of a simulated cloud: whoever may act has something announced about them. */
  readonly hosts?: DemoCloud | undefined;
  readonly access: Access;
  /** Which cluster this is, for people. */
  readonly cluster: string;
  /** Where it listens; 127.0.0.1 when left out. */
  readonly host?: string;
  /** 0 is any free one. */
  readonly port: number;
  readonly clock: Clock;
  readonly log: Log;
  readonly defects: PanicHandler;
};

export type Dashboard = {
  /** With the token in its fragment where one is needed: browsers send a fragment to nobody. */
  readonly url: string;
  readonly port: number;
  /** Ends everything, open streams too. */
  close(): Promise<void>;
};

const listening = async (server: Server, host: string, port: number): Promise<number> => {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port }, resolve);
  });
  return (server.address() as AddressInfo).port;
};

const failed = (error: unknown, response: ServerResponse, { log, defects }: DashboardOptions): void => {
  // Whoever asked has hung up: there is nobody to be answered.
  if (response.destroyed) return;
  log.error('the dashboard failed to respond', { error: defects.textOf('Process', 'dashboard', error) });
  if (response.headersSent) response.destroy();
  else answerJson(response, 500, { message: 'internal error: see the log of the command that serves this dashboard' });
};

const urlOf = (host: string, port: number, access: Access): string => {
  const name = host.includes(':') ? `[${host}]` : host;
  return `http://${name}:${port}/${access.kind === 'link' ? `#${access.token}` : ''}`;
};

/** Serves the dashboard and follows the cluster for it. Rejects when the address cannot be had. */
export const startDashboard = async (options: DashboardOptions): Promise<Dashboard> => {
  const { hosts, access, host = '127.0.0.1', clock } = options;
  const assets = readAssets();
  const observer = new Observer({ ...options, simulated: hosts !== undefined, access: access.kind });
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
};
