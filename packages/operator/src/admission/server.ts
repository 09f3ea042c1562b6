import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { type WebhookKind, webhookKinds } from '@drydock/apis/admission-rules';
import type { Api, Watcher } from '@drydock/kube-client';
import {
  boundedTlsServer,
  type Clock,
  connectionLimits,
  type KeyPair,
  type Log,
  type PanicHandler,
} from '@drydock/utils';
import { AdmissionHandler, type PlanProblems } from './admission-handler.ts';
import { CaBundleInjector } from './certificates/ca-bundle-injector.ts';
import {
  followCertificate,
  mountedPair,
  mountedPlaces,
  selfMade,
} from './certificates/self-made.ts';
import { type AdmissionVerdict, denied, type Review, readReview, responseTo } from './review.ts';

/**
 * A limiter for the requests that are processed at the same time. Any client that reaches the port
 * may send reviews: the memory and the API calls that one address causes are bounded, and so is the
 * total.
 */
class InflightLimiter {
  readonly #limits: {
    readonly requests: number;
    readonly perAddress: number;
    readonly bytes: number;
  };
  readonly #byAddress = new Map<string, number>();
  #requests = 0;
  #bytes = 0;

  /**
   * Creates the limiter. The API server calls once for every maintenance: a few hundred at once
   * mean that a cluster is being taken apart.
   */
  constructor(limits = { requests: 256, perAddress: 64, bytes: 64 * 1024 * 1024 }) {
    this.#limits = limits;
  }

  /**
   * Admits a request of this many bytes; the returned function releases it after the response.
   * Returns undefined if there is no room.
   */
  enter(address: string, bytes: number): (() => void) | undefined {
    const here = this.#byAddress.get(address) ?? 0;
    const { requests, perAddress, bytes: most } = this.#limits;
    if (this.#requests >= requests || here >= perAddress || this.#bytes + bytes > most)
      return undefined;
    this.#requests += 1;
    this.#bytes += bytes;
    this.#byAddress.set(address, here + 1);
    return () => {
      this.#requests -= 1;
      this.#bytes -= bytes;
      const left = (this.#byAddress.get(address) ?? 1) - 1;
      if (left === 0) this.#byAddress.delete(address);
      else this.#byAddress.set(address, left);
    };
  }
}

/** Options of the server of the webhook over TLS. */

export type ServerOptions = {
  /** Port; 0 takes any free port. */
  readonly port: number;
  readonly decide: (kind: WebhookKind, review: Review) => Promise<AdmissionVerdict>;
  readonly log: Log;
  readonly defects: PanicHandler;
  /**
   * PEM of the authorities that vouch for API servers: clients without a certificate of theirs are
   * refused. All clients are served if left out.
   */
  readonly clientCa?: string | undefined;
};

export type WebhookServer = {
  readonly port: number;
  /**
   * Presents this certificate from now on; open connections stay open. Throws if certificate and
   * key do not match.
   */
  show(pair: KeyPair): void;
  /**
   * Goes on serving, and closes each connection after its response: clients connect again, to
   * another replica by then.
   */
  drain(): void;
  /** Accepts no more requests and waits a moment for pending responses. */
  close(): Promise<void>;
};

/** Bytes of an object and its previous version, each at most as large as etcd allows. */
const largestBody = 3 * 1024 * 1024;

/**
 * Milliseconds for which idle connections stay open. The API server keeps them for 90 s; a
 * connection that closes just before its use would fail a request.
 */
const idleMs = 120_000;

const closingMs = 2000;

class BadRequest extends Error {
  override readonly name = 'BadRequest';
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/**
 * Reads the body. A body that is too large is read to its end all the same, and dropped: a closed
 * connection has no response.
 */
async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size <= largestBody) chunks.push(chunk);
  }
  if (size > largestBody) throw new BadRequest(413, `the body is larger than ${largestBody} bytes`);
  return Buffer.concat(chunks).toString('utf8');
}

function kindOf(url: string | undefined): WebhookKind | undefined {
  const [path = ''] = (url ?? '').split('?');
  return webhookKinds().find(({ paths }) => paths.includes(path));
}

/**
 * Returns the length of the body according to its header: the API server always sends it, and room
 * has to be reserved for it.
 */
function lengthOf({ headers }: IncomingMessage): number {
  const length = Number(headers['content-length'] ?? Number.NaN);
  if (!Number.isInteger(length))
    throw new BadRequest(411, 'the request has no Content-Length header');
  return Math.min(length, largestBody);
}

async function reviewOf(
  request: IncomingMessage,
): Promise<{ readonly kind: WebhookKind; readonly review: Review }> {
  const kind = kindOf(request.url);
  if (kind === undefined) throw new BadRequest(404, 'no webhook at this path');
  if (request.method !== 'POST') throw new BadRequest(405, 'only POST is allowed');
  const type = request.headers['content-type'] ?? '';
  if (!/^application\/json(;|$)/.test(type))
    throw new BadRequest(
      415,
      `the content type is ${type === '' ? 'missing' : type}; it must be application/json`,
    );
  const review = readReview(await bodyOf(request));
  if (typeof review === 'string') throw new BadRequest(400, review);
  return { kind, review };
}

function send(response: ServerResponse, status: number, type: string, text: string): void {
  response.writeHead(status, { 'content-type': type, 'x-content-type-options': 'nosniff' });
  response.end(text);
}

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  crowd: InflightLimiter,
  { decide, log, defects }: ServerOptions,
): Promise<void> {
  let leave: (() => void) | undefined;
  try {
    leave = crowd.enter(request.socket.remoteAddress ?? '', lengthOf(request));
    if (leave === undefined)
      throw new BadRequest(503, 'too many requests at the same time, please try again');
    const { kind, review } = await reviewOf(request);
    const verdict = await decide(kind, review);
    if (verdict.kind === 'denied')
      log.info('denied', {
        webhook: kind.webhook,
        operation: review.operation,
        message: verdict.message,
      });
    send(response, 200, 'application/json', JSON.stringify(responseTo(review, verdict)));
  } catch (error) {
    if (request.destroyed && !request.complete) return;
    if (error instanceof BadRequest)
      return send(response, error.status, 'text/plain; charset=utf-8', `${error.message}\n`);
    log.error('admission failed', {
      error: defects.textOf('Webhook', request.url?.slice(0, 200) ?? '', error),
    });
    send(
      response,
      500,
      'text/plain; charset=utf-8',
      'the request could not be evaluated; see the log of the operator\n',
    );
  } finally {
    leave?.();
  }
}

/**
 * Closes the server. A pending response gets a moment; connections without one are closed at once.
 */
async function closeServer(server: Server): Promise<void> {
  const closed = new Promise<void>(resolve => server.close(() => resolve()));
  server.closeIdleConnections();
  const timer = setTimeout(() => server.closeAllConnections(), closingMs);
  await closed;
  clearTimeout(timer);
}

/**
 * Listens on all addresses, HTTP/1.1 over TLS 1.2 or newer. Handshakes fail until the first
 * certificate is set. Resolves once it listens; rejects if the port is not available.
 */
export async function serveWebhook(options: ServerOptions): Promise<WebhookServer> {
  const crowd = new InflightLimiter();
  let draining = false;
  const { clientCa } = options;
  const clients =
    clientCa === undefined ? {} : { ca: clientCa, requestCert: true, rejectUnauthorized: true };
  const server = boundedTlsServer(
    {
      ...clients,
      connections: connectionLimits.webhook,
      ALPNProtocols: ['http/1.1'],
      requestTimeout: 30_000,
      keepAliveTimeout: idleMs,
    },
    (request, response) => {
      if (draining) response.setHeader('connection', 'close');
      void serve(request, response, crowd, options);
    },
  );
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port: options.port }, resolve);
  });
  server.on('tlsClientError', error =>
    options.log.debug('TLS handshake failed', { error: error.message }),
  );
  const { port } = server.address() as AddressInfo;
  return {
    port,
    show: ({ cert, key }) =>
      server.setSecureContext({
        cert,
        key,
        minVersion: 'TLSv1.2',
        ...(clientCa !== undefined && { ca: clientCa }),
      }),
    drain: () => {
      draining = true;
    },
    close: () => closeServer(server),
  };
}

/** Options of the whole admission webhook. */
export type WebhookOptions = {
  readonly api: Api;
  readonly watcher: Watcher;
  readonly clock: Clock;
  readonly log: Log;
  readonly defects: PanicHandler;
  readonly port: number;
  /** Namespace of the operator: it contains the reservations and the self-made certificate. */
  readonly namespace: string;
  /** Service through which API servers reach the webhook. */
  readonly service: string;
  /** Further names and IP addresses under which it is reached. */
  readonly extraNames: readonly string[];
  readonly certDir?: string;
  /** Name of the ValidatingWebhookConfiguration whose caBundle is kept up to date. */
  readonly configuration: string;
  /**
   * PEM of the authorities that vouch for API servers, if those present certificates; all clients
   * are served if left out.
   */
  readonly clientCa?: string | undefined;
  /** Callback for every certificate that is presented. */
  readonly shown?: (pair: KeyPair) => void;
  readonly planProblems: PlanProblems;
  /** Function that is called once, before the first response. */
  readonly isOpenShift: (signal: AbortSignal) => Promise<boolean>;
};

export type Webhook = {
  readonly port: number;
  /** Reports whether it serves: the cluster is known and there is a certificate. */
  ready(): boolean;
  /** Goes on serving, so that no request is refused while API servers move to other replicas. */
  drain(): void;
  close(): Promise<void>;
};

/** Returns the names under which the API server reaches us. */
function namesOf({ service, namespace, extraNames }: WebhookOptions): readonly string[] {
  return [
    `${service}.${namespace}.svc`,
    `${service}.${namespace}.svc.cluster.local`,
    ...extraNames,
  ];
}

/** The logic behind the server, which listens before that logic is ready. */
class WebhookRuntime {
  readonly #options: WebhookOptions;
  readonly #signal: AbortSignal;
  readonly #injector: CaBundleInjector;
  #gate: AdmissionHandler | undefined;
  hasCertificate = false;

  constructor(options: WebhookOptions, signal: AbortSignal) {
    this.#options = options;
    this.#signal = signal;
    this.#injector = new CaBundleInjector(options, signal);
  }

  /** Denies until `open` has completed its discovery. */
  decide(kind: WebhookKind, review: Review): Promise<AdmissionVerdict> {
    return (
      this.#gate?.decide(kind, review) ??
      Promise.resolve(denied('the validator is not initialized yet, please try again'))
    );
  }

  /** Runs until the signal is aborted. */
  async open(server: WebhookServer): Promise<void> {
    const { clock, log, defects, isOpenShift } = this.#options;
    const openShift = await isOpenShift(this.#signal);
    if (this.#signal.aborted) return;
    const gate = new AdmissionHandler({ ...this.#options, openShift });
    this.#gate = gate;
    log.info('serving the webhook', { port: server.port, openShift });
    const names = namesOf(this.#options);
    const certificates = {
      clock,
      log,
      defects,
      mounted: () => mountedPair(mountedPlaces(this.#options.certDir)),
      selfMade: (signal: AbortSignal) => selfMade({ ...this.#options, names }, signal),
      show: (pair: KeyPair) => {
        server.show(pair);
        this.hasCertificate = true;
        this.#options.shown?.(pair);
      },
      trust: (pem: string) => this.#injector.trust(pem),
    };
    await Promise.all([gate.sweep(), followCertificate(certificates, this.#signal)]);
    await Promise.all([gate.close(), this.#injector.done()]);
  }
}

/** Listens at once, and rejects if the port is not available; serves as soon as it is `ready`. */
export async function startWebhook(options: WebhookOptions): Promise<Webhook> {
  const { port, log, defects, clientCa } = options;
  const over = new AbortController();
  const office = new WebhookRuntime(options, over.signal);
  const server = await serveWebhook({
    port,
    log,
    defects,
    clientCa,
    decide: (kind, review) => office.decide(kind, review),
  });
  const work = office.open(server);
  return {
    port: server.port,
    ready: () => office.hasCertificate,
    drain: () => server.drain(),
    close: async () => {
      await server.close();
      over.abort(new Error('the webhook is closed'));
      await work;
    },
  };
}
