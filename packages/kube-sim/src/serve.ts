import { createHash } from 'node:crypto';
import type { Server as HttpServer, IncomingMessage, ServerResponse } from 'node:http';
import { createSecureServer, type Http2SecureServer } from 'node:http2';
import type { Socket } from 'node:net';
import { boundConnections, boundedServer, connectionLimits, errorText } from '@drydock/utils';
import { parse as parseYaml } from 'yaml';
import { askedBy, authorize, type RequestAttributes, type User } from './access/authorize.ts';
import { protobufType } from './api/body.ts';
import type { ApiRequest, Body, Response, WatchEvent } from './api/message.ts';
import type { EmbeddedCluster } from './cluster.ts';
import { type Failure, noWebSockets, tooLarge, unauthorized } from './failure.ts';

export type ServeOptions = {
  /**
   * Users by token, which clients present as `Authorization: Bearer TOKEN`. Roles define their
   * rights.
   */
  readonly tokens: Readonly<Record<string, User>>;
  /** Callback for every request after its response; for a watch, after its start. */
  readonly heard?: (call: RequestLog) => void;
  /** Port; any free one when left out. */
  readonly port?: number;
  /** Certificate and key as PEM; plain HTTP without. */
  readonly tls?: { readonly certificate: string; readonly key: string };
};

/**
 * One request with its result. Times are milliseconds since 1970 by the machine's clock, with
 * microseconds as fractions.
 */
export type RequestLog = {
  readonly user: User;
  readonly asked: RequestAttributes;
  /** URL with the query. */
  readonly url: string;
  readonly userAgent: string;
  /** Content type of its body; empty without one. */
  readonly contentType: string;
  readonly status: number;
  /** Whether no role allows it. */
  readonly forbidden: boolean;
  readonly receivedAt: number;
  readonly answeredAt: number;
};

/** The user with all rights. */
export const administrator: User = {
  name: 'admin',
  groups: ['system:masters', 'system:authenticated'],
};

export type Serving = { readonly url: string; close(): Promise<void> };

/** Limit of streams on a connection, as in kube-apiserver. */
const maxConcurrentStreams = 100;

/**
 * Idle timeout in milliseconds, longer than that of clients (client-go: 90 s): otherwise the server
 * may close a connection just when a request is sent.
 */
const idleMs = 100_000;

/**
 * Serves a cluster's API on 127.0.0.1 to clients with one of the tokens: over HTTP/1.1, and with
 * TLS over HTTP/2 too, as kube-apiserver does.
 */
export async function serve(cluster: EmbeddedCluster, options: ServeOptions): Promise<Serving> {
  const users = new Map(
    Object.entries(options.tokens).map(([token, user]) => [digest(token), user]),
  );
  const listener = (incoming: IncomingMessage, outgoing: ServerResponse): void => {
    // All errors of clients have a response; an exception here is a defect, and breaks the client's
    // connection.
    respond(cluster, { users, ...options }, incoming, outgoing).catch((error: unknown) =>
      outgoing.destroy(error instanceof Error ? error : undefined),
    );
  };
  const { tls } = options;
  const server =
    tls === undefined
      ? boundedServer(
          {
            connections: connectionLimits.embedded,
            requestTimeout: 300_000,
            keepAliveTimeout: idleMs,
          },
          listener,
        )
      : createSecureServer(
          {
            cert: tls.certificate,
            key: tls.key,
            allowHTTP1: true,
            noDelay: true,
            http1Options: { keepAliveTimeout: idleMs },
            settings: { maxConcurrentStreams },
          },
          // Node gives HTTP/2 streams the interface of HTTP/1.1 (its compatibility API); only the
          // types differ.
          listener as unknown as Parameters<typeof createSecureServer>[1],
        );
  if (tls !== undefined) boundConnections(server, connectionLimits.embedded);
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  const port = await listening(server, options.port ?? 0);
  return {
    url: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

function listening(server: HttpServer | Http2SecureServer, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => {
      const address = server.address();
      if (address === null || typeof address === 'string')
        reject(new Error('the server has no port'));
      else resolve(address.port);
    });
  });
}

/**
 * Returns the digest by which tokens are looked up, so that the lookup's duration reveals nothing
 * about them.
 */
function digest(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}

function bearerOf(header = ''): string {
  return /^Bearer +(\S+)$/i.exec(header)?.[1] ?? '';
}

type Site = Pick<ServeOptions, 'heard'> & { readonly users: ReadonlyMap<string, User> };

function now(): number {
  return performance.timeOrigin + performance.now();
}

async function respond(
  cluster: EmbeddedCluster,
  { users, heard }: Site,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const receivedAt = now();
  const bytes = await bytesOf(incoming);
  const user = users.get(digest(bearerOf(incoming.headers.authorization)));
  if (user === undefined) return send(outgoing, refusal(unauthorized()));
  if (incoming.headers.upgrade?.toLowerCase() === 'websocket')
    return send(outgoing, refusal(noWebSockets()));
  if (bytes === undefined) return send(outgoing, refusal(tooLarge(largestBody)));
  const request = requestOf(incoming, bytes);
  const asked = askedBy(request, cluster.registry.kinds);
  const veto = authorize(cluster.registry.store, user, asked);
  const response = veto === undefined ? await cluster.respond(request, user) : refusal(veto);
  const status = response.kind === 'watch' ? 200 : response.status;
  const { url = '' } = incoming;
  heard?.({
    user,
    asked,
    url,
    userAgent: request.userAgent,
    contentType: request.contentType,
    status,
    forbidden: veto !== undefined,
    receivedAt,
    answeredAt: now(),
  });
  if (response.kind === 'watch') return stream(response, outgoing);
  return send(outgoing, response);
}

function refusal(failure: Failure): Exclude<Response, { readonly kind: 'watch' }> {
  return {
    kind: 'object',
    status: failure.code,
    headers: {},
    body: failure,
  };
}

/** Limit of a body in bytes: MaxRequestBodyBytes of kube-apiserver. */
const largestBody = 3 * 1024 * 1024;

/** Returns the whole body; undefined for one that is too large, of which nothing is kept. */
async function bytesOf(incoming: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of incoming) {
    length += (chunk as Uint8Array).length;
    if (length > largestBody) chunks.length = 0;
    else chunks.push(chunk as Uint8Array);
  }
  return length > largestBody ? undefined : Buffer.concat(chunks);
}

function requestOf(incoming: IncomingMessage, bytes: Buffer): ApiRequest {
  const url = new URL(incoming.url ?? '/', 'http://127.0.0.1');
  const {
    accept = '*/*',
    'content-type': contentType = '',
    'user-agent': userAgent = '',
  } = incoming.headers;
  return {
    method: incoming.method ?? 'GET',
    path: url.pathname,
    query: new Map(url.searchParams),
    accept,
    contentType,
    userAgent,
    body: bodyOf(bytes, contentType),
  };
}

function bodyOf(bytes: Buffer, contentType: string): Body {
  if (contentType.startsWith(protobufType)) return { kind: 'protobuf', bytes };
  const text = bytes.toString('utf8');
  if (text === '') return { kind: 'none' };
  try {
    const isYaml = contentType.includes('yaml') && !text.trimStart().startsWith('{');
    return {
      kind: 'json',
      value: isYaml ? (parseYaml(text) as unknown) : (JSON.parse(text) as unknown),
    };
  } catch (error) {
    return { kind: 'unreadable', why: errorText(error), text };
  }
}

function send(
  outgoing: ServerResponse,
  response: Exclude<Response, { readonly kind: 'watch' }>,
): void {
  const body = response.kind === 'text' ? response.body : `${JSON.stringify(response.body)}\n`;
  const headers = {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    ...response.headers,
  };
  outgoing.writeHead(response.status, headers).end(body);
}

/** Writes one event a line, until either side ends the stream. */
function stream(
  response: Extract<Response, { readonly kind: 'watch' }>,
  outgoing: ServerResponse,
): void {
  outgoing.writeHead(200, { 'content-type': 'application/json' });
  outgoing.flushHeaders();
  const watching = response.open({
    event: (event: WatchEvent) => {
      outgoing.write(`${JSON.stringify(event)}\n`);
    },
    ended: () => {
      outgoing.end();
    },
  });
  outgoing.once('close', () => watching.close());
}
