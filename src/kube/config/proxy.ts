import type { Env } from '../../support/env.ts';
import { checkedProxy, ProxyError, proxyFromEnvironment } from '../../support/proxy.ts';
import { KubeconfigError } from './kubeconfig.ts';

/**
 * The URL of the proxy through which the server is reached; undefined: none. The kubeconfig's `proxy-url` comes first and knows no exceptions; else the
 * environment counts, as it does for kubectl. Throws a KubeconfigError for proxies that speak something else than HTTP.
 */
export const proxyFor = (server: string, proxyUrl: string | undefined, env: Env): string | undefined => {
  try {
    if (proxyUrl !== undefined && proxyUrl !== '') return checkedProxy(proxyUrl, "the kubeconfig's proxy-url");
    return proxyFromEnvironment(env)(new URL(server));
  } catch (error) {
    if (error instanceof ProxyError) throw new KubeconfigError(error.message, { cause: error });
    throw error;
  }
};
