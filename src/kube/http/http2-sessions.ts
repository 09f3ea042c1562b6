import type { ClientHttp2Session } from 'node:http2';
import { isIP } from 'node:net';
import { connect, type TLSSocket } from 'node:tls';
import { orAborted } from '../../support/deadline.ts';
import { keepAliveProbeMs } from './exchange.ts';
import type { TlsContext } from './tls.ts';

/** A connection, with what is on it. */
type Session = {
  readonly http2: ClientHttp2Session;
  streams: number;
  /** It has had streams before. */
  used: boolean;
};

/** Room for one stream on a connection. Whoever takes it makes the stream, or gives the room back. */
export type StreamRoom = {
  readonly session: ClientHttp2Session;
  /** The connection had other streams before: it may have been closed under this one. */
  readonly reused: boolean;
  /** The stream is over. Called again, it does nothing. */
  readonly giveBack: () => void;
};

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
  readonly #sessions = new Set<Session>();
  #opening: Promise<void> | undefined;
  #isOffered = true;
  #isClosed = false;

  constructor(server: URL, tls: TlsContext) {
    this.#server = server;
    this.#tls = tls;
  }

  /** Room for a stream; undefined where the server offers no HTTP/2. Rejects when no connection can be made, and with the signal's reason. */
  async take(signal: AbortSignal): Promise<StreamRoom | undefined> {
    while (this.#isOffered) {
      const session = [...this.#sessions].find(hasRoom);
      if (session !== undefined) return this.#roomOn(session);
      this.#opening ??= this.#open().finally(() => {
        this.#opening = undefined;
      });
      await orAborted(this.#opening, signal);
    }
    return undefined;
  }

  get isInUse(): boolean {
    return [...this.#sessions].some(({ streams }) => streams > 0);
  }

  /** No connection that there is takes another stream; each is closed when its last one has ended. */
  retire(): void {
    for (const { http2 } of this.#sessions) http2.close();
  }

  /** Cuts every connection. */
  close(): void {
    this.#isClosed = true;
    for (const { http2 } of this.#sessions) http2.destroy();
  }

  #roomOn(session: Session): StreamRoom {
    const { http2, used } = session;
    session.streams += 1;
    session.used = true;
    http2.ref();
    let isTaken = true;
    const giveBack = (): void => {
      if (!isTaken) return;
      isTaken = false;
      session.streams -= 1;
      // One that has nothing to do keeps no program from ending.
      if (session.streams === 0 && !http2.destroyed) http2.unref();
    };
    return { session: http2, reused: used, giveBack };
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
    const session = { http2, streams: 0, used: false };
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

const hasRoom = ({ http2, streams }: Session): boolean =>
  !http2.closed && !http2.destroyed && streams < (http2.remoteSettings.maxConcurrentStreams ?? Number.POSITIVE_INFINITY);

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
