import type { ProxyEnv } from '../http/connection-pools.ts';
import { KubeconfigError } from './kubeconfig.ts';
import type { Env } from './program.ts';

/**
 * Through which proxy the server is reached, in the words of node's `proxyEnv`. The kubeconfig's `proxy-url` comes first and knows no
 * exceptions; else HTTPS_PROXY, HTTP_PROXY and NO_PROXY count, as they do for kubectl, but never for this machine itself (Go:
 * net/http.ProxyFromEnvironment). Throws for proxies that speak something else than HTTP.
 */
export const proxyFor = (server: string, proxyUrl: string | undefined, env: Env): ProxyEnv | undefined => {
  if (proxyUrl !== undefined && proxyUrl !== '') {
    check(proxyUrl);
    return { HTTPS_PROXY: proxyUrl, HTTP_PROXY: proxyUrl };
  }
  const { hostname } = new URL(server);
  if (hostname === 'localhost' || hostname === '[::1]' || hostname.startsWith('127.')) return undefined;
  const proxyEnv = Object.fromEntries(variables.map(name => [name, env[name]]).filter(([, value]) => Boolean(value)));
  return Object.keys(proxyEnv).length === 0 ? undefined : proxyEnv;
};

const variables = ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy', 'NO_PROXY', 'no_proxy'];

const check = (proxyUrl: string): void => {
  const scheme = URL.canParse(proxyUrl) ? new URL(proxyUrl).protocol : '';
  if (scheme === 'http:' || scheme === 'https:') return;
  const words = scheme.startsWith('socks') ? 'SOCKS proxies are not supported' : 'it must start with http:// or https://';
  throw new KubeconfigError(`the kubeconfig's proxy-url ${proxyUrl} cannot be used: ${words}; use an HTTP proxy`);
};
