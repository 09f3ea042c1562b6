import type { AgentOptions, Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent, type RequestOptions } from 'node:https';
import type { Duplex } from 'node:stream';
import type { Clock } from '@drydock/utils';
import { throughProxy } from '@drydock/utils';
import { Http2Sessions } from './http2-sessions.ts';
import { http } from './node-http.ts';
import { TlsContext, type TlsMaterial } from './tls.ts';

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
