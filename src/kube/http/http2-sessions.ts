import type { ClientHttp2Session } from 'node:http2';
import { isIP } from 'node:net';
import { connect, type TLSSocket } from 'node:tls';
import type { Clock } from '../../support/clock.ts';
import { orAborted } from '../../support/deadline.ts';
import { keepAliveProbeMs } from './exchange.ts';
import { Http2Session, type StreamRoom } from './http2-session.ts';
import type { TlsContext } from './tls.ts';

/** Milliseconds within which a connection has to stand; callers give up by their own limits before. */
const openWithinMs = 60_000;

/** Bytes that a connection may have in flight for all its streams together; each stream has its own limit of 64 KiB below it. */
const connectionWindow = 8 * 1024 * 1024;

/**
 * HTTP/2 connections to one server, for watches: 200 share two of them, where HTTP/1.1 takes one each, of 130 KiB. Each takes as many streams as the server allows
 * (kube-apiserver: 100); a server that does not offer HTTP/2 when TLS is set up (ALPN) is not asked again. client-go does the same for all its requests.
 */
export class Http2Sessions {
  readonly #server: URL;
  readonly #tls: TlsContext;
  readonly #clock: Clock;
  readonly #sessions = new Set<Http2Session>();
  #opening: Promise<void> | undefined;
  #isOffered = true;
  #isClosed = false;

  constructor(server: URL, tls: TlsContext, clock: Clock) {
    this.#server = server;
    this.#tls = tls;
    this.#clock = clock;
  }

  /** Room for a stream; undefined where the server offers no HTTP/2. Rejects when no connection can be made, and with the signal's reason. */
  async take(signal: AbortSignal): Promise<StreamRoom | undefined> {
    while (this.#isOffered) {
      const session = [...this.#sessions].find(({ hasRoom }) => hasRoom);
      if (session !== undefined) return session.take();
      this.#opening ??= this.#open().finally(() => {
        this.#opening = undefined;
      });
      await orAborted(this.#opening, signal);
    }
    return undefined;
  }

  get isInUse(): boolean {
    return [...this.#sessions].some(({ isInUse }) => isInUse);
  }

  /** No connection that there is takes another stream; each is closed when its last one has ended. */
  retire(): void {
    for (const session of this.#sessions) session.retire();
  }

  /** Cuts every connection. */
  close(): void {
    this.#isClosed = true;
    for (const session of this.#sessions) session.destroy();
  }

  async #open(): Promise<void> {
    const socket = await this.#connect();
    if (this.#isClosed || socket.alpnProtocol !== 'h2') {
      this.#isOffered = false;
      socket.destroy();
      return;
    }
    const http2 = await begin(this.#server, socket);
    if (this.#isClosed) return http2.destroy();
    if (http2.remoteSettings.maxConcurrentStreams === 0) {
      this.#isOffered = false;
      return http2.destroy();
    }
    const session = new Http2Session(http2, this.#clock);
    this.#sessions.add(session);
    http2.once('close', () => this.#sessions.delete(session));
  }

  #connect(): Promise<TLSSocket> {
    const { hostname, port } = this.#server;
    const host = hostname.replace(/^\[|\]$/g, '');
    return new Promise((resolve, reject) => {
      const socket = connect({
        host,
        port: port === '' ? 443 : Number(port),
        ALPNProtocols: ['h2', 'http/1.1'],
        secureContext: this.#tls.context,
        ...(isIP(host) === 0 && { servername: host }),
        ...this.#tls.options,
      });
      socket.setNoDelay(true);
      socket.setKeepAlive(true, keepAliveProbeMs);
      socket.setTimeout(openWithinMs, () => socket.destroy(new Error(`no connection within ${openWithinMs / 1000} s`)));
      socket.once('error', reject);
      socket.once('secureConnect', () => {
        socket.setTimeout(0);
        socket.off('error', reject);
        resolve(socket);
      });
    });
  }
}

/** HTTP/2 on a connection that stands: resolves once the server has said how many streams it takes. */
const begin = (server: URL, socket: TLSSocket): Promise<ClientHttp2Session> =>
  new Promise((resolve, reject) => {
    // Loaded when the first watch needs it: commands that ask once do without.
    const http2 = process
      .getBuiltinModule('node:http2')
      .connect(server.origin, { createConnection: () => socket, settings: { enablePush: false } });
    http2.once('connect', () => http2.setLocalWindowSize(connectionWindow));
    http2.once('remoteSettings', () => resolve(http2));
    // Stays for good: streams tell of the end of their connection, which must not be an unhandled error here.
    http2.on('error', reject);
    http2.once('close', () => reject(new Error('the server closed the connection before it had said a word')));
  });
