import { hostOf } from '../http/exchange.ts';
import { KubeconfigError } from './kubeconfig.ts';
import { isExempt } from './no-proxy.ts';
import type { Env } from './program.ts';

/**
 * The URL of the proxy through which the server is reached; undefined: none. The kubeconfig's `proxy-url` comes first and knows no exceptions;
 * else HTTPS_PROXY, HTTP_PROXY and NO_PROXY count, as they do for kubectl (Go: net/http.ProxyFromEnvironment). Throws for proxies that speak something
 * else than HTTP.
 */
export const proxyFor = (server: string, proxyUrl: string | undefined, env: Env): string | undefined => {
  if (proxyUrl !== undefined && proxyUrl !== '') return checked(proxyUrl, "the kubeconfig's proxy-url");
  const url = new URL(server);
  const isTls = url.protocol === 'https:';
  const name = isTls ? 'HTTPS_PROXY' : 'HTTP_PROXY';
  const proxy = given(env, name);
  if (proxy === undefined) return undefined;
  const destination = { host: hostOf(url), port: url.port === '' ? (isTls ? '443' : '80') : url.port };
  if (isExempt(destination, given(env, 'NO_PROXY') ?? '')) return undefined;
  return checked(/^[a-z\d+.-]+:\/\//i.test(proxy) ? proxy : `http://${proxy}`, `the proxy of ${name}`);
};

/** In capitals first, as Go has it. */
const given = (env: Env, name: string): string | undefined => [env[name], env[name.toLowerCase()]].find(Boolean);

const checked = (proxyUrl: string, what: string): string => {
  const scheme = URL.canParse(proxyUrl) ? new URL(proxyUrl).protocol : '';
  if (scheme === 'http:' || scheme === 'https:') return proxyUrl;
  const words = scheme.startsWith('socks') ? 'SOCKS proxies are not supported' : 'it must start with http:// or https://';
  throw new KubeconfigError(`${what}, ${proxyUrl}, cannot be used: ${words}; use an HTTP proxy`);
};
