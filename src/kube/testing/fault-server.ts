import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
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
export type FaultResponder = (request: SeenRequest, incoming: ServerResponse) => void | Promise<void>;

/** An API server that does as a test tells it, misbehaviour included, on 127.0.0.1. */
export class FaultServer implements AsyncDisposable {
  readonly #server: Server;
  readonly #secure: boolean;
  readonly #sockets = new Map<Socket, number>();
  readonly requests: SeenRequest[] = [];
  /** How many connections there have been. */
  connections = 0;
  response: FaultResponder;

  private constructor(response: FaultResponder, tls: ServerOptions | undefined) {
    this.response = response;
    this.#secure = tls !== undefined;
    const listener = (request: IncomingMessage, incoming: ServerResponse): void => void this.#handle(request, incoming);
    this.#server = tls === undefined ? createServer(listener) : createSecureServer(tls, listener);
    this.#server.keepAliveTimeout = 60_000;
    this.#server.on(tls === undefined ? 'connection' : 'secureConnection', (socket: Socket) => this.#welcome(socket));
    this.#server.on('tlsClientError', () => {});
  }

  static async start(response: FaultResponder, tls?: ServerOptions): Promise<FaultServer> {
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
    for (const socket of this.#sockets.keys()) socket.resetAndDestroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets.keys()) socket.destroy();
    await new Promise(resolve => this.#server.close(resolve));
  }

  #welcome(socket: Socket): void {
    this.connections += 1;
    this.#sockets.set(socket, this.connections);
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
      connection: this.#sockets.get(request.socket) ?? 0,
    };
    this.requests.push(seen);
    await this.response(seen, incoming);
  }
}

/** Answers with JSON. */
export const json = (incoming: ServerResponse, status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): void => {
  incoming.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
};

/** Waits until something is so; fails after 20 s. */
export const until = async (what: string, isSo: () => boolean): Promise<void> => {
  const end = performance.now() + 20_000;
  while (!isSo()) {
    if (performance.now() > end) throw new Error(`it never came to: ${what}`);
    await new Promise(resolve => setTimeout(resolve, 5));
  }
};
