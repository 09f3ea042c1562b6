import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { type WebhookKind, webhookKinds } from '@drydock/apis/admission-rules';
import type { KeyPair, Log, PanicHandler } from '@drydock/utils';
import { boundedTlsServer, connectionLimits } from '@drydock/utils';
import { InflightLimiter } from './inflight-limiter.ts';
import { type AdmissionVerdict, type Review, readReview, responseTo } from './review.ts';

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
