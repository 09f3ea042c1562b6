import { bareHost } from './bare-host.ts';
import type { Env } from './env.ts';
import { isExempt } from './no-proxy.ts';

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
