import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { parse } from 'yaml';
import { isObject, type Json, type JsonObject } from '../core/json.ts';

/**
 * The file of --monitoring-config: the sources of metrics and alerts that plans may name. Keys are those of Prometheus' own http_config
 * (https://prometheus.io/docs/prometheus/latest/configuration/configuration/#http_config), as far as they are served; secrets are in files of their own.
 */

/** Something in the file has to be mended; the message names the place and quotes no value that may be secret. */
export class MonitoringConfigError extends Error {
  override readonly name = 'MonitoringConfigError';
}

const sourceKinds = ['prometheus', 'alertmanager'] as const;
export type SourceKind = (typeof sourceKinds)[number];

/** Files are absolute. */
export type SourceConfig = {
  readonly kind: SourceKind;
  readonly name: string;
  /** Without a slash at its end; it may have a path. */
  readonly url: string;
  readonly timeoutMs: number;
  /** An Alertmanager that has begun more lately has not heard of all alerts yet. */
  readonly startupGraceMs: number;
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

export type MonitoringConfig = {
  /** Milliseconds between two times that the same is asked. */
  readonly everyMs: number;
  readonly sources: readonly SourceConfig[];
};

/** Reads the members of one map, and says what is wrong with which. */
class Reader {
  readonly #map: JsonObject;
  readonly #file: string;
  readonly #place: string;

  constructor(map: Json | undefined, file: string, place: string, keys: readonly string[]) {
    this.#file = file;
    this.#place = place;
    if (!isObject(map)) throw this.#wrong('', 'is no map of keys and values');
    this.#map = map;
    const odd = Object.keys(map).find(key => !keys.includes(key));
    if (odd !== undefined) throw this.#wrong(odd, `is not known here: there are ${keys.join(', ')}`);
  }

  has(key: string): boolean {
    return this.#map[key] !== undefined && this.#map[key] !== null;
  }

  inner(key: string, keys: readonly string[]): Reader {
    return new Reader(this.#map[key], this.#file, this.#at(key), keys);
  }

  list(key: string, keys: readonly string[]): readonly Reader[] {
    const items = this.#map[key];
    if (!Array.isArray(items) || items.length === 0) throw this.#wrong(key, 'is no list with something in it');
    return items.map((item: Json, index) => new Reader(item, this.#file, `${this.#at(key)}[${index}]`, keys));
  }

  text(key: string, fallback?: string): string {
    const value = this.#map[key] ?? fallback;
    if (typeof value !== 'string' || value === '') throw this.#wrong(key, value === undefined ? 'is missing' : 'is no text');
    return value;
  }

  flag(key: string): boolean {
    const value = this.#map[key] ?? false;
    if (typeof value !== 'boolean') throw this.#wrong(key, 'is neither true nor false');
    return value;
  }

  /** Absolute: as in Prometheus, from the folder of the file that names it. */
  path(key: string): string {
    return resolve(dirname(this.#file), this.text(key));
  }

  name(key: string, fallback: string): string {
    const name = this.text(key, fallback);
    if (!/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(name))
      throw this.#wrong(key, 'is no name: small letters, digits and hyphens, 63 at most');
    return name;
  }

  choice<T extends string>(key: string, choices: readonly T[]): T {
    const found = choices.find(choice => choice === this.#map[key]);
    if (found === undefined) throw this.#wrong(key, `is none of ${choices.join(', ')}`);
    return found;
  }

  /** Milliseconds. */
  duration(key: string, fallback: string, least: number, most: number): number {
    const [, count = '', unit = ''] = /^(\d{1,6})(ms|s|m|h)$/.exec(this.text(key, fallback)) ?? [];
    const milliseconds = Number(count) * ({ ms: 1, s: 1000, m: 60_000, h: 3_600_000 }[unit] ?? 0);
    if (count === '' || milliseconds < least || milliseconds > most)
      throw this.#wrong(key, `is no duration from ${least / 1000} s to ${most / 1000} s, for example ${fallback}`);
    return milliseconds;
  }

  /** http or https, and nothing but an address: what is asked is for plans to say, and who asks for other keys. */
  url(key: string): string {
    const text = this.text(key);
    const url = URL.canParse(text) ? new URL(text) : undefined;
    if (url === undefined || !/^https?:$/.test(url.protocol)) throw this.#wrong(key, 'is no http:// or https:// address');
    if (url.username !== '' || url.password !== '') throw this.#wrong(key, 'has a password in it: basic_auth names a file with one');
    if (url.search !== '' || url.hash !== '') throw this.#wrong(key, 'has a query in it, and may have a path only');
    return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
  }

  /** The other one is needed as well. */
  both(one: string, other: string): void {
    if (this.has(one) !== this.has(other)) throw this.#wrong(this.has(one) ? other : one, 'is missing');
  }

  /** At most one of these. */
  either(one: string, other: string): void {
    if (this.has(one) && this.has(other)) throw this.#wrong(other, `cannot be there beside ${one}`);
  }

  #at(key: string): string {
    return this.#place === '' ? key : `${this.#place}.${key}`;
  }

  #wrong(key: string, what: string): MonitoringConfigError {
    const place = key === '' ? this.#place : this.#at(key);
    return new MonitoringConfigError(`${place === '' ? 'the file' : place} in ${this.#file} ${what}`);
  }
}

const tlsKeys = ['ca_file', 'cert_file', 'key_file', 'server_name', 'insecure_skip_verify'];

const tlsOf = (reader: Reader): SourceConfig['tls'] => {
  if (!reader.has('tls_config')) return { insecure: false };
  const tls = reader.inner('tls_config', tlsKeys);
  tls.both('cert_file', 'key_file');
  return {
    ...(tls.has('ca_file') && { caFile: tls.path('ca_file') }),
    ...(tls.has('cert_file') && { certFile: tls.path('cert_file'), keyFile: tls.path('key_file') }),
    ...(tls.has('server_name') && { serverName: tls.text('server_name') }),
    insecure: tls.flag('insecure_skip_verify'),
  };
};

const credentialsOf = (reader: Reader): Pick<SourceConfig, 'authorization' | 'basicAuth'> => {
  reader.either('authorization', 'basic_auth');
  if (reader.has('authorization')) {
    const authorization = reader.inner('authorization', ['type', 'credentials_file']);
    return { authorization: { type: authorization.text('type', 'Bearer'), credentialsFile: authorization.path('credentials_file') } };
  }
  if (!reader.has('basic_auth')) return {};
  const basic = reader.inner('basic_auth', ['username', 'password_file']);
  return { basicAuth: { username: basic.text('username'), passwordFile: basic.path('password_file') } };
};

const sourceKeys = ['name', 'kind', 'url', 'timeout', 'startup_grace', 'authorization', 'basic_auth', 'tls_config'];

/** Prometheus tells Alertmanager of each alert again every minute (--rules.alert.resend-delay). */
const usualGrace = '2m';

const sourceOf = (reader: Reader): SourceConfig => ({
  kind: reader.choice('kind', sourceKinds),
  name: reader.name('name', 'default'),
  url: reader.url('url'),
  timeoutMs: reader.duration('timeout', '10s', 100, 60_000),
  startupGraceMs: reader.duration('startup_grace', usualGrace, 0, 3_600_000),
  ...credentialsOf(reader),
  tls: tlsOf(reader),
});

/** Undefined where there is no such file. */
const parsed = (file: string): Json | undefined => {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new MonitoringConfigError(`${file} cannot be read: ${(error as NodeJS.ErrnoException).code ?? String(error)}`, { cause: error });
  }
  try {
    return parse(text) as Json;
  } catch (error) {
    // The parser's own message quotes the line.
    const { linePos } = error as { readonly linePos?: readonly { readonly line: number }[] };
    throw new MonitoringConfigError(`${file} is not valid YAML${linePos?.[0] === undefined ? '' : `: line ${linePos[0].line}`}`);
  }
};

/** How often the same is asked, where the file says nothing else. */
export const usualEveryMs = 15_000;

/**
 * Reads the file; one that is not there has no sources: as it is shipped it comes from a Secret that need not exist. Throws a MonitoringConfigError that says what is to be
 * mended, and where; a key that is not known is such a thing too.
 */
export const readMonitoringConfig = (file: string): MonitoringConfig => {
  const path = resolve(file);
  const content = parsed(path);
  if (content === undefined) return { everyMs: usualEveryMs, sources: [] };
  const reader = new Reader(content, path, '', ['poll_interval', 'sources']);
  const sources = reader.list('sources', sourceKeys).map(sourceOf);
  const titles = sources.map(({ kind, name }) => `${kind} ${name}`);
  const twice = titles.find((title, index) => titles.indexOf(title) !== index);
  if (twice !== undefined) throw new MonitoringConfigError(`sources in ${path} has ${twice} twice`);
  return { everyMs: reader.duration('poll_interval', `${usualEveryMs / 1000}s`, 1000, 3_600_000), sources };
};
