import { readFileSync } from 'node:fs';
import { errorText } from '../support/error-text.ts';
import {
  createTransport,
  type ExchangeOptions,
  type HttpRequest,
  type HttpResponse,
  type HttpTransport,
} from '../support/http-exchange.ts';
import type { HttpConfig } from './http-config.ts';

/** Carries calls to one server, with what the files of its credentials and certificates say at that moment: these are replaced while the operator runs. */

/** A file of credentials or certificates cannot be read; the message names it. */
export class UnreadableFile extends Error {
  override readonly name = 'UnreadableFile';
}

type Secrets = { readonly authorization?: string; readonly ca?: string; readonly cert?: string; readonly key?: string };

/** The text of a file that a configuration names. Throws an UnreadableFile. */
export const contentOf = (file: string): string => {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new UnreadableFile(errorText(error), { cause: error });
  }
};

const authorizationOf = ({ authorization, basicAuth }: HttpConfig): string | undefined => {
  if (authorization) return `${authorization.type} ${contentOf(authorization.credentialsFile).trim()}`;
  if (!basicAuth) return undefined;
  const password = contentOf(basicAuth.passwordFile).trim();
  return `Basic ${Buffer.from(`${basicAuth.username}:${password}`).toString('base64')}`;
};

const secretsOf = (config: HttpConfig): Secrets => {
  const { caFile, certFile, keyFile } = config.tls;
  const authorization = authorizationOf(config);
  return {
    ...(authorization !== undefined && { authorization }),
    ...(caFile !== undefined && { ca: contentOf(caFile) }),
    ...(certFile !== undefined && { cert: contentOf(certFile) }),
    ...(keyFile !== undefined && { key: contentOf(keyFile) }),
  };
};

/** What is no answer may be quoted, and a proxy may send back what it was sent. */
const withoutSecrets = (said: HttpResponse, authorization: string | undefined): HttpResponse => {
  const secret = authorization?.split(' ').at(-1) ?? '';
  return secret === '' || said.status === 200 ? said : { ...said, text: said.text.replaceAll(secret, '***') };
};

export class HttpClient {
  readonly #config: HttpConfig;
  readonly #limits: Pick<ExchangeOptions, 'mostBytes' | 'headOnly'>;
  #exchange: { readonly of: string; readonly carry: HttpTransport } | undefined;

  constructor(config: HttpConfig, limits: Pick<ExchangeOptions, 'mostBytes' | 'headOnly'>) {
    this.#config = config;
    this.#limits = limits;
  }

  /** The server's answer, whatever the status, without the credential where it is no success. Rejects with an UnreadableFile, and as an Exchange does; throws for certificates and keys that are none. */
  async call(asking: HttpRequest, signal: AbortSignal): Promise<HttpResponse> {
    const secrets = secretsOf(this.#config);
    const { authorization } = secrets;
    const headers = { ...asking.headers, ...(authorization !== undefined && { authorization }) };
    return withoutSecrets(await this.#carry(secrets)({ ...asking, headers }, signal), authorization);
  }

  /** Connections are not kept: one lies idle between two calls for longer than many servers keep it. */
  #carry({ ca, cert, key }: Secrets): HttpTransport {
    const { serverName, insecure } = this.#config.tls;
    const of = JSON.stringify([ca, cert, key]);
    if (this.#exchange?.of !== of) {
      const options = { ...this.#limits, insecure, keepAlive: false, ...(serverName !== undefined && { serverName }) };
      const pair = { ...(ca !== undefined && { ca }), ...(cert !== undefined && { cert }), ...(key !== undefined && { key }) };
      this.#exchange = { of, carry: createTransport({ ...options, ...pair }) };
    }
    return this.#exchange.carry;
  }
}
