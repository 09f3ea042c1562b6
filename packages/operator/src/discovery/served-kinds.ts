import { type KubevirtAlpha, kubevirtAlphaOfOurs, leaseNamespaces, served } from '@drydock/apis';
import type { KindAdapter } from '@drydock/core/request';
import type { Api } from '@drydock/kube-client';
import type { Clock, Env, Log, PanicHandler } from '@drydock/utils';

/** Seconds between retries. */
const pause = 2;

type ResourceList = { readonly resources?: readonly { readonly name: string }[] };

/**
 * Returns the resources of one version; empty when it is not served. Throws when discovery fails.
 */
async function resourcesOf(
  api: Api,
  version: string,
  signal?: AbortSignal,
): Promise<ReadonlySet<string>> {
  const { status, body } = await api.call(
    { method: 'GET', path: `/apis/kubevirt.io/${version}` },
    signal,
  );
  if (status === 404) return new Set();
  if (status !== 200)
    throw new Error(`failed to discover what kubevirt.io/${version} serves: HTTP ${status}`);
  return new Set(((body as ResourceList).resources ?? []).map(({ name }) => name));
}

/**
 * Returns the oldest kind as the cluster has it: an installed CRD can neither change its scope nor
 * gain a version.
 */
async function kubevirtAlphaHere(api: Api, signal?: AbortSignal): Promise<KubevirtAlpha> {
  for (const version of ['v1alpha1', 'v1alpha3'] as const) {
    const resources = await resourcesOf(api, version, signal);
    if (resources.has('nodemaintenances'))
      return { version, statusSubresource: resources.has('nodemaintenances/status') };
  }
  return kubevirtAlphaOfOurs;
}

/**
 * Returns the supported kinds as this cluster has them. Throws when the API server does not
 * respond.
 */
export async function kindsOf(api: Api, env: Env): Promise<readonly KindAdapter[]> {
  return served({ ...leaseNamespaces(env), kubevirtAlpha: await kubevirtAlphaHere(api) });
}

/** Returns whether any of the kinds is installed: an empty list alone does not show that. */
export async function isAnyServed(api: Api, adapters: readonly KindAdapter[]): Promise<boolean> {
  const answers = await Promise.all(
    adapters.map(({ path }) => api.call({ method: 'GET', path, query: { limit: 1 } })),
  );
  return answers.some(({ status }) => status !== 404);
}

/**
 * Options for calls to an API server that may not respond yet: retried until the signal is aborted.
 */
export type DiscoveryOptions = {
  readonly api: Api;
  readonly clock: Clock;
  readonly log: Log;
  readonly defects: PanicHandler;
  readonly signal: AbortSignal;
};

/**
 * Returns the kinds as `kindsOf` does, but retries until the API server responds; undefined when
 * the signal is aborted before.
 */
export async function kindsHere(
  { api, clock, log, defects, signal }: DiscoveryOptions,
  namespaces: ReturnType<typeof leaseNamespaces>,
): Promise<readonly KindAdapter[] | undefined> {
  while (!signal.aborted) {
    try {
      return served({ ...namespaces, kubevirtAlpha: await kubevirtAlphaHere(api, signal) });
    } catch (error) {
      if (signal.aborted) return undefined;
      log.warn('failed to discover the served kinds; retrying', {
        error: defects.textOf('Process', 'kinds', error),
      });
    }
    await clock.sleep(pause * 1000, signal);
  }
  return undefined;
}
