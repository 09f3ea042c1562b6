import { bareHost } from './bare-host.ts';
import type { Env } from './env.ts';
import { isExempt } from './no-proxy.ts';

/** The URL of the HTTP proxy that a server is spoken to through; undefined: directly. Throws a ProxyError for one that cannot be used. */
export type ProxyFor = (server: URL) => string | undefined;

/** A proxy cannot be used; the message says which and why. */
export class ProxyError extends Error {
  override readonly name = 'ProxyError';
}

/** In capitals first, as Go has it. */
const given = (env: Env, name: string): string | undefined => [env[name], env[name.toLowerCase()]].find(Boolean);

/** Throws a ProxyError for a proxy that speaks something else than HTTP. `what` says whose it is. A user and a password in it are not told. */
export const checkedProxy = (proxy: string, what: string): string => {
  const scheme = URL.canParse(proxy) ? new URL(proxy).protocol : '';
  if (scheme === 'http:' || scheme === 'https:') return proxy;
  const words = scheme.startsWith('socks') ? 'SOCKS proxies are not supported' : 'it must start with http:// or https://';
  throw new ProxyError(`${what}, ${proxy.replace(/^(.*\/\/)?.*@/, '$1***@')}, cannot be used: ${words}; use an HTTP proxy`);
};

/** As this variable has it, with or without a scheme. Throws a ProxyError for one that cannot be used. */
const proxyOf = (env: Env, name: string): string | undefined => {
  const proxy = given(env, name);
  return proxy && checkedProxy(/^[a-z\d+.-]+:\/\//i.test(proxy) ? proxy : `http://${proxy}`, `the proxy of ${name}`);
};

/** HTTPS_PROXY or HTTP_PROXY, by the scheme of the server, unless NO_PROXY exempts it: the rules of Go's net/http.ProxyFromEnvironment. */
export const proxyFromEnvironment =
  (env: Env): ProxyFor =>
  server => {
    const isTls = server.protocol === 'https:';
    const name = isTls ? 'HTTPS_PROXY' : 'HTTP_PROXY';
    if (given(env, name) === undefined) return undefined;
    const destination = { host: bareHost(server.hostname), port: server.port || (isTls ? '443' : '80') };
    if (isExempt(destination, given(env, 'NO_PROXY') ?? '')) return undefined;
    return proxyOf(env, name);
  };

/** For metadata services, which answer the machine that asks, and no other. */
export const direct: ProxyFor = () => undefined;

/**
 * The environment's proxies for a library that takes an agent of Node's and speaks to servers which it chooses itself. Node knows the names and domains of NO_PROXY, but takes
 * `domain.com` for that one name, and Go for all names in it too. Throws a ProxyError for a proxy that cannot be used.
 */
export const environmentProxies = (env: Env): { readonly proxyEnv?: Record<string, string> } => {
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
};

/** What Node's agents are told of a proxy. */
export const throughProxy = (proxy: string | undefined): { readonly proxyEnv?: Record<string, string> } =>
  proxy === undefined ? {} : { proxyEnv: { HTTPS_PROXY: proxy, HTTP_PROXY: proxy } };
