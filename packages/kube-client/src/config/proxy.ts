import type { Env } from '@drydock/utils';
import { checkedProxy, ProxyError, proxyFromEnvironment } from '@drydock/utils';
import { KubeconfigError } from './kubeconfig.ts';

/**
 * Returns the URL of the proxy for the server, or undefined for none. The kubeconfig's `proxy-url`
 * takes precedence and has no exceptions; otherwise the environment decides, as for kubectl. Throws
 * a KubeconfigError for proxies that do not speak HTTP.
 */
export function proxyFor(
  server: string,
  proxyUrl: string | undefined,
  env: Env,
): string | undefined {
  try {
    if (proxyUrl !== undefined && proxyUrl !== '')
      return checkedProxy(proxyUrl, "the kubeconfig's proxy-url");
    return proxyFromEnvironment(env)(new URL(server));
  } catch (error) {
    if (error instanceof ProxyError) throw new KubeconfigError(error.message, { cause: error });
    throw error;
  }
}
