import {
  createServer,
  type IncomingMessage,
  Agent as PlainAgent,
  request as plainRequest,
  type RequestListener,
  type Server,
} from 'node:http';
import {
  Agent,
  createServer as createTlsServer,
  type ServerOptions as TlsOptions,
  type Server as TlsServer,
  request as tlsRequest,
} from 'node:https';
import type { Server as NetServer, Socket } from 'node:net';
import { type ProxyFor, proxyFromEnvironment, throughProxy } from './proxy.ts';

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

type ServerLimits = {
  readonly connections: number;
  readonly requestTimeout?: number;
  readonly keepAliveTimeout?: number;
};

/** Creates an HTTP server. */
export function boundedServer(
  { connections, ...times }: ServerLimits,
  listener: RequestListener,
): Server {
  const server = createServer({ ...timeouts, ...times }, listener);
  boundConnections(server, connections);
  return server;
}

/** Creates an HTTPS server with TLS 1.2 or newer. Handshakes fail until a certificate is set. */
export function boundedTlsServer(
  { connections, ...options }: ServerLimits & Readonly<TlsOptions>,
  listener: RequestListener,
): TlsServer {
  const server = createTlsServer(
    { minVersion: 'TLSv1.2', ...timeouts, handshakeTimeout, ...options },
    listener,
  );
  boundConnections(server, connections);
  return server;
}

/** One HTTP request, with its body as text. */
export type HttpRequest = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
};

/** One HTTP response; names of headers are in lower case. */
export type HttpResponse = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly text: string;
};

/**
 * Sends one request and returns its response, whatever the status; redirects are not followed.
 * Rejects when no response arrives, and with the signal's reason.
 */
export type HttpTransport = (asking: HttpRequest, signal: AbortSignal) => Promise<HttpResponse>;

export type ExchangeOptions = {
  /** Authorities to trust, in PEM, instead of the system's. */
  readonly ca?: string | Buffer;
  /** Client certificate, in PEM. */
  readonly cert?: string;
  readonly key?: string;
  /** Name that the server's certificate must have, instead of the address's host. */
  readonly serverName?: string;
  /** Whether any certificate is trusted. */
  readonly insecure?: boolean;
  /** Limit of a response in bytes; larger ones are refused. */
  readonly mostBytes: number;
  /** Whether only the status matters: the body is left unread, and the text is empty. */
  readonly headOnly?: boolean;
  /** Whether connections are kept alive for the next call. */
  readonly keepAlive: boolean;
  /** Choice of the proxy; from the environment when left out. */
  readonly proxyFor?: ProxyFor;
};

/** A response that exceeds the limit. */
export class AnswerTooLarge extends Error {
  override readonly name = 'AnswerTooLarge';

  constructor() {
    super('the answer is too large');
  }
}

type ResponseLimits = Required<Pick<ExchangeOptions, 'mostBytes' | 'headOnly'>>;

/** Reads a response up to the limit. Rejects with an AnswerTooLarge. */
function sayingOf(
  response: IncomingMessage,
  { mostBytes, headOnly }: ResponseLimits,
): Promise<HttpResponse> {
  return new Promise((resolve, reject) => {
    const { statusCode: status = 0 } = response;
    const headers = response.headers as HttpResponse['headers'];
    if (headOnly) {
      response.on('error', () => {}).destroy();
      return resolve({ status, headers, text: '' });
    }
    const parts: Buffer[] = [];
    let size = 0;
    response.on('data', (part: Buffer) => {
      size += part.length;
      if (size > mostBytes) response.destroy(new AnswerTooLarge());
      else parts.push(part);
    });
    response.on('error', reject);
    response.on('end', () =>
      resolve({ status, headers, text: Buffer.concat(parts).toString('utf8') }),
    );
  });
}

/** Caches what `make` returns, for each proxy and for direct connections. */
function oncePerProxy<Made>(
  make: (proxy: string | undefined) => Made,
): (proxy: string | undefined) => Made {
  const made = new Map<string | undefined, Made>();
  return proxy => {
    const known = made.get(proxy) ?? make(proxy);
    made.set(proxy, known);
    return known;
  };
}

/**
 * Returns a transport for HTTP and HTTPS, with at most eight connections to each server, through
 * the configured proxy. Throws for invalid certificates and keys.
 */
export function createTransport({
  ca,
  cert,
  key,
  serverName,
  insecure = false,
  mostBytes,
  headOnly = false,
  keepAlive,
  proxyFor = proxyFromEnvironment(process.env),
}: ExchangeOptions): HttpTransport {
  const sockets = { keepAlive, maxSockets: 8 };
  const tls = {
    rejectUnauthorized: !insecure,
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
    ...(serverName !== undefined && { servername: serverName }),
  };
  const agents = oncePerProxy(proxy => {
    const options = { ...sockets, ...throughProxy(proxy) };
    return { tls: new Agent({ ...options, ...tls }), plain: new PlainAgent(options) };
  });
  return ({ method, url, headers, body }, signal) =>
    new Promise((resolve, reject) => {
      const isTls = url.startsWith('https:');
      const ours = agents(proxyFor(new URL(url)));
      const lengths =
        body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
      const options = {
        method,
        signal,
        headers: { ...headers, ...lengths },
        agent: isTls ? ours.tls : ours.plain,
      };
      const read = (response: IncomingMessage): void =>
        void sayingOf(response, { mostBytes, headOnly }).then(resolve, reject);
      const asked = (isTls ? tlsRequest : plainRequest)(url, options, read);
      asked.on('error', error => reject(signal.aborted ? signal.reason : error));
      asked.end(body);
    });
}
