import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer, type ServerOptions as TlsOptions, type Server as TlsServer } from 'node:https';
import type { Server as NetServer, Socket } from 'node:net';

/**
 * The door of every server: whoever reaches a port may open connections to it, and each costs memory before anybody is known (45 KiB with TLS). More at the same time than a server is for
 * are closed at once; who has nothing to say is closed in seconds. No other file makes a server (bounded-server.test.ts).
 */

/** Connections at the same time, by what is served. */
export const connectionLimits = {
  /** Health, metrics, the event intake, the dashboard: few clients, a connection each. */
  pages: 128,
  /** API servers make a connection for each review that is under way, and some hundred may be when a cluster is taken apart. */
  webhook: 512,
  /** The embedded cluster, on this machine alone: clients watch, some over a connection for each watch. */
  embedded: 4096,
} as const;

/** Who has begun a request has so long to send its head, and a TLS client to shake hands. Looked after every few seconds. */
const timeouts = { headersTimeout: 10_000, requestTimeout: 15_000, connectionsCheckingInterval: 5000 } as const;
const handshakeTimeout = 10_000;

/** One address gets no more than this share, so that one client that takes all it can get leaves room for the others. */
const shareOfOne = 7 / 8;

/** Closes connections beyond the limit as soon as they come. */
export const boundConnections = (server: NetServer, most: number): void => {
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
};

type Limits = { readonly connections: number; readonly requestTimeout?: number; readonly keepAliveTimeout?: number };

/** A server of plain HTTP. */
export const boundedServer = ({ connections, ...times }: Limits, listener: RequestListener): Server => {
  const server = createServer({ ...timeouts, ...times }, listener);
  boundConnections(server, connections);
  return server;
};

/** A server of HTTPS, TLS 1.2 or newer. Until a certificate is set handshakes fail. */
export const boundedTlsServer = ({ connections, ...options }: Limits & Readonly<TlsOptions>, listener: RequestListener): TlsServer => {
  const server = createTlsServer({ minVersion: 'TLSv1.2', ...timeouts, handshakeTimeout, ...options }, listener);
  boundConnections(server, connections);
  return server;
};
