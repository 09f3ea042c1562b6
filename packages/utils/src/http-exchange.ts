import { type IncomingMessage, Agent as PlainAgent, request as plainRequest } from 'node:http';
import { Agent, request as tlsRequest } from 'node:https';
import { type ProxyFor, proxyFromEnvironment, throughProxy } from './proxy.ts';

/** One HTTP request, with its body as text. */
export type HttpRequest = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
};

/** One HTTP response; names of headers are in lower case. */
export type HttpResponse = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly text: string;
};

/**
 * Sends one request and returns its response, whatever the status; redirects are not followed.
 * Rejects when no response arrives, and with the signal's reason.
 */
export type HttpTransport = (asking: HttpRequest, signal: AbortSignal) => Promise<HttpResponse>;

export type ExchangeOptions = {
  /** Authorities to trust, in PEM, instead of the system's. */
  readonly ca?: string | Buffer;
  /** Client certificate, in PEM. */
  readonly cert?: string;
  readonly key?: string;
  /** Name that the server's certificate must have, instead of the address's host. */
  readonly serverName?: string;
  /** Whether any certificate is trusted. */
  readonly insecure?: boolean;
  /** Limit of a response in bytes; larger ones are refused. */
  readonly mostBytes: number;
  /** Whether only the status matters: the body is left unread, and the text is empty. */
  readonly headOnly?: boolean;
  /** Whether connections are kept alive for the next call. */
  readonly keepAlive: boolean;
  /** Choice of the proxy; from the environment when left out. */
  readonly proxyFor?: ProxyFor;
};

/** A response that exceeds the limit. */
export class AnswerTooLarge extends Error {
  override readonly name = 'AnswerTooLarge';

  constructor() {
    super('the answer is too large');
  }
}

type Limits = Required<Pick<ExchangeOptions, 'mostBytes' | 'headOnly'>>;

/** Reads a response up to the limit. Rejects with an AnswerTooLarge. */
function sayingOf(
  response: IncomingMessage,
  { mostBytes, headOnly }: Limits,
): Promise<HttpResponse> {
  return new Promise((resolve, reject) => {
    const { statusCode: status = 0 } = response;
    const headers = response.headers as HttpResponse['headers'];
    if (headOnly) {
      response.on('error', () => {}).destroy();
      return resolve({ status, headers, text: '' });
    }
    const parts: Buffer[] = [];
    let size = 0;
    response.on('data', (part: Buffer) => {
      size += part.length;
      if (size > mostBytes) response.destroy(new AnswerTooLarge());
      else parts.push(part);
    });
    response.on('error', reject);
    response.on('end', () =>
      resolve({ status, headers, text: Buffer.concat(parts).toString('utf8') }),
    );
  });
}

/** Caches what `make` returns, for each proxy and for direct connections. */
function oncePerProxy<Made>(
  make: (proxy: string | undefined) => Made,
): (proxy: string | undefined) => Made {
  const made = new Map<string | undefined, Made>();
  return proxy => {
    const known = made.get(proxy) ?? make(proxy);
    made.set(proxy, known);
    return known;
  };
}

/**
 * Returns a transport for HTTP and HTTPS, with at most eight connections to each server, through
 * the configured proxy. Throws for invalid certificates and keys.
 */
export function createTransport({
  ca,
  cert,
  key,
  serverName,
  insecure = false,
  mostBytes,
  headOnly = false,
  keepAlive,
  proxyFor = proxyFromEnvironment(process.env),
}: ExchangeOptions): HttpTransport {
  const sockets = { keepAlive, maxSockets: 8 };
  const tls = {
    rejectUnauthorized: !insecure,
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
    ...(serverName !== undefined && { servername: serverName }),
  };
  const agents = oncePerProxy(proxy => {
    const options = { ...sockets, ...throughProxy(proxy) };
    return { tls: new Agent({ ...options, ...tls }), plain: new PlainAgent(options) };
  });
  return ({ method, url, headers, body }, signal) =>
    new Promise((resolve, reject) => {
      const isTls = url.startsWith('https:');
      const ours = agents(proxyFor(new URL(url)));
      const lengths =
        body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
      const options = {
        method,
        signal,
        headers: { ...headers, ...lengths },
        agent: isTls ? ours.tls : ours.plain,
      };
      const read = (response: IncomingMessage): void =>
        void sayingOf(response, { mostBytes, headOnly }).then(resolve, reject);
      const asked = (isTls ? tlsRequest : plainRequest)(url, options, read);
      asked.on('error', error => reject(signal.aborted ? signal.reason : error));
      asked.end(body);
    });
}
