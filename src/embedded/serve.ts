import { createHash } from 'node:crypto';
import type { Server as HttpServer, IncomingMessage, ServerResponse } from 'node:http';
import { createSecureServer, type Http2SecureServer } from 'node:http2';
import type { Socket } from 'node:net';
import { parse as parseYaml } from 'yaml';
import { boundConnections, boundedServer, connectionLimits } from '../support/bounded-server.ts';
import { errorText } from '../support/error-text.ts';
import { askedBy, type RequestAttributes, type User } from './access/asked.ts';
import { authorize } from './access/authorize.ts';
import type { ApiRequest, Body, Response, WatchEvent } from './api/message.ts';
import { protobufType } from './api/protobuf-body.ts';
import type { EmbeddedCluster } from './cluster.ts';
import { type Failure, noWebSockets, tooLarge, unauthorized } from './failure.ts';

export type ServeOptions = {
  /** What clients must show, `Authorization: Bearer TOKEN`, and whom it makes them. Roles say what they may do. */
  readonly tokens: Readonly<Record<string, User>>;
  /** Is told of every request once it is answered; of a watch, when it has begun. */
  readonly heard?: (call: RequestLog) => void;
  /** Any free one when left out. */
  readonly port?: number;
  /** PEM texts; plain HTTP without. */
  readonly tls?: { readonly certificate: string; readonly key: string };
};

/** One request and what became of it. Times are milliseconds since 1970, of the machine, with the microseconds behind the point. */
export type RequestLog = {
  readonly user: User;
  readonly asked: RequestAttributes;
  /** With the query. */
  readonly url: string;
  readonly userAgent: string;
  /** Of its body; empty without one. */
  readonly contentType: string;
  readonly status: number;
  /** No role allows it. */
  readonly forbidden: boolean;
  readonly receivedAt: number;
  readonly answeredAt: number;
};

/** Who may do everything. */
export const administrator: User = { name: 'admin', groups: ['system:masters', 'system:authenticated'] };

export type Serving = { readonly url: string; close(): Promise<void> };

/** As kube-apiserver has it. */
const maxConcurrentStreams = 100;

/** Longer than clients keep a connection that has nothing to do (client-go: 90 s): else a request may meet the end of the connection that it is sent over. */
const idleMs = 100_000;

/** Serves a cluster's API on 127.0.0.1 to whoever has one of the tokens: over HTTP/1.1, and with TLS over HTTP/2 too, as kube-apiserver does. */
export const serve = async (cluster: EmbeddedCluster, options: ServeOptions): Promise<Serving> => {
  const users = new Map(Object.entries(options.tokens).map(([token, user]) => [digest(token), user]));
  const listener = (incoming: IncomingMessage, outgoing: ServerResponse): void => {
    // Everything that a client can cause has its answer; what is thrown here is a defect, and the client is told.
    respond(cluster, { users, ...options }, incoming, outgoing).catch((error: unknown) =>
      outgoing.destroy(error instanceof Error ? error : undefined),
    );
  };
  const { tls } = options;
  const server =
    tls === undefined
      ? boundedServer({ connections: connectionLimits.embedded, requestTimeout: 300_000, keepAliveTimeout: idleMs }, listener)
      : createSecureServer(
          {
            cert: tls.certificate,
            key: tls.key,
            allowHTTP1: true,
            noDelay: true,
            http1Options: { keepAliveTimeout: idleMs },
            settings: { maxConcurrentStreams },
          },
          // Node gives streams of HTTP/2 the face of HTTP/1.1 (its compatibility API); only its types are others.
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
};

const listening = (server: HttpServer | Http2SecureServer, port: number): Promise<number> =>
  new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => {
      const address = server.address();
      if (address === null || typeof address === 'string') reject(new Error('the server has no port'));
      else resolve(address.port);
    });
  });

/** Tokens are looked up by their digest: how long that takes tells nothing about them. */
const digest = (token: string): string => createHash('sha256').update(token).digest('hex');

const bearerOf = (header = ''): string => /^Bearer +(\S+)$/i.exec(header)?.[1] ?? '';

type Site = Pick<ServeOptions, 'heard'> & { readonly users: ReadonlyMap<string, User> };

const now = (): number => performance.timeOrigin + performance.now();

const respond = async (
  cluster: EmbeddedCluster,
  { users, heard }: Site,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> => {
  const receivedAt = now();
  const bytes = await bytesOf(incoming);
  const user = users.get(digest(bearerOf(incoming.headers.authorization)));
  if (user === undefined) return send(outgoing, refusal(unauthorized()));
  if (incoming.headers.upgrade?.toLowerCase() === 'websocket') return send(outgoing, refusal(noWebSockets()));
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
};

const refusal = (failure: Failure): Exclude<Response, { readonly kind: 'watch' }> => ({
  kind: 'object',
  status: failure.code,
  headers: {},
  body: failure,
});

/** MaxRequestBodyBytes of kube-apiserver. */
const largestBody = 3 * 1024 * 1024;

/** The whole body; undefined for one that is too large, of which nothing is kept. */
const bytesOf = async (incoming: IncomingMessage): Promise<Buffer | undefined> => {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of incoming) {
    length += (chunk as Uint8Array).length;
    if (length > largestBody) chunks.length = 0;
    else chunks.push(chunk as Uint8Array);
  }
  return length > largestBody ? undefined : Buffer.concat(chunks);
};

const requestOf = (incoming: IncomingMessage, bytes: Buffer): ApiRequest => {
  const url = new URL(incoming.url ?? '/', 'http://127.0.0.1');
  const { accept = '*/*', 'content-type': contentType = '', 'user-agent': userAgent = '' } = incoming.headers;
  return {
    method: incoming.method ?? 'GET',
    path: url.pathname,
    query: new Map(url.searchParams),
    accept,
    contentType,
    userAgent,
    body: bodyOf(bytes, contentType),
  };
};

const bodyOf = (bytes: Buffer, contentType: string): Body => {
  if (contentType.startsWith(protobufType)) return { kind: 'protobuf', bytes };
  const text = bytes.toString('utf8');
  if (text === '') return { kind: 'none' };
  try {
    const isYaml = contentType.includes('yaml') && !text.trimStart().startsWith('{');
    return { kind: 'json', value: isYaml ? (parseYaml(text) as unknown) : (JSON.parse(text) as unknown) };
  } catch (error) {
    return { kind: 'unreadable', why: errorText(error), text };
  }
};

const send = (outgoing: ServerResponse, response: Exclude<Response, { readonly kind: 'watch' }>): void => {
  const body = response.kind === 'text' ? response.body : `${JSON.stringify(response.body)}\n`;
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body), ...response.headers };
  outgoing.writeHead(response.status, headers).end(body);
};

/** One event a line, until either side ends it. */
const stream = (response: Extract<Response, { readonly kind: 'watch' }>, outgoing: ServerResponse): void => {
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
};
