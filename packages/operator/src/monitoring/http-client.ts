import { readFileSync } from 'node:fs';
import {
  createTransport,
  type ExchangeOptions,
  errorText,
  type HttpRequest,
  type HttpResponse,
  type HttpTransport,
} from '@drydock/utils';
import type { HttpConfig } from './http-config.ts';

/**
 * Sends calls to one server, with the current contents of its credential and certificate files,
 * which may be replaced while the operator runs.
 */

/** A file of credentials or certificates that cannot be read; the message names it. */
export class UnreadableFile extends Error {
  override readonly name = 'UnreadableFile';
}

type Secrets = {
  readonly authorization?: string;
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
};

/** Returns the text of a file that a configuration names. Throws an UnreadableFile. */
export function contentOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new UnreadableFile(errorText(error), { cause: error });
  }
}

function authorizationOf({ authorization, basicAuth }: HttpConfig): string | undefined {
  if (authorization)
    return `${authorization.type} ${contentOf(authorization.credentialsFile).trim()}`;
  if (!basicAuth) return undefined;
  const password = contentOf(basicAuth.passwordFile).trim();
  return `Basic ${Buffer.from(`${basicAuth.username}:${password}`).toString('base64')}`;
}

function secretsOf(config: HttpConfig): Secrets {
  const { caFile, certFile, keyFile } = config.tls;
  const authorization = authorizationOf(config);
  return {
    ...(authorization !== undefined && { authorization }),
    ...(caFile !== undefined && { ca: contentOf(caFile) }),
    ...(certFile !== undefined && { cert: contentOf(certFile) }),
    ...(keyFile !== undefined && { key: contentOf(keyFile) }),
  };
}

/**
 * Removes the credential from an error response, which may be quoted: a proxy may return the
 * request's headers.
 */
function withoutSecrets(said: HttpResponse, authorization: string | undefined): HttpResponse {
  const secret = authorization?.split(' ').at(-1) ?? '';
  return secret === '' || said.status === 200
    ? said
    : { ...said, text: said.text.replaceAll(secret, '***') };
}

export class HttpClient {
  readonly #config: HttpConfig;
  readonly #limits: Pick<ExchangeOptions, 'mostBytes' | 'headOnly'>;
  #exchange: { readonly of: string; readonly carry: HttpTransport } | undefined;

  constructor(config: HttpConfig, limits: Pick<ExchangeOptions, 'mostBytes' | 'headOnly'>) {
    this.#config = config;
    this.#limits = limits;
  }

  /**
   * Returns the server's response, whatever the status; an error response without the credential.
   * Rejects with an UnreadableFile, and as an HttpTransport does; throws for invalid certificates
   * and keys.
   */
  async call(asking: HttpRequest, signal: AbortSignal): Promise<HttpResponse> {
    const secrets = secretsOf(this.#config);
    const { authorization } = secrets;
    const headers = { ...asking.headers, ...(authorization !== undefined && { authorization }) };
    return withoutSecrets(
      await this.#carry(secrets)({ ...asking, headers }, signal),
      authorization,
    );
  }

  /**
   * Returns the transport, without keep-alive: connections would be idle between two calls for
   * longer than many servers keep them.
   */
  #carry({ ca, cert, key }: Secrets): HttpTransport {
    const { serverName, insecure } = this.#config.tls;
    const of = JSON.stringify([ca, cert, key]);
    if (this.#exchange?.of !== of) {
      const options = {
        ...this.#limits,
        insecure,
        keepAlive: false,
        ...(serverName !== undefined && { serverName }),
      };
      const pair = {
        ...(ca !== undefined && { ca }),
        ...(cert !== undefined && { cert }),
        ...(key !== undefined && { key }),
      };
      this.#exchange = { of, carry: createTransport({ ...options, ...pair }) };
    }
    return this.#exchange.carry;
  }
}
