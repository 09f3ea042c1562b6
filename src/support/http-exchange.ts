import { type IncomingMessage, Agent as PlainAgent, request as plainRequest } from 'node:http';
import { Agent, request as tlsRequest } from 'node:https';
import { type ProxyFor, proxyFromEnvironment, throughProxy } from './proxy.ts';

/** One call over HTTP. The body is text by the time it is sent. */
export type HttpRequest = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
};

/** Names of headers are in small letters. */
export type HttpResponse = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly text: string;
};

/** Carries one call to a server and its answer back, whatever the status; redirects are answers. Rejects when there was no answer, and with the signal's reason. */
export type HttpTransport = (asking: HttpRequest, signal: AbortSignal) => Promise<HttpResponse>;

export type ExchangeOptions = {
  /** PEM: the authorities to trust, in place of the system's. */
  readonly ca?: string | Buffer;
  /** PEM: who we are to the server. */
  readonly cert?: string;
  readonly key?: string;
  /** The name that the server's certificate must have, in place of the one in the address. */
  readonly serverName?: string;
  /** Trust any certificate. */
  readonly insecure?: boolean;
  /** Larger answers are refused. */
  readonly mostBytes: number;
  /** The status is all that is wanted: the body is left unread, and the text is empty. */
  readonly headOnly?: boolean;
  /** Whether connections are kept for the next call. */
  readonly keepAlive: boolean;
  /** The environment's when left out. */
  readonly proxyFor?: ProxyFor;
};

/** An answer was larger than it may be. */
export class AnswerTooLarge extends Error {
  override readonly name = 'AnswerTooLarge';

  constructor() {
    super('the answer is too large');
  }
}

type Limits = Required<Pick<ExchangeOptions, 'mostBytes' | 'headOnly'>>;

/** Reads an answer, as much of it as is wanted. Rejects with an AnswerTooLarge. */
const sayingOf = (response: IncomingMessage, { mostBytes, headOnly }: Limits): Promise<HttpResponse> =>
  new Promise((resolve, reject) => {
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
    response.on('end', () => resolve({ status, headers, text: Buffer.concat(parts).toString('utf8') }));
  });

/** Makes it once for each proxy, and once for what is spoken to directly. */
const oncePerProxy = <Made>(make: (proxy: string | undefined) => Made): ((proxy: string | undefined) => Made) => {
  const made = new Map<string | undefined, Made>();
  return proxy => {
    const known = made.get(proxy) ?? make(proxy);
    made.set(proxy, known);
    return known;
  };
};

/** Speaks HTTP and HTTPS, over at most eight connections for each server, through the proxy that it is said to have. Throws for certificates and keys that are none. */
export const createTransport = ({
  ca,
  cert,
  key,
  serverName,
  insecure = false,
  mostBytes,
  headOnly = false,
  keepAlive,
  proxyFor = proxyFromEnvironment(process.env),
}: ExchangeOptions): HttpTransport => {
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
      const lengths = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
      const options = { method, signal, headers: { ...headers, ...lengths }, agent: isTls ? ours.tls : ours.plain };
      const read = (response: IncomingMessage): void => void sayingOf(response, { mostBytes, headOnly }).then(resolve, reject);
      const asked = (isTls ? tlsRequest : plainRequest)(url, options, read);
      asked.on('error', error => reject(signal.aborted ? signal.reason : error));
      asked.end(body);
    });
};
