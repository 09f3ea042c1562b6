import type { AgentOptions, Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent, type RequestOptions } from 'node:https';
import type { Duplex } from 'node:stream';
import { createSecureContext, type SecureContext } from 'node:tls';
import { http } from './node-http.ts';

/** What TLS needs. The same object for as long as nothing of it changes: a new one means new connections. */
export type TlsMaterial = {
  readonly ca?: string | readonly string[];
  readonly cert?: string;
  readonly key?: string;
  readonly servername?: string;
  readonly rejectUnauthorized?: boolean;
};

/** Proxies in the way environment variables name them (`HTTPS_PROXY`, `HTTP_PROXY`, `NO_PROXY`). */
export type ProxyEnv = Readonly<Record<string, string | undefined>>;

type Pair = { readonly tls: TlsMaterial; readonly calls: HttpAgent; readonly streams: HttpAgent };

/** Keeps the connections: one pool for calls, one for watches, and new pools only when the TLS material has changed. */
export class ConnectionPools {
  readonly #secure: boolean;
  readonly #places: number;
  readonly #proxyEnv: ProxyEnv | undefined;
  #current: Pair | undefined;
  #retired: Pair[] = [];

  constructor(server: URL, places: number, proxyEnv: ProxyEnv | undefined) {
    this.#secure = server.protocol === 'https:';
    this.#places = places;
    this.#proxyEnv = proxyEnv;
  }

  /** The pools for this TLS material. Work on connections with the former material goes on to its end. */
  for(tls: TlsMaterial): Pair {
    if (this.#current?.tls === tls) return this.#current;
    if (this.#current !== undefined) this.#retire(this.#current);
    this.#current = { tls, calls: this.#agent(tls, this.#places), streams: this.#agent(tls, Number.POSITIVE_INFINITY) };
    return this.#current;
  }

  /** Closes the connections that nobody uses at the moment, because they are suspected to be dead. */
  dropIdle(): void {
    if (this.#current === undefined) return;
    closeIdle(this.#current.calls);
    closeIdle(this.#current.streams);
  }

  /** Cuts every connection. */
  close(): void {
    const pairs = this.#current === undefined ? this.#retired : [...this.#retired, this.#current];
    for (const { calls, streams } of pairs) {
      calls.destroy();
      streams.destroy();
    }
  }

  #retire(pair: Pair): void {
    for (const agent of [pair.calls, pair.streams]) {
      closeIdle(agent);
      agent.maxFreeSockets = 0;
    }
    this.#retired = [...this.#retired.filter(isInUse), pair];
  }

  #agent(tls: TlsMaterial, maxSockets: number): HttpAgent {
    const options: AgentOptions = {
      keepAlive: true,
      maxSockets,
      maxFreeSockets: this.#places,
      ...(this.#proxyEnv === undefined ? {} : { proxyEnv: { ...this.#proxyEnv } }),
    };
    return this.#secure ? new OneContextAgent(options, tls) : new http.Agent(options);
  }
}

/** All connections share what OpenSSL makes of the certificates: one for each of 200 watches took 5 MiB. */
class OneContextAgent extends HttpsAgent {
  readonly #material: TlsMaterial;
  #context: SecureContext | undefined;

  constructor(options: AgentOptions, { servername, rejectUnauthorized, ...material }: TlsMaterial) {
    super({ ...options, ...(servername !== undefined && { servername }), ...(rejectUnauthorized !== undefined && { rejectUnauthorized }) });
    this.#material = material;
  }

  /** Throws, as without it, when OpenSSL refuses the material. */
  override createConnection(options: RequestOptions, callback?: (error: Error | null, stream: Duplex) => void): Duplex | null | undefined {
    const { ca, ...own } = this.#material;
    this.#context ??= createSecureContext({ ...own, ...(ca !== undefined && { ca: [ca].flat() }) });
    return super.createConnection({ ...options, secureContext: this.#context } as RequestOptions, callback);
  }
}

const isInUse = ({ calls, streams }: Pair): boolean =>
  [calls, streams].some(agent => Object.keys(agent.sockets).length > 0 || Object.keys(agent.requests).length > 0);

const closeIdle = (agent: HttpAgent): void => {
  for (const sockets of Object.values(agent.freeSockets)) for (const socket of sockets ?? []) socket.destroy();
};
