import type { Agent as HttpAgent, IncomingHttpHeaders } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { TLSSocket } from 'node:tls';
import { bareHost } from '@drydock/utils';
import { http } from './node-http.ts';

/** Headers as node:http takes them; a list is sent as several lines with the same name. */
export type RequestHeaders = Readonly<Record<string, string | readonly string[]>>;

/** One request, ready to send. */
export type WireInfo = {
  readonly server: URL;
  readonly agent: HttpAgent;
  readonly method: string;
  /** Path with the query. */
  readonly path: string;
  readonly headers: RequestHeaders;
  readonly body: string | undefined;
};

/** Head of a response, and the stream of its body. */
export type IncomingResponse = {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Readable;
};

/** Outcome of a request. */
export type Sent =
  | { readonly kind: 'answered'; readonly response: IncomingResponse }
  | {
      readonly kind: 'failed';
      readonly error: unknown;
      /** Whether the connection was up, TLS included. */
      readonly established: boolean;
      /** Whether bytes of this request may have reached the server. */
      readonly sent: boolean;
      /**
       * Whether the connection had served other requests before: the server may have closed it
       * under this one.
       */
      readonly reused: boolean;
    };

/**
 * Sends one request and waits for the head of the response. Never rejects. Aborting the signal
 * closes the connection, at any time until the body has been read to its end.
 */
export function send(wire: WireInfo, signal: AbortSignal): Promise<Sent> {
  return new Promise(resolve => {
    const trace = new SocketTrace();
    const fail = (error: unknown): void => resolve({ kind: 'failed', error, ...trace.verdict() });
    if (signal.aborted) return fail(signal.reason);
    try {
      const request = open(wire);
      const abort = (): void =>
        void request.destroy(signal.reason instanceof Error ? signal.reason : new Error('aborted'));
      signal.addEventListener('abort', abort);
      request.once('close', () => signal.removeEventListener('abort', abort));
      request.once('socket', socket => trace.follow(socket, request.reusedSocket));
      request.once('response', body => {
        const { statusCode: status = 0, headers } = body;
        resolve({ kind: 'answered', response: { status, headers, body } });
      });
      // Stays attached: an error after the response's head shows in the body, and must not become
      // unhandled here.
      request.on('error', fail);
      request.end(wire.body);
    } catch (error) {
      // A header cannot be sent, or OpenSSL refuses the TLS material.
      fail(error);
    }
  });
}

function open(wire: WireInfo) {
  const { port, protocol } = wire.server;
  const options = {
    protocol,
    hostname: bareHost(wire.server.hostname),
    port: port === '' ? undefined : Number(port),
    method: wire.method,
    path: wire.path,
    headers: wire.headers as Record<string, string | string[]>,
    agent: wire.agent,
  };
  return protocol === 'https:' ? httpsRequest(options) : http.request(options);
}

/**
 * Idle time in milliseconds before the kernel sends TCP keepalive probes (libuv then sends ten, a
 * second apart).
 */
export const keepAliveProbeMs = 30_000;

/** Tracks how much of a request has been handed to the network. */
class SocketTrace {
  #socket: Socket | undefined;
  #established = false;
  #reused = false;
  #writtenBefore = 0;

  /** Starts tracking when the request has its socket and before anything is written. */
  follow(socket: Socket, reused: boolean): void {
    this.#socket = socket;
    this.#reused = reused;
    if (reused) {
      this.#established = true;
      this.#writtenBefore = socket.bytesWritten;
      return;
    }
    socket.setKeepAlive(true, keepAliveProbeMs);
    const establish = (): void => {
      this.#established = true;
    };
    if (isOpening(socket))
      socket.once(socket instanceof TLSSocket ? 'secureConnect' : 'connect', establish);
    else establish();
  }

  verdict(): { readonly established: boolean; readonly sent: boolean; readonly reused: boolean } {
    // bytesWritten includes buffered bytes, hence the check that the connection was up.
    const sent =
      this.#established &&
      this.#socket !== undefined &&
      this.#socket.bytesWritten > this.#writtenBefore;
    return { established: this.#established, sent, reused: this.#reused };
  }
}

const isOpening = (socket: Socket): boolean =>
  // secureConnecting is a documented property since Node 20, missing from the types of some
  // versions.
  socket.connecting ||
  (socket instanceof TLSSocket &&
    (socket as TLSSocket & { readonly secureConnecting?: boolean }).secureConnecting === true);

/**
 * Returns the whole body as text. Rejects when the connection breaks before its end. Keeps no
 * reference to the chunks, because callers may keep the text for long.
 */
export function readText(response: Readable): Promise<string> {
  return new Promise((resolve, reject) => {
    const broken = (): void => reject(new Error('the connection was closed within the answer'));
    if (response.destroyed) return broken();
    const chunks: Buffer[] = [];
    response.on('data', (chunk: Buffer) => chunks.push(chunk));
    response.once('end', () => resolve(Buffer.concat(chunks.splice(0)).toString('utf8')));
    response.once('error', reject);
    response.once('close', broken);
  });
}
