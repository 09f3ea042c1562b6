import { createServer, type RequestListener, type Server } from 'node:http';
import {
  createServer as createTlsServer,
  type ServerOptions as TlsOptions,
  type Server as TlsServer,
} from 'node:https';
import type { Server as NetServer, Socket } from 'node:net';

/**
 * Limits for every server: anyone who reaches a port may open connections, and each costs memory
 * before its client is authenticated (45 KiB with TLS). Connections beyond the limit are closed at
 * once, silent ones within seconds. No other file creates a server (bounded-server.test.ts).
 */

/** Limits of concurrent connections, by purpose. */
export const connectionLimits = {
  /** Health, metrics, the event intake, the dashboard: few clients, with a connection each. */
  pages: 128,
  /**
   * Webhook: API servers open a connection for each review in flight, which may be some hundred
   * when a cluster is torn down.
   */
  webhook: 512,
  /**
   * The embedded cluster, local to this machine: clients watch, some over a connection for each
   * watch.
   */
  embedded: 4096,
} as const;

/**
 * Timeouts in milliseconds: for the head of a request, for the whole request, and for the TLS
 * handshake; checked every few seconds.
 */
const timeouts = {
  headersTimeout: 10_000,
  requestTimeout: 15_000,
  connectionsCheckingInterval: 5000,
} as const;
const handshakeTimeout = 10_000;

/** Largest share of one address, so that one greedy client leaves room for the others. */
const shareOfOne = 7 / 8;

/** Closes connections beyond the limit as soon as they arrive. */
export function boundConnections(server: NetServer, most: number): void {
  server.maxConnections = most;
  const ofOne = Math.ceil(most * shareOfOne);
  const open = new Map<string, number>();
  server.on('connection', (socket: Socket) => {
    const address = socket.remoteAddress ?? '';
    const here = (open.get(address) ?? 0) + 1;
    if (here > ofOne) {
      socket.destroy();
      return;
    }
    open.set(address, here);
    socket.once('close', () => {
      const left = (open.get(address) ?? 1) - 1;
      if (left === 0) open.delete(address);
      else open.set(address, left);
    });
  });
}

type Limits = {
  readonly connections: number;
  readonly requestTimeout?: number;
  readonly keepAliveTimeout?: number;
};

/** Creates an HTTP server. */
export function boundedServer(
  { connections, ...times }: Limits,
  listener: RequestListener,
): Server {
  const server = createServer({ ...timeouts, ...times }, listener);
  boundConnections(server, connections);
  return server;
}

/** Creates an HTTPS server with TLS 1.2 or newer. Handshakes fail until a certificate is set. */
export function boundedTlsServer(
  { connections, ...options }: Limits & Readonly<TlsOptions>,
  listener: RequestListener,
): TlsServer {
  const server = createTlsServer(
    { minVersion: 'TLSv1.2', ...timeouts, handshakeTimeout, ...options },
    listener,
  );
  boundConnections(server, connections);
  return server;
}
