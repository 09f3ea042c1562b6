import { BlockList, isIP } from 'node:net';
import type { Env } from './env.ts';

/**
 * Returns a host as node:net takes it: an IPv6 address without the brackets that it has in URLs.
 */
export function bareHost(host: string): string {
  return host.replace(/^\[|\]$/g, '');
}

/** A host, without the brackets of an IPv6 address, and its port. */
type Destination = { readonly host: string; readonly port: string };

/**
 * One entry of the comma-separated `NO_PROXY`: `domain.com`, `.domain.com`, an address or a CIDR,
 * all but the CIDR with an optional port, or `*`.
 */
type Exception = (destination: Destination) => boolean;

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 4 ? 'ipv4' : 'ipv6';
}

const maxBits = { ipv4: 32, ipv6: 128 } as const;

function isIn(address: string, bits: number): Exception {
  const list = new BlockList();
  list.addSubnet(address, bits, familyOf(address));
  return ({ host }) => isIP(host) !== 0 && list.check(host, familyOf(host));
}

const isLoopback = isIn('127.0.0.0', 8);

/** Parses a CIDR; returns undefined for any other entry. */
function network(entry: string): Exception | undefined {
  const [, address = '', bits = ''] = /^([^/]*)\/(\d{1,3})$/.exec(entry) ?? [];
  return isIP(address) === 0 || Number(bits) > maxBits[familyOf(address)]
    ? undefined
    : isIn(address, Number(bits));
}

function named(name: string): Exception {
  if (isIP(name) !== 0) return isIn(name, maxBits[familyOf(name)]);
  const suffix = name.startsWith('.') ? name : `.${name}`;
  return ({ host }) => host === name || host.endsWith(suffix);
}

/**
 * Parses a name or an address with an optional port. An entry without a name or address matches
 * nothing.
 */
function place(entry: string): Exception {
  const [, before = entry, onlyPort = ''] = (isIP(entry) === 0 && /^(.*):(\d+)$/.exec(entry)) || [];
  const name = before.replace(/^\[(.*)\]$/, '$1').replace(/^\*\./, '.');
  if (name === '') return () => false;
  const isThere = named(name);
  return destination => (onlyPort === '' || onlyPort === destination.port) && isThere(destination);
}

/**
 * Returns whether a destination is reached without a proxy: this machine itself, and the entries of
 * `NO_PROXY`, by the rules of Go programs (golang.org/x/net/http/httpproxy), which kubectl and all
 * operators in Go follow. Node's own rules lack CIDRs, and clusters list the Service network as
 * one.
 */
function isExempt({ host, port }: Destination, noProxy: string): boolean {
  const destination = { host: host.toLowerCase(), port };
  if (destination.host === 'localhost' || destination.host === '::1' || isLoopback(destination))
    return true;
  const entries = noProxy
    .toLowerCase()
    .split(',')
    .map(entry => entry.trim())
    .filter(entry => entry !== '');
  return (
    entries.includes('*') || entries.some(entry => (network(entry) ?? place(entry))(destination))
  );
}

/**
 * Returns the URL of the HTTP proxy for a server; undefined means a direct connection. Throws a
 * ProxyError for an unusable proxy.
 */
export type ProxyFor = (server: URL) => string | undefined;

/** An unusable proxy; the message names it and the reason. */
export class ProxyError extends Error {
  override readonly name = 'ProxyError';
}

/** Returns the value of a variable, in upper case first, as Go does. */
function given(env: Env, name: string): string | undefined {
  return [env[name], env[name.toLowerCase()]].find(Boolean);
}

/**
 * Returns the proxy. Throws a ProxyError for one that does not speak HTTP. `what` names its source.
 * Errors omit the user and password in it.
 */
export function checkedProxy(proxy: string, what: string): string {
  const scheme = URL.canParse(proxy) ? new URL(proxy).protocol : '';
  if (scheme === 'http:' || scheme === 'https:') return proxy;
  const words = scheme.startsWith('socks')
    ? 'SOCKS proxies are not supported'
    : 'it must start with http:// or https://';
  throw new ProxyError(
    `${what}, ${proxy.replace(/^(.*\/\/)?.*@/, '$1***@')}, cannot be used: ${words}; use an HTTP proxy`,
  );
}

/**
 * Returns the proxy of this variable, with or without a scheme. Throws a ProxyError for an unusable
 * one.
 */
function proxyOf(env: Env, name: string): string | undefined {
  const proxy = given(env, name);
  return (
    proxy &&
    checkedProxy(
      /^[a-z\d+.-]+:\/\//i.test(proxy) ? proxy : `http://${proxy}`,
      `the proxy of ${name}`,
    )
  );
}

/**
 * Returns the proxy of HTTPS_PROXY or HTTP_PROXY, by the scheme of the server, unless NO_PROXY
 * exempts it: the rules of Go's net/http.ProxyFromEnvironment.
 */
export function proxyFromEnvironment(env: Env): ProxyFor {
  return server => {
    const isTls = server.protocol === 'https:';
    const name = isTls ? 'HTTPS_PROXY' : 'HTTP_PROXY';
    if (given(env, name) === undefined) return undefined;
    const destination = {
      host: bareHost(server.hostname),
      port: server.port || (isTls ? '443' : '80'),
    };
    if (isExempt(destination, given(env, 'NO_PROXY') ?? '')) return undefined;
    return proxyOf(env, name);
  };
}

/** No proxy: for metadata services, which respond only to the machine that sends the request. */
export const direct: ProxyFor = () => undefined;

/**
 * Returns the environment's proxies for a library that takes a Node agent and chooses its servers
 * itself. Node knows the names and domains of NO_PROXY, but takes `domain.com` for that one name,
 * while Go takes it for all names below it too. Throws a ProxyError for an unusable proxy.
 */
export function environmentProxies(env: Env): { readonly proxyEnv?: Record<string, string> } {
  const [tls, plain] = [proxyOf(env, 'HTTPS_PROXY'), proxyOf(env, 'HTTP_PROXY')];
  const exempt = (given(env, 'NO_PROXY') ?? '')
    .split(',')
    .flatMap(entry => (/^\s*[a-z]/i.test(entry) ? [entry, `.${entry.trim()}`] : [entry]));
  if (tls === undefined && plain === undefined) return {};
  return {
    proxyEnv: {
      ...(tls !== undefined && { HTTPS_PROXY: tls }),
      ...(plain !== undefined && { HTTP_PROXY: plain }),
      NO_PROXY: exempt.join(','),
    },
  };
}

/** Returns the options of Node's agents for a proxy. */
export function throughProxy(proxy: string | undefined): {
  readonly proxyEnv?: Record<string, string>;
} {
  return proxy === undefined ? {} : { proxyEnv: { HTTPS_PROXY: proxy, HTTP_PROXY: proxy } };
}
