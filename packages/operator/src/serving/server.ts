import { createHash } from 'node:crypto';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  isObject,
  type JsonObject,
  type ReviewKind,
  reviewCall,
  reviewed,
} from '@drydock/apimachinery';
import type { Api } from '@drydock/kube-client';
import {
  bareHost,
  boundedServer,
  boundedTlsServer,
  type Clock,
  connectionLimits,
  type KeyPair,
  type PanicHandler,
} from '@drydock/utils';

/** A refused request, with status and text. */
export type DeniedRequest = { readonly status: 401 | 403 | 503; readonly text: string };

type CachedReview = { readonly response: 'allowed' | DeniedRequest; readonly untilMs: number };

/**
 * Milliseconds for which a result is cached, as in controller-runtime's metrics server; number of
 * remembered tokens; limit of concurrent reviews.
 */
const allowedForMs = 60_000;
const refusedForMs = 10_000;
const maxRemembered = 1000;
const atOnce = 16;

function bearer(authorization: string | undefined): string | undefined {
  return /^Bearer +(\S{1,16384})$/i.exec(authorization ?? '')?.[1];
}

/**
 * Admits users whom the API server authenticates and allows to `get` a non-resource path
 * (TokenReview, SubjectAccessReview), as controller-runtime's metrics server does with
 * FilterProvider WithAuthenticationAndAuthorization. Results are cached for a while; a flood of
 * tokens costs the API server no more than a few reviews at a time.
 */
export class Guard {
  readonly #api: Api;
  readonly #clock: Clock;
  readonly #defects: PanicHandler;
  readonly #known = new Map<string, CachedReview>();
  #inFlight = 0;

  constructor(api: Api, clock: Clock, defects: PanicHandler) {
    this.#api = api;
    this.#clock = clock;
    this.#defects = defects;
  }

  /** Checks a request. Never rejects. */
  async check(authorization: string | undefined, path: string): Promise<'allowed' | DeniedRequest> {
    const token = bearer(authorization);
    if (token === undefined)
      return {
        status: 401,
        text: 'send the token of a service account as Authorization: Bearer <token>',
      };
    const key = createHash('sha256').update(`${path}\n${token}`).digest('base64');
    const known = this.#known.get(key);
    if (known !== undefined && known.untilMs > this.#nowMs()) return known.response;
    if (this.#inFlight >= atOnce)
      return { status: 503, text: 'too many callers at the same time, please try again' };
    this.#inFlight += 1;
    try {
      const response = await this.#authorize(token, path);
      this.#remember(key, response);
      return response;
    } catch (error) {
      return {
        status: 503,
        text: `the request to the API server failed: ${this.#defects.textOf('Process', path, error)}`,
      };
    } finally {
      this.#inFlight -= 1;
    }
  }

  #remember(key: string, response: 'allowed' | DeniedRequest): void {
    if (response !== 'allowed' && response.status === 503) return;
    const [oldest] = this.#known.keys();
    if (this.#known.size >= maxRemembered && oldest !== undefined) this.#known.delete(oldest);
    this.#known.delete(key);
    this.#known.set(key, {
      response,
      untilMs: this.#nowMs() + (response === 'allowed' ? allowedForMs : refusedForMs),
    });
  }

  async #authorize(token: string, path: string): Promise<'allowed' | DeniedRequest> {
    const who = await this.#review('TokenReview', { token });
    if ('text' in who) return who;
    const { user } = who.status;
    if (who.status['authenticated'] !== true || !isObject(user))
      return { status: 401, text: 'the API server does not know this token' };
    const { username, uid, groups, extra } = user;
    const nonResourceAttributes = { path, verb: 'get' };
    const may = await this.#review('SubjectAccessReview', {
      user: username,
      uid,
      groups,
      extra,
      nonResourceAttributes,
    });
    if ('text' in may) return may;
    if (may.status['allowed'] === true) return 'allowed';
    return {
      status: 403,
      text: `${typeof username === 'string' ? username : 'this user'} may not get ${path}: bind it to the ClusterRole drydock-metrics-reader`,
    };
  }

  async #review(
    kind: ReviewKind,
    spec: JsonObject,
  ): Promise<DeniedRequest | { readonly status: JsonObject }> {
    const status = reviewed(await this.#api.call(reviewCall(kind, spec)));
    return typeof status === 'string'
      ? { status: 503, text: `the request to the API server failed: ${status}` }
      : { status };
  }

  #nowMs(): number {
    return this.#clock.now().epochMilliseconds;
  }
}

/** Handler of one path. */
export type Page = () => Promise<{
  readonly status: number;
  readonly type: string;
  readonly text: string;
}>;

/** Address that a server listens on. */
export type Address = { readonly host: string | undefined; readonly port: number };

/** Parses `host:port` as Go's net package does: an empty host means every address. */
export function parseAddress(address: string): Address | undefined {
  const cut = address.lastIndexOf(':');
  const port = Number(address.slice(cut + 1));
  if (cut === -1 || !Number.isInteger(port) || port < 0 || port > 65_535) return undefined;
  const host = bareHost(address.slice(0, cut));
  return { host: host === '' ? undefined : host, port };
}

function respond(response: ServerResponse, status: number, type: string, text: string): void {
  response.writeHead(status, {
    'content-type': type,
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  });
  response.end(text);
}

/** Serves one page. An error is always a defect, because a page contacts no server. */
async function serve(
  page: Page | undefined,
  { method, url = '' }: IncomingMessage,
  response: ServerResponse,
  defects: PanicHandler,
): Promise<void> {
  if (page === undefined) return respond(response, 404, 'text/plain', 'not found\n');
  if (method !== 'GET' && method !== 'HEAD')
    return respond(response, 405, 'text/plain', 'only GET is served here\n');
  try {
    const { status, type, text } = await page();
    respond(response, status, type, text);
  } catch (error) {
    respond(
      response,
      500,
      'text/plain; charset=utf-8',
      `${defects.report('Process', url.slice(0, 200), error)}\n`,
    );
  }
}

/** A listening server, with its port; closing it cuts open connections. */
export type Listening = { readonly port: number; readonly close: () => void };

/** Starts listening. Rejects when the address is not available. */
export async function listening(
  server: Server,
  { host, port }: { readonly host: string | undefined; readonly port: number },
): Promise<Listening> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port, ...(host !== undefined && { host }) }, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

function pathOf({ url = '/' }: IncomingMessage): string {
  return url.split('?')[0] ?? '/';
}

function pageAt(pages: Readonly<Record<string, Page>>, path: string): Page | undefined {
  return Object.hasOwn(pages, path) ? pages[path] : undefined;
}

/**
 * Serves pages over plain HTTP. Resolves once it listens; rejects when the address is not
 * available.
 */
export async function listen(
  address: Address,
  pages: Readonly<Record<string, Page>>,
  defects: PanicHandler,
): Promise<Listening> {
  const server = boundedServer(
    { connections: connectionLimits.pages },
    (request, response) => void serve(pageAt(pages, pathOf(request)), request, response, defects),
  );
  return listening(server, address);
}

async function serveGuarded(
  request: IncomingMessage,
  response: ServerResponse,
  pages: Readonly<Record<string, Page>>,
  guard: Guard,
  defects: PanicHandler,
): Promise<void> {
  const path = pathOf(request);
  const page = pageAt(pages, path);
  // Unauthenticated users learn nothing, not even which pages exist.
  const checked = await guard.check(request.headers.authorization, page === undefined ? '/' : path);
  if (checked === 'allowed') return serve(page, request, response, defects);
  if (checked.status === 401) response.setHeader('www-authenticate', 'Bearer');
  respond(response, checked.status, 'text/plain; charset=utf-8', `${checked.text}\n`);
}

/**
 * Serves pages over TLS 1.2 or newer, for users whom the guard admits. Handshakes fail until the
 * first certificate is set.
 */
export async function listenSecurely(
  address: Address,
  pages: Readonly<Record<string, Page>>,
  guard: Guard,
  defects: PanicHandler,
): Promise<Listening & { readonly show: (pair: KeyPair) => void }> {
  const server = boundedTlsServer(
    { connections: connectionLimits.pages },
    (request, response) => void serveGuarded(request, response, pages, guard, defects),
  );
  return {
    ...(await listening(server, address)),
    show: ({ cert, key }) => server.setSecureContext({ cert, key, minVersion: 'TLSv1.2' }),
  };
}
