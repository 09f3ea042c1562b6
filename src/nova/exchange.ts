import { readFileSync } from 'node:fs';
import { Agent as PlainAgent, request as plainRequest } from 'node:http';
import { Agent, request as tlsRequest } from 'node:https';
import { NovaConfigError } from './config/config.ts';

/** One call over HTTP. The body is JSON by the time it is sent. */
export type Asking = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
};

/** Names of headers are in small letters. */
export type Saying = { readonly status: number; readonly headers: Readonly<Record<string, string | undefined>>; readonly text: string };

/** Carries one call to a server and its answer back, whatever the status. Rejects when there was no answer, and with the signal's reason. */
export type Exchange = (asking: Asking, signal: AbortSignal) => Promise<Saying>;

export type TlsOptions = {
  /** A file with the authorities to trust, in place of the system's. */
  readonly caFile?: string;
  /** Trust any certificate. */
  readonly insecure?: boolean;
};

const readCa = (file: string): Buffer => {
  try {
    return readFileSync(file);
  } catch (error) {
    throw new NovaConfigError(`cannot read the CA file ${file}: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }
};

/** Larger answers than this are refused: pages are asked for in sizes that stay far below. */
const mostBytes = 64 * 1024 * 1024;

/** Speaks HTTP and HTTPS, over at most eight connections for each server, which are kept. Throws a NovaConfigError for a CA file that cannot be read. */
export const httpExchange = ({ caFile, insecure = false }: TlsOptions): Exchange => {
  const kept = { keepAlive: true, maxSockets: 8 };
  const tls = new Agent({ ...kept, rejectUnauthorized: !insecure, ...(caFile !== undefined && { ca: readCa(caFile) }) });
  const plain = new PlainAgent(kept);
  return ({ method, url, headers, body }, signal) =>
    new Promise((resolve, reject) => {
      const isTls = url.startsWith('https:');
      const lengths = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
      const options = { method, signal, headers: { ...headers, ...lengths }, agent: isTls ? tls : plain };
      const asked = (isTls ? tlsRequest : plainRequest)(url, options, response => {
        const parts: Buffer[] = [];
        let size = 0;
        response.on('data', (part: Buffer) => {
          size += part.length;
          if (size > mostBytes) response.destroy(new Error('the answer is too large'));
          else parts.push(part);
        });
        response.on('error', reject);
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers as Saying['headers'],
            text: Buffer.concat(parts).toString('utf8'),
          }),
        );
      });
      asked.on('error', error => reject(signal.aborted ? signal.reason : error));
      asked.end(body);
    });
};
