import type { Agent as HttpAgent, IncomingHttpHeaders } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { TLSSocket } from 'node:tls';
import { bareHost } from '../../support/bare-host.ts';
import { http } from './node-http.ts';

/** Headers as node:http takes them; a list is sent as several lines of the same name. */
export type RequestHeaders = Readonly<Record<string, string | readonly string[]>>;

/** One request, ready to be written. */
export type WireInfo = {
  readonly server: URL;
  readonly agent: HttpAgent;
  readonly method: string;
  /** With the query. */
  readonly path: string;
  readonly headers: RequestHeaders;
  readonly body: string | undefined;
};

/** The head of an answer, and the stream that its body comes on. */
export type IncomingResponse = { readonly status: number; readonly headers: IncomingHttpHeaders; readonly body: Readable };

/** What became of a request. */
export type Sent =
  | { readonly kind: 'answered'; readonly response: IncomingResponse }
  | {
      readonly kind: 'failed';
      readonly error: unknown;
      /** The connection stood, TLS included. */
      readonly established: boolean;
      /** Bytes of this request may have reached the server. */
      readonly sent: boolean;
      /** The connection had served other requests before: it may have been closed under this one. */
      readonly reused: boolean;
    };

/**
 * Writes one request and waits for the head of its answer. It never rejects. When the signal is aborted the connection is cut, at any time
 * until the body of the answer has been read to its end.
 */
export const send = (wire: WireInfo, signal: AbortSignal): Promise<Sent> =>
  new Promise(resolve => {
    const trace = new SocketTrace();
    const fail = (error: unknown): void => resolve({ kind: 'failed', error, ...trace.verdict() });
    if (signal.aborted) return fail(signal.reason);
    try {
      const request = open(wire);
      const abort = (): void => void request.destroy(signal.reason instanceof Error ? signal.reason : new Error('aborted'));
      signal.addEventListener('abort', abort);
      request.once('close', () => signal.removeEventListener('abort', abort));
      request.once('socket', socket => trace.follow(socket, request.reusedSocket));
      request.once('response', body => {
        const { statusCode: status = 0, headers } = body;
        resolve({ kind: 'answered', response: { status, headers, body } });
      });
      // Stays for good: an error after the answer's head shows in the body, and must not be an unhandled one here.
      request.on('error', fail);
      request.end(wire.body);
    } catch (error) {
      // A header that cannot be sent, or TLS material that OpenSSL refuses.
      fail(error);
    }
  });

const open = (wire: WireInfo) => {
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
};

/** Nobody speaks for so long: the kernel asks whether the other side is still there (libuv then asks ten times, a second apart). */
export const keepAliveProbeMs = 30_000;

/** Follows what of a request has been handed to the network. */
class SocketTrace {
  #socket: Socket | undefined;
  #established = false;
  #reused = false;
  #writtenBefore = 0;

  /** Called when the request has got its socket and before anything of it is written. */
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
    if (isOpening(socket)) socket.once(socket instanceof TLSSocket ? 'secureConnect' : 'connect', establish);
    else establish();
  }

  verdict(): { readonly established: boolean; readonly sent: boolean; readonly reused: boolean } {
    // bytesWritten counts what is still buffered, hence the question whether the connection stood.
    const sent = this.#established && this.#socket !== undefined && this.#socket.bytesWritten > this.#writtenBefore;
    return { established: this.#established, sent, reused: this.#reused };
  }
}

const isOpening = (socket: Socket): boolean =>
  // secureConnecting is a documented property since Node 20, missing from the types of some versions.
  socket.connecting ||
  (socket instanceof TLSSocket && (socket as TLSSocket & { readonly secureConnecting?: boolean }).secureConnecting === true);

/** The whole body as text. Rejects when the connection breaks before its end. Keeps no piece of it: who reads the text may do so for long. */
export const readText = (response: Readable): Promise<string> =>
  new Promise((resolve, reject) => {
    const broken = (): void => reject(new Error('the connection was closed within the answer'));
    if (response.destroyed) return broken();
    const chunks: Buffer[] = [];
    response.on('data', (chunk: Buffer) => chunks.push(chunk));
    response.once('end', () => resolve(Buffer.concat(chunks.splice(0)).toString('utf8')));
    response.once('error', reject);
    response.once('close', broken);
  });
