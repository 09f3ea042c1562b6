import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { isObject, type Json, type JsonObject } from '@drydock/apimachinery';
import {
  createTransport,
  type ExchangeOptions,
  errorText,
  type HttpRequest,
  type HttpResponse,
  type HttpTransport,
} from '@drydock/utils';
import { parse } from 'yaml';

/**
 * Reader of the operator's configuration files: YAML without unknown keys, with secrets in files of
 * their own.
 */

/**
 * An error in a configuration file; the message names the place and quotes no value that may be
 * secret.
 */
export class ConfigFileError extends Error {
  override readonly name = 'ConfigFileError';
}

/** Reads the members of one map of a file, and reports errors with their place. */
export class Reader {
  readonly #map: JsonObject;
  readonly #file: string;
  readonly #place: string;

  constructor(map: Json | undefined, file: string, place: string, keys: readonly string[]) {
    this.#file = file;
    this.#place = place;
    if (!isObject(map)) throw this.wrong('', 'is no map of keys and values');
    this.#map = map;
    const odd = Object.keys(map).find(key => !keys.includes(key));
    if (odd !== undefined) throw this.wrong(odd, `is not known here: there are ${keys.join(', ')}`);
  }

  has(key: string): boolean {
    return this.#map[key] !== undefined && this.#map[key] !== null;
  }

  inner(key: string, keys: readonly string[]): Reader {
    return new Reader(this.#map[key], this.#file, this.#at(key), keys);
  }

  list(key: string, keys: readonly string[]): readonly Reader[] {
    const items = this.#map[key];
    if (!Array.isArray(items) || items.length === 0)
      throw this.wrong(key, 'is no list with something in it');
    return items.map(
      (item: Json, index) => new Reader(item, this.#file, `${this.#at(key)}[${index}]`, keys),
    );
  }

  text(key: string, fallback?: string): string {
    const value = this.#map[key] ?? fallback;
    if (typeof value !== 'string' || value === '')
      throw this.wrong(key, value === undefined ? 'is missing' : 'is no text');
    return value;
  }

  /** Reads texts, at least one; returns `fallback` where the key is absent. */
  texts(key: string, fallback: readonly string[]): readonly string[] {
    const value = this.#map[key] ?? [...fallback];
    const all = Array.isArray(value) ? value.filter(one => typeof one === 'string') : [];
    if (!Array.isArray(value) || all.length === 0 || all.length < value.length)
      throw this.wrong(key, 'is no list of texts');
    return all;
  }

  flag(key: string): boolean {
    const value = this.#map[key] ?? false;
    if (typeof value !== 'boolean') throw this.wrong(key, 'is neither true nor false');
    return value;
  }

  /**
   * Reads a path and makes it absolute: relative to the folder of the configuration file, as in
   * Prometheus.
   */
  path(key: string): string {
    return resolve(dirname(this.#file), this.text(key));
  }

  name(key: string, fallback: string): string {
    const name = this.text(key, fallback);
    if (!/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(name))
      throw this.wrong(key, 'is no name: small letters, digits and hyphens, 63 at most');
    return name;
  }

  choice<T extends string>(key: string, choices: readonly T[]): T {
    const found = choices.find(choice => choice === this.#map[key]);
    if (found === undefined) throw this.wrong(key, `is none of ${choices.join(', ')}`);
    return found;
  }

  /** Reads a duration in milliseconds. */
  duration(key: string, fallback: string, least: number, most: number): number {
    const [, count = '', unit = ''] = /^(\d{1,6})(ms|s|m|h)$/.exec(this.text(key, fallback)) ?? [];
    const milliseconds = Number(count) * ({ ms: 1, s: 1000, m: 60_000, h: 3_600_000 }[unit] ?? 0);
    if (count === '' || milliseconds < least || milliseconds > most)
      throw this.wrong(
        key,
        `is no duration from ${least / 1000} s to ${most / 1000} s, for example ${fallback}`,
      );
    return milliseconds;
  }

  /**
   * Reads an http or https URL without query or credentials: plans define the query, and other keys
   * the credentials.
   */
  url(key: string): string {
    const text = this.text(key);
    const url = URL.canParse(text) ? new URL(text) : undefined;
    if (url === undefined || !/^https?:$/.test(url.protocol))
      throw this.wrong(key, 'is no http:// or https:// address');
    if (url.username !== '' || url.password !== '')
      throw this.wrong(key, 'has a password in it: basic_auth names a file with one');
    if (url.search !== '' || url.hash !== '')
      throw this.wrong(key, 'has a query in it, and may have a path only');
    return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
  }

  /** Requires both keys if one is given. */
  both(one: string, other: string): void {
    if (this.has(one) !== this.has(other))
      throw this.wrong(this.has(one) ? other : one, 'is missing');
  }

  /** Allows at most one of these keys. */
  either(one: string, other: string): void {
    if (this.has(one) && this.has(other)) throw this.wrong(other, `cannot be there beside ${one}`);
  }

  #at(key: string): string {
    return this.#place === '' ? key : `${this.#place}.${key}`;
  }

  /** Returns an error that names this place. */
  wrong(key: string, what: string): ConfigFileError {
    const place = key === '' ? this.#place : this.#at(key);
    return new ConfigFileError(`${place === '' ? 'the file' : place} in ${this.#file} ${what}`);
  }
}

/** Parses a file; returns undefined when it does not exist. */
function parsed(file: string): Json | undefined {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new ConfigFileError(
      `${file} cannot be read: ${(error as NodeJS.ErrnoException).code ?? String(error)}`,
      { cause: error },
    );
  }
  try {
    return parse(text) as Json;
  } catch (error) {
    // The parser's own message quotes the line.
    const { linePos } = error as { readonly linePos?: readonly { readonly line: number }[] };
    throw new ConfigFileError(
      `${file} is not valid YAML${linePos?.[0] === undefined ? '' : `: line ${linePos[0].line}`}`,
    );
  }
}

/**
 * Reads a file whose map may have these keys; returns undefined when it does not exist. Throws a
 * ConfigFileError for a file that cannot be read, is not a YAML map, or has another key.
 */
export function readConfigFile(file: string, keys: readonly string[]): Reader | undefined {
  const content = parsed(file);
  return content === undefined ? undefined : new Reader(content, file, '', keys);
}

/**
 * HTTP settings for a server. Keys are a subset of Prometheus' own http_config
 * (https://prometheus.io/docs/prometheus/latest/configuration/configuration/#http_config); secrets
 * are in files of their own.
 */

/** HTTP settings; paths of files are absolute. */
export type HttpConfig = {
  readonly authorization?: { readonly type: string; readonly credentialsFile: string };
  readonly basicAuth?: { readonly username: string; readonly passwordFile: string };
  readonly tls: {
    readonly caFile?: string;
    readonly certFile?: string;
    readonly keyFile?: string;
    readonly serverName?: string;
    readonly insecure: boolean;
  };
};

/** Keys that `httpConfigOf` reads. */
export const httpKeys = ['authorization', 'basic_auth', 'tls_config'] as const;

const tlsKeys = ['ca_file', 'cert_file', 'key_file', 'server_name', 'insecure_skip_verify'];

function tlsOf(reader: Reader): HttpConfig['tls'] {
  if (!reader.has('tls_config')) return { insecure: false };
  const tls = reader.inner('tls_config', tlsKeys);
  tls.both('cert_file', 'key_file');
  return {
    ...(tls.has('ca_file') && { caFile: tls.path('ca_file') }),
    ...(tls.has('cert_file') && { certFile: tls.path('cert_file'), keyFile: tls.path('key_file') }),
    ...(tls.has('server_name') && { serverName: tls.text('server_name') }),
    insecure: tls.flag('insecure_skip_verify'),
  };
}

function credentialsOf(reader: Reader): Omit<HttpConfig, 'tls'> {
  reader.either('authorization', 'basic_auth');
  if (reader.has('authorization')) {
    const authorization = reader.inner('authorization', ['type', 'credentials_file']);
    return {
      authorization: {
        type: authorization.text('type', 'Bearer'),
        credentialsFile: authorization.path('credentials_file'),
      },
    };
  }
  if (!reader.has('basic_auth')) return {};
  const basic = reader.inner('basic_auth', ['username', 'password_file']);
  return {
    basicAuth: { username: basic.text('username'), passwordFile: basic.path('password_file') },
  };
}

/**
 * Returns credentials and TLS settings of one server. Throws a ConfigFileError that names the
 * error.
 */
export function httpConfigOf(reader: Reader): HttpConfig {
  return { ...credentialsOf(reader), tls: tlsOf(reader) };
}

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
export function readCredentialFile(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new UnreadableFile(errorText(error), { cause: error });
  }
}

function authorizationOf({ authorization, basicAuth }: HttpConfig): string | undefined {
  if (authorization)
    return `${authorization.type} ${readCredentialFile(authorization.credentialsFile).trim()}`;
  if (!basicAuth) return undefined;
  const password = readCredentialFile(basicAuth.passwordFile).trim();
  return `Basic ${Buffer.from(`${basicAuth.username}:${password}`).toString('base64')}`;
}

function secretsOf(config: HttpConfig): Secrets {
  const { caFile, certFile, keyFile } = config.tls;
  const authorization = authorizationOf(config);
  return {
    ...(authorization !== undefined && { authorization }),
    ...(caFile !== undefined && { ca: readCredentialFile(caFile) }),
    ...(certFile !== undefined && { cert: readCredentialFile(certFile) }),
    ...(keyFile !== undefined && { key: readCredentialFile(keyFile) }),
  };
}

/**
 * Removes the credential from an error response, which may be quoted: a proxy may return the
 * request's headers.
 */
function withoutSecrets(response: HttpResponse, authorization: string | undefined): HttpResponse {
  const secret = authorization?.split(' ').at(-1) ?? '';
  return secret === '' || response.status === 200
    ? response
    : { ...response, text: response.text.replaceAll(secret, '***') };
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
  async call(request: HttpRequest, signal: AbortSignal): Promise<HttpResponse> {
    const secrets = secretsOf(this.#config);
    const { authorization } = secrets;
    const headers = { ...request.headers, ...(authorization !== undefined && { authorization }) };
    return withoutSecrets(
      await this.#carry(secrets)({ ...request, headers }, signal),
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
