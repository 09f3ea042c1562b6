import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import {
  createSecureServer as createHttp2Server,
  type Http2SecureServer,
  type ServerHttp2Session,
  type Settings,
} from 'node:http2';
import { createServer as createSecureServer, type ServerOptions } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';

/** One request, as the server saw it. */
export type SeenRequest = {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
  /** Which connection it came over, counted from 1. */
  readonly connection: number;
};

/** Answers a request, well or badly. */
export type FaultResponder = (
  request: SeenRequest,
  incoming: ServerResponse,
) => void | Promise<void>;

/** With `http2` it speaks that too, with these settings, to whoever asks for it. */
export type FaultServerTls = ServerOptions & { readonly http2?: Settings };

/** An API server that does as a test tells it, misbehaviour included, on 127.0.0.1. */
export class FaultServer implements AsyncDisposable {
  readonly #server: Server | Http2SecureServer;
  readonly #secure: boolean;
  readonly #sockets = new Set<Socket>();
  /** Below TLS. */
  readonly #plain = new Set<Socket>();
  /** By the client's port: streams of HTTP/2 show no socket, but that. */
  readonly #connections = new Map<number | undefined, number>();
  /** HTTP/2 connections that are open now. */
  readonly sessions = new Set<ServerHttp2Session>();
  readonly requests: SeenRequest[] = [];
  /** How many connections there have been. */
  connections = 0;
  response: FaultResponder;

  private constructor(response: FaultResponder, tls: FaultServerTls | undefined) {
    this.response = response;
    this.#secure = tls !== undefined;
    const listener = (request: IncomingMessage, incoming: ServerResponse): void =>
      void this.#handle(request, incoming);
    this.#server = serverOf(tls, listener);
    this.#server.on('session', (session: ServerHttp2Session) => {
      this.sessions.add(session);
      session.once('close', () => this.sessions.delete(session));
    });
    this.#server.on('connection', (socket: Socket) => {
      this.#plain.add(socket);
      socket.once('close', () => this.#plain.delete(socket));
    });
    this.#server.on(tls === undefined ? 'connection' : 'secureConnection', (socket: Socket) =>
      this.#welcome(socket),
    );
    this.#server.on('tlsClientError', () => {});
  }

  static async start(response: FaultResponder, tls?: FaultServerTls): Promise<FaultServer> {
    const server = new FaultServer(response, tls);
    await new Promise<void>(resolve => server.#server.listen(0, '127.0.0.1', resolve));
    return server;
  }

  get url(): string {
    return `${this.#secure ? 'https' : 'http'}://127.0.0.1:${this.port}`;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Connections that are open now. */
  get open(): number {
    return this.#sockets.size;
  }

  /** Cuts all connections with a reset. */
  resetAll(): void {
    for (const socket of this.#plain) socket.resetAndDestroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise(resolve => this.#server.close(resolve));
  }

  #welcome(socket: Socket): void {
    this.connections += 1;
    this.#sockets.add(socket);
    this.#connections.set(socket.remotePort, this.connections);
    socket.on('error', () => {});
    socket.once('close', () => this.#sockets.delete(socket));
  }

  async #handle(request: IncomingMessage, incoming: ServerResponse): Promise<void> {
    incoming.on('error', () => {});
    let body = '';
    for await (const chunk of request.setEncoding('utf8')) body += String(chunk);
    const { pathname, searchParams } = new URL(request.url ?? '/', this.url);
    const seen: SeenRequest = {
      method: request.method ?? '',
      path: pathname,
      query: searchParams,
      headers: request.headers,
      body,
      connection: this.#connections.get(request.socket.remotePort) ?? 0,
    };
    this.requests.push(seen);
    await this.response(seen, incoming);
  }
}

const keepAliveTimeout = 60_000;

function serverOf(
  tls: FaultServerTls | undefined,
  listener: (request: IncomingMessage, incoming: ServerResponse) => void,
): Server | Http2SecureServer {
  if (tls === undefined) return createServer({ keepAliveTimeout }, listener);
  const { http2: settings, ...rest } = tls;
  if (settings === undefined) return createSecureServer({ ...rest, keepAliveTimeout }, listener);
  const options = { ...rest, allowHTTP1: true, http1Options: { keepAliveTimeout }, settings };
  // Its requests and answers have the face of HTTP/1.1 (Node's compatibility API), but other types.
  return createHttp2Server(options, listener as unknown as Parameters<typeof createHttp2Server>[1]);
}

/** Answers with JSON. */
export function json(
  incoming: ServerResponse,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  incoming
    .writeHead(status, { 'content-type': 'application/json', ...headers })
    .end(JSON.stringify(body));
}

/** Waits until something is so; fails after 20 s. */
export async function until(what: string, isSo: () => boolean): Promise<void> {
  const end = performance.now() + 20_000;
  while (!isSo()) {
    if (performance.now() > end) throw new Error(`it never came to: ${what}`);
    await new Promise(resolve => setTimeout(resolve, 5));
  }
}
