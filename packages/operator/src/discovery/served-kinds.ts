import { type KubernetesRelease, lacking, oldestTested } from '@drydock/apimachinery';
import { type KubevirtAlpha, kubevirtAlphaOfOurs, leaseNamespaces, served } from '@drydock/apis';
import type { KindAdapter } from '@drydock/core/request';
import { type Api, serverRelease } from '@drydock/kube-client';
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

/** Seconds between retries. */

/**
 * Returns whether the cluster is OpenShift: it serves config.openshift.io/v1. Retries until the API
 * server responds; false when the signal is aborted before. Never rejects.
 */
export async function isOpenShift({
  api,
  clock,
  log,
  defects,
  signal,
}: DiscoveryOptions): Promise<boolean> {
  while (!signal.aborted) {
    try {
      const { status } = await api.call(
        { method: 'GET', path: '/apis/config.openshift.io/v1' },
        signal,
      );
      if (status === 200 || status === 404) return status === 200;
      log.warn('failed to find out whether this is OpenShift; retrying', { status });
    } catch (error) {
      if (signal.aborted) return false;
      log.warn('failed to reach the API server; retrying', {
        error: defects.textOf('Process', 'OpenShift', error),
      });
    }
    await clock.sleep(pause * 1000, signal);
  }
  return false;
}

/** Seconds between retries. */

function logRelease(log: Log, release: KubernetesRelease): void {
  const lacks = lacking(release).map(
    ({ name, since, without }) => `${name} (since 1.${since}): ${without}`,
  );
  log.info('discovered the API server', {
    version: release.version,
    ...(lacks.length > 0 && { lacks }),
  });
  if (release.minor < oldestTested)
    log.warn(
      `this release of Kubernetes is older than 1.${oldestTested}, the oldest that Drydock is tested on`,
      {
        version: release.version,
      },
    );
}

/**
 * Logs the API server's version, and its missing features, in one line. Retries until the server
 * responds or the signal is aborted. Never rejects.
 */
export async function logServerRelease({
  api,
  clock,
  log,
  defects,
  signal,
}: DiscoveryOptions): Promise<void> {
  while (!signal.aborted) {
    try {
      const found = await serverRelease(api, signal);
      return found.kind === 'release' ? logRelease(log, found.release) : log.warn(found.message);
    } catch (error) {
      if (signal.aborted) return;
      log.warn('failed to read the version of the API server; retrying', {
        error: defects.textOf('Process', 'version', error),
      });
    }
    await clock.sleep(pause * 1000, signal);
  }
}

/**
 * Name of the leader's Lease, which the replaced operator uses too: so it and Drydock never act at
 * the same time.
 */
export const leaderLease = '135b1886.medik8s.io';
