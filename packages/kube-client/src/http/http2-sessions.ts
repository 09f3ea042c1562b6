import type { AgentOptions, Agent as HttpAgent } from 'node:http';
import type { ClientHttp2Session } from 'node:http2';
import { Agent as HttpsAgent, type RequestOptions } from 'node:https';
import { isIP } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect, type TLSSocket } from 'node:tls';
import { bareHost, type Clock, orAborted, throughProxy } from '@drydock/utils';
import { TlsContext, type TlsMaterial } from './credentials.ts';
import { http, keepAliveProbeMs } from './exchange.ts';
import { Http2Session, type StreamCapacity } from './http2-session.ts';

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
class Http2Sessions {
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

/** Connections for one set of TLS material. */
export type Pools = {
  readonly tls: TlsMaterial;
  readonly calls: HttpAgent;
  readonly streams: HttpAgent;
  /** HTTP/2 connections, tried first for streams; absent when HTTP/2 is disabled. */
  readonly http2?: Http2Sessions;
};

export type ConnectionPoolsOptions = {
  readonly server: URL;
  readonly clock: Clock;
  /** Limit of concurrent connections for calls. */
  readonly places: number;
  /** URL of the HTTP proxy for all connections. */
  readonly proxy?: string | undefined;
  /** Whether watches share HTTP/2 connections if the server supports it. Never through a proxy. */
  readonly http2: boolean;
};

/**
 * Keeps the connections: one pool for calls, others for watches, and new pools only when the TLS
 * material has changed.
 */
export class ConnectionPools {
  readonly #options: ConnectionPoolsOptions;
  #current: Pools | undefined;
  #retired: Pools[] = [];

  constructor(options: ConnectionPoolsOptions) {
    this.#options = options;
  }

  /**
   * Returns the pools for this TLS material. Requests on connections with the former material
   * continue to their end.
   */
  for(tls: TlsMaterial): Pools {
    if (this.#current?.tls === tls) return this.#current;
    if (this.#current !== undefined) this.#retire(this.#current);
    this.#current = this.#open(tls);
    return this.#current;
  }

  /**
   * Closes idle connections, because they are suspected to be dead; shared ones get no new streams.
   */
  dropIdle(): void {
    if (this.#current === undefined) return;
    closeIdle(this.#current.calls);
    closeIdle(this.#current.streams);
    this.#current.http2?.retire();
  }

  /** Closes every connection. */
  close(): void {
    const all = this.#current === undefined ? this.#retired : [...this.#retired, this.#current];
    for (const { calls, streams, http2 } of all) {
      calls.destroy();
      streams.destroy();
      http2?.close();
    }
  }

  #retire(pools: Pools): void {
    for (const agent of [pools.calls, pools.streams]) {
      closeIdle(agent);
      agent.maxFreeSockets = 0;
    }
    pools.http2?.retire();
    this.#retired = [...this.#retired.filter(isInUse), pools];
  }

  #open(tls: TlsMaterial): Pools {
    const { server, clock, places, proxy, http2 } = this.#options;
    const context = new TlsContext(tls);
    const isSecure = server.protocol === 'https:';
    const agent = (maxSockets: number): HttpAgent => {
      const options = {
        keepAlive: true,
        maxSockets,
        maxFreeSockets: places,
        ...throughProxy(proxy),
      };
      return isSecure ? new OneContextAgent(options, context) : new http.Agent(options);
    };
    const isShared = http2 && isSecure && proxy === undefined;
    return {
      tls,
      calls: agent(places),
      streams: agent(Number.POSITIVE_INFINITY),
      ...(isShared && { http2: new Http2Sessions(server, context, clock) }),
    };
  }
}

class OneContextAgent extends HttpsAgent {
  readonly #tls: TlsContext;

  constructor(options: AgentOptions, tls: TlsContext) {
    super({ ...options, ...tls.options });
    this.#tls = tls;
  }

  /** Throws, as the overridden method does, when OpenSSL refuses the material. */
  override createConnection(
    options: RequestOptions,
    callback?: (error: Error | null, stream: Duplex) => void,
  ): Duplex | null | undefined {
    return super.createConnection(
      { ...options, secureContext: this.#tls.context } as RequestOptions,
      callback,
    );
  }
}

function isInUse({ calls, streams, http2 }: Pools): boolean {
  return (
    http2?.isInUse === true ||
    [calls, streams].some(
      agent => Object.keys(agent.sockets).length > 0 || Object.keys(agent.requests).length > 0,
    )
  );
}

function closeIdle(agent: HttpAgent): void {
  for (const sockets of Object.values(agent.freeSockets))
    for (const socket of sockets ?? []) socket.destroy();
}
