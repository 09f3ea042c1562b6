import type { ClientHttp2Session } from 'node:http2';
import { isIP } from 'node:net';
import { connect, type TLSSocket } from 'node:tls';
import type { Clock } from '@drydock/utils';
import { bareHost, orAborted } from '@drydock/utils';
import { keepAliveProbeMs } from './exchange.ts';
import { Http2Session, type StreamCapacity } from './http2-session.ts';
import type { TlsContext } from './tls.ts';

/**
 * Time limit in milliseconds for opening a connection; callers give up before, by their own limits.
 */
const openWithinMs = 60_000;

/**
 * Flow-control windows in bytes, for one stream and for all streams of a connection. HTTP/2's
 * default of 64 KiB holds a dozen pods: kube-apiserver ends watches whose clients take no events
 * for some 100 ms, and this process may be busy for that long.
 */
const streamWindow = 256 * 1024;
const connectionWindow = 16 * streamWindow;

/**
 * HTTP/2 connections to one server, for watches: 200 share two of them, where HTTP/1.1 takes one
 * each, of 130 KiB. Each carries as many streams as the server allows (kube-apiserver: 100). A
 * server that does not offer HTTP/2 in ALPN is not tried again. client-go does the same for all its
 * requests.
 */
export class Http2Sessions {
  readonly #server: URL;
  readonly #tls: TlsContext;
  readonly #clock: Clock;
  readonly #sessions = new Set<Http2Session>();
  #opening: Promise<void> | undefined;
  #connecting: TLSSocket | undefined;
  #isOffered = true;

  constructor(server: URL, tls: TlsContext, clock: Clock) {
    this.#server = server;
    this.#tls = tls;
    this.#clock = clock;
  }

  /**
   * Returns capacity for a stream, or undefined where the server offers no HTTP/2. Rejects when no
   * connection can be opened, and with the signal's reason.
   */
  async take(signal: AbortSignal): Promise<StreamCapacity | undefined> {
    while (this.#isOffered) {
      signal.throwIfAborted();
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

  /**
   * Stops new streams on all current connections; each is closed when its last stream has ended.
   */
  retire(): void {
    for (const session of this.#sessions) session.retire();
  }

  /** Closes every connection. */
  close(): void {
    this.#connecting?.destroy();
    for (const session of this.#sessions) session.destroy();
  }

  async #open(): Promise<void> {
    const socket = this.#connect();
    this.#connecting = socket;
    const late = new Error(`no HTTP/2 connection within ${openWithinMs / 1000} s`);
    const cancel = this.#clock.after(openWithinMs, () => socket.destroy(late));
    try {
      await secured(socket);
      const http2 = socket.alpnProtocol === 'h2' ? await begin(this.#server, socket) : undefined;
      if (http2 === undefined || http2.remoteSettings.maxConcurrentStreams === 0) {
        this.#isOffered = false;
        socket.destroy();
        return;
      }
      const session = new Http2Session(http2, this.#clock);
      this.#sessions.add(session);
      http2.once('close', () => this.#sessions.delete(session));
    } finally {
      cancel();
      this.#connecting = undefined;
    }
  }

  /** Opens a TLS connection. Throws when OpenSSL refuses the material. */
  #connect(): TLSSocket {
    const { port } = this.#server;
    const host = bareHost(this.#server.hostname);
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
    return socket;
  }
}

function secured(socket: TLSSocket): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once('secureConnect', resolve);
    // Stays attached: streams report later errors, which must not become unhandled here.
    socket.on('error', reject);
    socket.once('close', () =>
      reject(new Error('the connection was closed while it was being made')),
    );
  });
}

/** Starts HTTP/2 on an open connection; resolves once the server has sent its limit of streams. */
function begin(server: URL, socket: TLSSocket): Promise<ClientHttp2Session> {
  return new Promise((resolve, reject) => {
    // Loaded with the first watch: commands with a single request do without.
    const http2 = process.getBuiltinModule('node:http2').connect(server.origin, {
      createConnection: () => socket,
      settings: { enablePush: false, initialWindowSize: streamWindow },
    });
    http2.once('connect', () => http2.setLocalWindowSize(connectionWindow));
    http2.once('remoteSettings', () => resolve(http2));
    // Stays attached, as above.
    http2.on('error', reject);
    http2.once('close', () =>
      reject(new Error('the server closed the connection before it had said a word')),
    );
  });
}
