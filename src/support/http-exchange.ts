import { type IncomingMessage, Agent as PlainAgent, request as plainRequest } from 'node:http';
import { Agent, request as tlsRequest } from 'node:https';

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
export type Exchange = (asking: HttpRequest, signal: AbortSignal) => Promise<HttpResponse>;

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

/** Speaks HTTP and HTTPS, over at most eight connections for each server. Throws for certificates and keys that are none. */
export const exchangeOver = ({
  ca,
  cert,
  key,
  serverName,
  insecure = false,
  mostBytes,
  headOnly = false,
  keepAlive,
}: ExchangeOptions): Exchange => {
  const sockets = { keepAlive, maxSockets: 8 };
  const tls = new Agent({
    ...sockets,
    rejectUnauthorized: !insecure,
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
    ...(serverName !== undefined && { servername: serverName }),
  });
  const plain = new PlainAgent(sockets);
  return ({ method, url, headers, body }, signal) =>
    new Promise((resolve, reject) => {
      const isTls = url.startsWith('https:');
      const lengths = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
      const options = { method, signal, headers: { ...headers, ...lengths }, agent: isTls ? tls : plain };
      const read = (response: IncomingMessage): void => void sayingOf(response, { mostBytes, headOnly }).then(resolve, reject);
      const asked = (isTls ? tlsRequest : plainRequest)(url, options, read);
      asked.on('error', error => reject(signal.aborted ? signal.reason : error));
      asked.end(body);
    });
};
